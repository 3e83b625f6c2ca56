package islands_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// functions are random nodes of floats between quantized tensors of u8 and i8, some of which are results: some floats are infinite, or no numbers.
func functions(r *rand.Rand) string {
	type quantized struct{ name, typ string }
	text := "  input %q2 i8[1, 4, 5, 6]\n  const @zi i8[] = {-40}\n  const @c f32[] = {0.7}\n"
	known, zeros := []quantized{{"q", "u8"}, {"q2", "i8"}}, map[string][]string{"u8": {"zx", "zy", "z0"}, "i8": {"zs", "zi"}}
	pick := func(xs ...string) string { return xs[r.IntN(len(xs))] }
	n, outputs := 0, ""
	node := func(prefix, format string, args ...any) string {
		n++
		name := fmt.Sprintf("%s%d", prefix, n)
		text += fmt.Sprintf("  %%%s ?[*] = %s\n", name, fmt.Sprintf(format, args...))
		return name
	}
	for range 2 + r.IntN(8) {
		var floats []string
		for range 1 + r.IntN(3) {
			q := known[max(0, len(known)-1-r.IntN(3))]
			floats = append(floats, "%"+node("f", "DequantizeLinear.13(%%%s, @%s, @%s)", q.name, pick("sx", "sy"), pick(zeros[q.typ]...)))
		}
		for range 1 + r.IntN(4) {
			of := pick("Sigmoid.13", "Exp.13", "Neg.13", "Sqrt.13", "Log.13", "Reciprocal.13", "Relu.14") + "(" + pick(floats...) + ")"
			if r.IntN(4) > 0 {
				of = pick("Mul.14", "Add.14", "Div.14", "Sub.14", "Max.13") + "(" + pick(floats...) + ", " + pick(append(floats, "@c", "@one")...) + ")"
			}
			floats = append(floats, "%"+node("f", "%s", of))
		}
		typ := pick("u8", "i8")
		known = append(known, quantized{node("y", "QuantizeLinear.13(%s, @%s, @%s)", floats[len(floats)-1], pick("sx", "sy"), pick(zeros[typ]...)), typ})
		if r.IntN(4) == 0 {
			outputs += "  output %" + known[len(known)-1].name + "\n"
		}
	}
	last := "  output %" + known[len(known)-1].name + "\n"
	return text + strings.TrimSuffix(outputs, last) + last
}

// TestRandomFunctions: tables have the bytes of what they stand for, whatever is quantized on the way and read elsewhere.
func TestRandomFunctions(t *testing.T) {
	tables, through := 0, 0
	for seed := range uint64(80) {
		lines := constants + functions(rand.New(rand.NewPCG(seed, 1)))
		before, after := irtest.Parse(t, lines), irtest.Parse(t, lines)
		require.NoError(t, simplify.Run(before))
		require.NoError(t, simplify.RunBut(after, islands.Keeps))
		islands.Run(after)
		require.NoError(t, ir.Verify(after), lines)
		for _, n := range after.Nodes {
			if n.Op == "Gather" {
				tables++
			}
		}
		want, got := run(t, before), run(t, after)
		for k := range want {
			require.Equal(t, want[k].Data, got[k].Data, "seed %d, result %d\n%s", seed, k, lines)
		}
		through += len(before.Nodes) - len(after.Nodes)
	}
	assert.Greater(t, tables, 40, "graphs have tables")
	assert.Greater(t, through, 200, "that stand for several nodes each")
}
