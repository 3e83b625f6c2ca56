package modeltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/plan"
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
