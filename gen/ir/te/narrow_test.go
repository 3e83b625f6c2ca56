package te_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// window is a stage of a window of 3 points on a row of H, with one point of padding on both sides.
func window(combine *te.Combiner, padding te.Expr, value func(te.Expr) te.Expr) *te.Stage {
	at := sym.Add(sym.Var("y"), sym.Var("k"), sym.Const(-1))
	return &te.Stage{
		Name: "window", Axes: []te.Axis{{Var: "y", Extent: sym.Var("H")}}, Reduce: []te.Axis{{Var: "k", Extent: sym.Const(3)}}, Combine: combine,
		Values: []te.Expr{value(te.Load{Type: ir.F32, Index: []sym.Expr{at}, Default: padding,
			Guard: []te.Within{{E: at, Lo: sym.Const(0), Hi: sym.Var("H")}}})},
		Results: []te.Expr{te.Acc{Type: ir.F32}},
	}
}

// TestNarrow: of windows on a row of one point the tap in the middle is left, where padding adds nothing.
func TestNarrow(t *testing.T) {
	weight := te.Operand(1, ir.F32, sym.Var("k"))
	product := func(e te.Expr) te.Expr { return te.Fn(ir.F32, "mul", e, weight) }
	itself := func(e te.Expr) te.Expr { return e }
	zero := te.Number(ir.F32, 0)
	one, two := sym.Facts{"H": {Lo: 1, Hi: 1}}, sym.Facts{"H": {Lo: 1, Hi: 2}}
	for _, c := range []struct {
		name  string
		stage *te.Stage
		facts sym.Facts
		taps  int64
	}{
		{"a product", window(te.Sum(ir.F32), zero, product), one, 1},
		{"a product of a conversion", window(te.Sum(ir.F32), zero, func(e te.Expr) te.Expr { return product(te.Fn(ir.F32, "cast", e)) }), one, 1},
		{"a product on up to two points", window(te.Sum(ir.F32), zero, product), two, 3},
		{"a sum", window(te.Sum(ir.F32), zero, itself), one, 1},
		{"a sum with other padding", window(te.Sum(ir.F32), te.Number(ir.F32, 1), itself), one, 3},
		{"a sum of what is made of the padding", window(te.Sum(ir.F32), zero, func(e te.Expr) te.Expr { return te.Fn(ir.F32, "exp", e) }), one, 3},
		{"a maximum", window(te.Max(ir.F32), te.Lowest(ir.F32), itself), one, 1},
		{"a maximum with zeros around it", window(te.Max(ir.F32), zero, itself), one, 3},
		{"a maximum of products", window(te.Max(ir.F32), zero, product), one, 3},
	} {
		got := c.stage.Narrow(c.facts)
		require.True(t, got.Reduce[0].Extent.Is(c.taps), "%s: %s taps", c.name, got.Reduce[0].Extent)
		te.Walk(got.Values[0], func(e te.Expr) {
			l, ok := e.(te.Load)
			if !ok || c.taps > 1 {
				return
			}
			assert.Empty(t, l.Guard, c.name)
			want := sym.Add(sym.Var("k"), sym.Const(1)) // of weights
			if l.Source.N == 0 {
				want = sym.Add(sym.Var("y"), sym.Var("k"))
			}
			assert.True(t, want.Equal(l.Index[0]), "%s: %s", c.name, l.Index[0])
		})
		assert.True(t, c.stage.Reduce[0].Extent.Is(3), "the stage stays")
	}
}
