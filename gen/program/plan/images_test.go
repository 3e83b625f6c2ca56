package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// TestImages: values of one extent share an image while their lives are apart, and take no arena.
func TestImages(t *testing.T) {
	c := sym.Const
	x, y := value("x", ir.F32, n, c(8), m), value("y", ir.F32, n, c(8), m)
	a, b, d := value("a", ir.F32, n, c(8), m), value("b", ir.F32, n, c(6), m), value("d", ir.F32, n, c(8), m)
	other := value("other", ir.F32, n, c(12), m)
	p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Layouts: map[*ir.Value]layout.Layout{}}
	for _, v := range []*ir.Value{a, b, d, other} {
		p.Layouts[v] = layout.Texels(1)
	}
	p.Steps = []Step{step(x, a), step(a, b), step(b, other), step(other, d), step(d, y)}
	run(t, p)
	at := func(v *ir.Value) int {
		assert.Equal(t, Image, p.Places[v].Region, v.Name)
		return p.Places[v].N
	}
	assert.Equal(t, at(a), at(d))
	assert.NotEqual(t, at(a), at(b), "both are live in one step")
	assert.NotContains(t, []int{at(a), at(b)}, at(other), "of another extent")
	assert.Equal(t, []Texture{{ir.F32, sym.Mul(c(2), m), n}, {ir.F32, sym.Mul(c(2), m), n}, {ir.F32, sym.Mul(c(3), m), n}}, p.Images)
	assert.True(t, p.ArenaBytes.Is(0))
	assert.Contains(t, p.String(), `writes "other" f32[N 12 M] image of axis1/4 at image 2`)
	assert.Contains(t, p.String(), "image 2: f32[N][3*M][4]")
}
