package modeltest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/plan"
)

// TestComputedFactors: contractions of two computed operands, of 32 and of 16 bits, run in tiles on every chip that has some.
func TestComputedFactors(t *testing.T) {
	for name, c := range map[string]struct {
		graph string
		tiled bool
	}{
		"a matrix":         {"input %a T[40, 32]\ninput %b T[32, 48]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"odd":              {"input %a T[23, 31]\ninput %b T[31, 45]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"many rows":        {"input %a T[210, 9]\ninput %b T[9, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"a batch":          {"input %a T[2, 3, 10, 12]\ninput %b T[2, 3, 12, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"broadcast":        {"input %a T[2, 1, 10, 13]\ninput %b T[1, 3, 13, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"a batch of W":     {"input %a T[10, 12]\ninput %b T[3, 12, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"transposed":       {"input %a T[32, 40]\ninput %b T[48, 32]\n%y ?[*] = Gemm.13(%a, %b) {transA = 1, transB = 1}\noutput %y\n", true},
		"with a bias":      {"input %a T[40, 32]\ninput %b T[32, 48]\ninput %c T[48]\n%y ?[*] = Gemm.13(%a, %b, %c)\noutput %y\n", true},
		"two sums":         {"input %a T[6, 5, 8]\ninput %b T[5, 8, 24]\n%y ?[*] = Einsum.12(%a, %b) {equation = \"ijk,jkl->il\"}\noutput %y\n", true},
		"many sizes":       {"symbol N 1..400\nsymbol M 1..400\ninput %a T[2, N, 64]\ninput %b T[2, 64, M]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"a convolution":    {"input %x T[1, 8, 9, 20]\ninput %w T[12, 8, 3, 3]\n%y ?[*] = Conv.11(%x, %w)\noutput %y\n", true},
		"a padded one":     {"input %x T[1, 8, 9, 20]\ninput %w T[12, 8, 3, 3]\n%y ?[*] = Conv.11(%x, %w) {pads = [1, 1, 1, 1]}\noutput %y\n", true},
		"in steps":         {"input %x T[2, 6, 13, 21]\ninput %w T[12, 6, 3, 3]\n%y ?[*] = Conv.11(%x, %w) {pads = [1, 1, 1, 1], strides = [2, 2]}\noutput %y\n", true},
		"groups":           {"input %x T[1, 8, 9, 20]\ninput %w T[12, 4, 3, 3]\n%y ?[*] = Conv.11(%x, %w) {group = 2, pads = [1, 1, 1, 1]}\noutput %y\n", false},
		"few rows":         {"input %a T[3, 32]\ninput %b T[32, 48]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", false},
		"no elements":      {"input %a T[40, 0]\ninput %b T[0, 48]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", false},
		"between networks": {"input %a T[40, 32]\ninput %b T[32, 48]\n%d ?[*] = Relu.14(%a)\n%e ?[*] = Tanh.13(%b)\n%y ?[*] = MatMul.13(%d, %e)\n%z ?[*] = Sigmoid.13(%y)\noutput %z\n", true},
	} {
		for _, half := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
			t.Run(name+"/"+half.String(), func(t *testing.T) {
				graph := strings.ReplaceAll(c.graph, " T[", " "+half.String()+"[")
				r := &random{Rand: rand.New(rand.NewPCG(1, 2)), env: map[string]int64{"N": 37, "M": 53}}
				inputs := map[string]*ir.Tensor{}
				for _, v := range irtest.Parse(t, graph).Inputs {
					x := r.floats(r.concrete(v.Shape), 1)
					h := ir.NewTensor(half, x.Shape...)
					for i := range x.Len() {
						setNumber(h, i, float32(elementAt(x, i)))
					}
					inputs[v.Name] = h
				}
				for _, chip := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
					g := irtest.Parse(t, graph)
					want, err := interp.Graph(g, inputs)
					require.NoError(t, err)
					p, err := Compile(g, Config{Chip: chip})
					require.NoError(t, err, chip)
					got, err := runTexts(p, InputsOf(p, inputs))
					require.NoError(t, err, chip)
					for k, w := range want {
						assertClose(t, w, got[k], chip)
					}
					tiled := slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return c.Kernel.Anchor == "product" })
					if !strings.Contains(c.graph, "symbol") { // of which estimates decide
						assert.Equal(t, c.tiled, tiled, "%s: %s", chip, p)
					}
				}
			})
		}
	}
}
