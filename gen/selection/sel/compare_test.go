package sel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/selection/pbqp"
)

// TestSimplerChoices: three blocks in a row, whose values may lie in two layouts. By itself the one in the middle is faster in the other one, which
// costs two conversions: no other choice is as good as that of all together.
func TestSimplerChoices(t *testing.T) {
	other := layout.Blocked(0, 4)
	a, b := &ir.Value{Name: "a"}, &ir.Value{Name: "b"}
	in := func(x, y layout.Layout, cycles float64) candidate {
		return candidate{layouts: map[*ir.Value]layout.Layout{a: x, b: y}, cycles: cycles}
	}
	c := &Comparison{s: &selector{candidates: [][]candidate{
		{in(layout.RowMajor, layout.RowMajor, 10), in(other, layout.RowMajor, 15)},
		{in(layout.RowMajor, layout.RowMajor, 9), in(other, other, 7)},
		{in(layout.RowMajor, layout.RowMajor, 10), in(layout.RowMajor, other, 40)},
	}}}
	either := [][]float64{{0, 8}, {8, 0}} // a conversion costs 8
	c.p = &pbqp.Problem{Nodes: [][]float64{{10, 15}, {9, 7}, {10, 40}, {0, 0}, {0, 0}}, Edges: []pbqp.Edge{
		{A: 0, B: 3, Cost: either}, {A: 1, B: 3, Cost: [][]float64{{0, 1e9}, {1e9, 0}}},
		{A: 1, B: 4, Cost: either}, {A: 2, B: 4, Cost: [][]float64{{0, 1e9}, {1e9, 0}}},
	}}
	all, err := c.Solve()
	require.NoError(t, err)
	assert.InDelta(t, 29, all.Cost, 0)
	assert.True(t, all.Optimal())
	assert.InDelta(t, 10+7+10+8+8, c.Local(), 0)
	assert.InDelta(t, 29, c.Uniform(func(l layout.Layout) bool { return l == layout.RowMajor }), 0)
	assert.InDelta(t, 15+7+40, c.Uniform(func(l layout.Layout) bool { return l == other }), 0)
	assert.Equal(t, 6, c.Ways())
}
