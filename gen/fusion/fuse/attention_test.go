package fuse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
)

// TestAttend: a softmax and the products around it are one block where kernels are estimated to take less for it, nothing else reads what is between
// them, and both products read and compute rows.
func TestAttend(t *testing.T) {
	const inputs = "input %q f32[2, 3, 16, 8]\ninput %k f32[2, 3, 8, 20]\ninput %v f32[2, 3, 20, 4]\ninput %m f32[16, 20]\n"
	const scores = "%s ?[*] = MatMul.13(%q, %k)\n%a ?[*] = Add.14(%s, %m)\n"
	const product = "%p ?[*] = Softmax.13(%a) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y\n"
	launches := func(*block.Block) float64 { return 1 }
	only := func(n int, took float64) func(*block.Block) float64 { // of blocks with so many placed stages
		return func(b *block.Block) float64 {
			if len(b.Placed) > n {
				return took
			}
			return 1
		}
	}
	for _, c := range []struct {
		name, text string
		shared     func(*block.Block) float64
		off        bool
		want       []string
	}{
		{"a mask", inputs + scores + product, launches, false, []string{"MatMul+Add+Softmax+MatMul (5 placed at 3)"}},
		{"no attention", inputs + scores + product, launches, true, []string{"MatMul+Add", "Softmax (3 placed at 3)", "MatMul"}},
		{"slower", inputs + scores + product, only(3, 3.5), false, []string{"MatMul+Add", "Softmax (3 placed at 3)", "MatMul"}},
		{"faster", inputs + scores + product, only(3, 2.5), false, []string{"MatMul+Add+Softmax+MatMul (5 placed at 3)"}},
		{"no kernel", inputs + scores + product, only(3, math.Inf(1)), false, []string{"MatMul+Add", "Softmax (3 placed at 3)", "MatMul"}},
		{"weights that are a result", inputs + scores + product + "output %p\n", launches, false, []string{"MatMul+Add", "Softmax (3 placed at 3)", "MatMul"}},
		{"scores that are a result", inputs + scores + product + "output %a\n", launches, false, []string{"MatMul+Add", "Softmax (3 placed at 3)", "MatMul"}},
		{"no scores", inputs + "%a ?[*] = Add.14(%m, %m)\n%p ?[*] = Softmax.13(%a) {axis = -1}\n%w ?[*] = MatMul.13(%p, %v)\noutput %w\n", launches, false,
			[]string{"Add+Softmax (4 placed at 1)", "MatMul"}},
		{"attention of what attention computes", "input %q f32[2, 16, 8]\ninput %k f32[2, 8, 20]\ninput %v f32[2, 20, 24]\ninput %z f32[2, 24, 12]\n%s ?[*] = MatMul.13(%q, %k)\n%p ?[*] = Softmax.13(%s) {axis = -1}\n" +
			"%y ?[*] = MatMul.13(%p, %v)\n%r ?[*] = Softmax.13(%y) {axis = -1}\n%o ?[*] = MatMul.13(%r, %z)\noutput %o\n", launches, false, []string{"MatMul+Softmax+MatMul (5 placed at 2)", "Softmax (3 placed at 2)", "MatMul"}},
		{"a softmax of other rows", inputs + scores + "%p ?[*] = Softmax.13(%a) {axis = -2}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y\n", launches, false,
			[]string{"MatMul+Add", "Softmax (3 placed at 2)", "MatMul"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := blocks(t, c.text)
			o := Options{Estimator: prices{alone: launches, shared: c.shared}}
			if c.off {
				o.Off = off("attention")
			}
			Run(g, o)
			require.NoError(t, g.Verify())
			assert.Equal(t, c.want, summary(g))
		})
	}
}
