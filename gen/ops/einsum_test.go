package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func einsumOf(equation string, in ...*ir.Value) *ir.Node {
	return node("Einsum", attrs("equation", equation), in...)
}

func einsumExamples() []example {
	return []example{
		{einsumOf("bij,bjk->bik", f32("N", 8, 16), f32("N", 16, 4)), "[N 8 4]", ManyToMany, dependent},
		{node("GridSample", nil, f32("N", 3, 8, 8), f32("N", 5, 6, 2)), "[N 3 5 6]", OneToMany, variable},
	}
}

// TestEinsum: shapes, how many stages, and the labels' loops.
func TestEinsum(t *testing.T) {
	for _, c := range []struct {
		n             *ir.Node
		shape, checks string
		stages, sums  int // sums: reduction axes of the last stage
	}{
		{einsumOf("ij,jk", f32("N", 3), f32(3, 4)), "[N 4]", "", 1, 1},
		{einsumOf("ba", f32(2, 3)), "[3 2]", "", 1, 0},
		{einsumOf("Zb", f32(2, 3)), "[2 3]", "", 1, 0},
		{einsumOf("ij->", f32("N", 3)), "[]", "", 1, 2},
		{einsumOf("ii->i", f32("N", "N")), "[N]", "", 1, 0},
		{einsumOf("ii", f32("N", "M")), "[]", "N == M", 1, 1},
		{einsumOf("...ij,...jk->...ik", f32("N", 1, 2, 3), f32(8, 3, 4)), "[N 8 2 4]", "", 1, 1},
		{einsumOf("...i,...i", f32("N", 3), f32("M", 3)), "[max(M, N)*min(M, min(1, N))]", "N ~ M", 1, 1},
		{einsumOf("i...->...", f32("N", 3, 4)), "[3 4]", "", 1, 1},
		{einsumOf("i,i->i", f32("K"), f32("L")), "[K]", "K == L", 1, 0},
		{einsumOf("ab, bc, cd -> ad", f32("N", 3), f32(3, 4), f32(4, 5)), "[N 5]", "", 2, 1},
		{einsumOf(",i->i", f32(), f32(4)), "[4]", "", 1, 0},
		{einsumOf("i,i->", f32(1), f32(4)), "[]", "", 1, 1},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		last := m.Stages[len(m.Stages)-1]
		require.Equal(t, c.shape, fmt.Sprint(last.Shape()), "%v", c.n.Attrs)
		require.Equal(t, c.checks, checksText(m), "%v", c.n.Attrs)
		require.Len(t, m.Stages, c.stages, "%v", c.n.Attrs)
		require.Len(t, last.Reduce, c.sums, "%v", c.n.Attrs)
	}
}

func TestEinsumErrors(t *testing.T) {
	x := func() *ir.Value { return f32(2, 3) }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("Einsum", nil, x()), `attribute "equation" is absent`},
		{einsumOf("ij,jk->ik", x()), "of 2 terms; the node has 1 operands"},
		{einsumOf("i1->i", x()), `attribute equation is "i1->i": "i1" contains "1"; want letters and one "..."`},
		{einsumOf("......", x()), `contains "."`},
		{einsumOf("ij->k", x()), `label "k" of the result is not a label of an operand`},
		{einsumOf("ij->ii", x()), `label "i" occurs twice in the result`},
		{einsumOf("ijk->i", x()), "operand 0: its term has 3 labels; the rank is 2"},
		{einsumOf("ijk...->i", x()), "operand 0: its term has 3 labels besides the ellipsis; the rank is 2"},
		{einsumOf("ij,jk->ik", x(), f32(4, 5)), `label "j" of operand 1: dimensions of one label must be equal: found 3 and 4`},
		{einsumOf("...j->j", x()), "the operands' ellipsis has 1 axes; the result needs an ellipsis too"},
		{node("GridSample", attrs("mode", "bilinear"), f32(1, 1, 2, 2), f32(1, 2, 2, 2)), `attribute mode is "bilinear"; supported are ["linear" "nearest" "cubic"]`},
		{node("GridSample", nil, f32(1, 1, 2, 2), f32(1, 2, 2, 3)), "last dimension of grid, which has a coordinate for each spatial axis: found 3 and 2"},
		{node("GridSample", nil, f32(1, 1, 2, 2), f32(1, 2, 2)), "operands have ranks 4 and 3; want equal ranks of at least 3"},
		{node("GridSample", nil, f32(2, 1, 2, 2), f32(3, 2, 2, 2)), "batch dimension of grid: found 3 and 2"},
		{node("GridSample", attrs("padding_mode", "wrap"), f32(2, 1, 2, 2), f32(2, 2, 2, 2)), `attribute padding_mode is "wrap"`},
	} {
		_, err := Build(c.n, nil)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `node `+c.n.Op+` "n": `)
	}
}
