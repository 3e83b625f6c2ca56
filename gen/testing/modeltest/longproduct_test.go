package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest/attentiontest"
)

// TestLongProducts: sums of as many points as only the run knows are added up in register tiles, a chunk after the other, with any number of rows, columns and
// points in the last ones, and what is no number beside the zeros behind them stays where it is.
func TestLongProducts(t *testing.T) {
	const product = "%y ?[*] = MatMul.13(%x, %w)\noutput %y\n"
	for _, c := range []struct {
		name, text string
		of         []map[string]int64
	}{
		{"rows that are known", "symbol T 1..4096\ninput %x f32[50, T]\ninput %w f32[T, 64]\n" + product, []map[string]int64{{"T": 1}, {"T": 64}, {"T": 197}}},
		{"rows that are not", "symbol T 1..1024\nsymbol S 1..512\ninput %x f32[3, S, T]\ninput %w f32[3, T, 40]\n" + product, []map[string]int64{{"T": 300, "S": 1}, {"T": 63, "S": 97}}},
		{"as many rows as points", "symbol T 128..256\ninput %x f32[2, 3, T, T]\ninput %w f32[2, 3, T, 64]\n" + product, []map[string]int64{{"T": 130}, {"T": 256}}},
		{"points that are rows of both", "symbol T 1..1024\ninput %z f32[T, 70]\ninput %w f32[T, 33]\n%x ?[*] = Transpose.13(%z) {perm = [1, 0]}\n" + product, []map[string]int64{{"T": 65}, {"T": 200}}},
		{"a batch of one factor", "symbol T 1..1024\ninput %x f32[4, 30, T]\ninput %w f32[T, 32]\n" + product, []map[string]int64{{"T": 100}}},
		{"halves, and more of the results", "symbol T 1..1024\ninput %x f16[40, T]\ninput %w f16[T, 48]\ninput %b f16[48]\n%p ?[*] = MatMul.13(%x, %w)\n%s ?[*] = Add.14(%p, %b)\n%y ?[*] = Relu.14(%s)\noutput %y\n", []map[string]int64{{"T": 150}}},
		{"no point at all", "symbol T 0..1024\ninput %x f32[50, T]\ninput %w f32[T, 64]\n" + product, []map[string]int64{{"T": 0}, {"T": 70}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cases []cpptest.Case
			var wants []*ir.Tensor
			for k, chip := range Chips {
				p, err := Compile(irtest.Parse(t, c.text), Config{Chip: chip})
				require.NoError(t, err)
				if long := c.name != "no point at all"; k == 1 { // whose estimates have all of them so
					assert.Equal(t, long, slices.Contains(anchorsOf(p, "w"), "long product"), "%s\n%s", chip, p)
				}
				for _, dims := range c.of {
					g := irtest.Parse(t, c.text)
					in := ofSize(t, g, dims)
					if last := in[0].Len() - 1; dims["T"] == 197 { // beside the zeros of the last chunk, of the last row
						setNumber(in[0], last, float32(math.Inf(1)))
						setNumber(in[1], in[1].Len()-1, float32(math.NaN()))
					}
					want := expected(t, g, in)
					out, err := run.Program(p, in)
					require.NoError(t, err, "%s %v", chip, dims)
					assert.NoError(t, attentiontest.Near(want, out[0]), "%s %v", chip, dims)
					if k == 1 {
						cases, wants = append(cases, cpptest.Case{Name: c.name, Program: p, Inputs: in, Dims: dims}), append(wants, want)
					}
				}
			}
			for i, got := range cpptest.Run(t, "../../..", cases, "-O1") {
				require.Zero(t, got.Status, cases[i].Name)
				assert.NoError(t, attentiontest.Near(wants[i], got.Outputs[0]), cases[i].Name)
			}
		})
	}
}
