package modeltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/program/plan"
)

// TestActivations: products of two operands that are computed run in tiles, whatever their axes are, and what follows them is
// computed with them.
func TestActivations(t *testing.T) {
	for name, c := range map[string]struct {
		graph string
		tiled bool
	}{
		"matrices":                      {"input %a f32[20, 30]\ninput %b f32[30, 40]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"columns that fill no register": {"input %a f32[7, 9]\ninput %b f32[9, 11]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"a batch":                       {"input %a f32[2, 3, 10, 12]\ninput %b f32[2, 3, 12, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"a batch of one side":           {"input %a f32[5, 10, 12]\ninput %b f32[12, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"broadcast":                     {"input %a f32[2, 1, 10, 12]\ninput %b f32[1, 3, 12, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"W transposed":                  {"input %a f32[10, 12]\ninput %b f32[24, 12]\n%y ?[*] = Gemm.13(%a, %b) {transB = 1}\noutput %y\n", true},
		"X transposed":                  {"input %a f32[12, 10]\ninput %b f32[12, 24]\n%y ?[*] = Gemm.13(%a, %b) {transA = 1}\noutput %y\n", true},
		"two axes of the sum":           {"input %a f32[24, 5, 8]\ninput %b f32[5, 8, 48]\n%y ?[*] = Einsum.12(%a, %b) {equation = \"abc,bcd->ad\"}\noutput %y\n", true},
		"heads":                         {"input %q f32[1, 16, 4, 8]\ninput %k f32[1, 16, 4, 8]\n%y ?[*] = Einsum.12(%q, %k) {equation = \"bihd,bjhd->bhij\"}\noutput %y\n", true},
		"what follows":                  {"input %a f32[20, 30]\ninput %b f32[30, 40]\ninput %c f32[20, 40]\n%p ?[*] = MatMul.13(%a, %b)\n%q ?[*] = Add.14(%p, %c)\n%y ?[*] = Relu.14(%q)\noutput %y\n", true},
		"few rows":                      {"input %a f32[3, 30]\ninput %b f32[30, 40]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", false},
		"two rows of a W beyond caches": {"input %a f32[2, 1100]\ninput %b f32[1100, 256]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"such a W, transposed":          {"input %a f32[2, 1100]\ninput %b f32[256, 1100]\n%y ?[*] = Gemm.13(%a, %b) {transB = 1}\noutput %y\n", false},
		"many sizes":                    {"symbol N 1..40\ninput %a f32[20, 30]\ninput %b f32[30, N]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"many rows":                     {"symbol N 1..400\ninput %a f32[N, 64]\ninput %b f32[64, 96]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"many of both":                  {"symbol N 1..400\nsymbol B 1..4\ninput %a f32[B, N, 64]\ninput %b f32[B, N, 64]\n%y ?[*] = Einsum.12(%a, %b) {equation = \"bik,bjk->bij\"}\noutput %y\n", true},
		"sums of many sizes":            {"symbol N 1..40\ninput %a f32[20, N]\ninput %b f32[N, 40]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", false},
		"no elements":                   {"input %a f32[20, 0]\ninput %b f32[0, 40]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chip := range Chips {
				p := survivor(t, c.graph, chip)
				tiled := slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return strings.HasPrefix(c.Kernel.Anchor, "product") })
				assert.Equal(t, c.tiled, tiled, chip)
			}
		})
	}
}

// TestWeightsOfBatches: products with constant weights of their own run in tiles, too, whichever factor the weights are, and however they lie.
func TestWeightsOfBatches(t *testing.T) {
	einsum := func(equation, x, w string) string {
		return "input %x f32[" + x + "]\ninput %kw f32[" + w + "]\n%y ?[*] = Einsum.12(%x, %kw) {equation = \"" + equation + "\"}\noutput %y\n"
	}
	for name, c := range map[string]contraction{
		"columns":             {"input %x f32[3, 10, 12]\ninput %kw f32[3, 12, 24]\n%y ?[*] = MatMul.13(%x, %kw)\noutput %y\n", true},
		"rows":                {"input %x f32[3, 12, 24]\ninput %kw f32[3, 20, 12]\n%y ?[*] = MatMul.13(%kw, %x)\noutput %y\n", true},
		"columns, transposed": {einsum("bik,bjk->bij", "3, 10, 12", "3, 24, 12"), true},
		"relative positions":  {einsum("bhwd,hkd->bhwk", "5, 6, 7, 8", "6, 9, 8"), true},
		"those of columns":    {einsum("bhwd,wkd->bhwk", "5, 6, 7, 8", "7, 9, 8"), true},
		"what follows":        {"input %x f32[3, 10, 12]\ninput %kw f32[3, 12, 24]\ninput %kb f32[24]\n%p ?[*] = MatMul.13(%x, %kw)\n%y ?[*] = Add.14(%p, %kb)\noutput %y\n", true},
		"many rows":           {"symbol N 1..400\ninput %x f32[3, N, 12]\ninput %kw f32[3, 12, 24]\n%y ?[*] = MatMul.13(%x, %kw)\noutput %y\n", true},
		"two rows":            {"input %x f32[3, 2, 12]\ninput %kw f32[3, 12, 24]\n%y ?[*] = MatMul.13(%x, %kw)\noutput %y\n", true},
		"three, transposed":   {einsum("bik,bjk->bij", "3, 3, 12", "3, 24, 12"), true},
		"one row":             {"input %x f32[3, 1, 12]\ninput %kw f32[3, 12, 24]\n%y ?[*] = MatMul.13(%x, %kw)\noutput %y\n", true},
		"one product's, which are a contraction's": {"input %x f32[3, 10, 12]\ninput %kw f32[12, 24]\n%y ?[*] = MatMul.13(%x, %kw)\noutput %y\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chip := range Chips {
				g, inputs := c.filled(t)
				want, err := interp.Graph(g, inputs)
				require.NoError(t, err)
				p, err := Compile(g, Config{Chip: chip})
				require.NoError(t, err, chip)
				got, err := runTexts(p, InputsOf(p, inputs))
				require.NoError(t, err, chip)
				for k, w := range want {
					assertClose(t, w, got[k], chip)
				}
				tiled := slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return strings.HasPrefix(c.Kernel.Anchor, "product") })
				assert.Equal(t, c.tiled, tiled, chip)
			}
		})
	}
}
