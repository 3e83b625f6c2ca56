package lower

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// TestProductNames: the loops of a product that has axes of each kind have names that no symbol of a model can have.
func TestProductNames(t *testing.T) {
	var axes []te.Axis
	for i, n := range []int64{2, 3, 4, 8, 16} { // of both, of X twice, of its rows, of W
		axes = append(axes, te.Axis{Var: fmt.Sprintf("i%d", i), Extent: sym.Const(n)})
	}
	sum := []te.Axis{{Var: "r0", Extent: sym.Const(5)}}
	i, r := te.AxisVars(axes), te.AxisVars(sum)
	x, w := te.Operand(0, ir.F32, i[0], i[1], i[2], i[3], r[0]), te.Operand(1, ir.F32, i[0], r[0], i[4])
	s := &te.Stage{Name: "Einsum", Axes: axes, Reduce: sum, Combine: te.Sum(ir.F32), Results: []te.Expr{te.Acc{Type: ir.F32}}, Values: []te.Expr{te.Fn(ir.F32, "mul", x, w)}}
	value := func(dims ...int64) *ir.Value { return &ir.Value{Type: ir.F32, Shape: ir.Dims(dims...), HasShape: true} }
	b := &block.Block{Stage: s, Operands: []*ir.Value{value(2, 3, 4, 8, 5), value(2, 5, 16)}, Results: []*ir.Value{value(2, 3, 4, 8, 16)}}
	env := &Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: chip(t, "x86_64_v3"), Contractions: true, Vectors: true}
	all, err := newProducts(b, env)
	require.NoError(t, err)
	require.Len(t, all, 1)
	for _, st := range all[0].schedule(env).sched.Stages {
		for _, l := range st.Loops {
			assert.False(t, sym.IsSymbol(l.Var), l.Var)
		}
	}
	l, err := Product(b, env)
	require.NoError(t, err)
	assert.Len(t, l, 1)
}
