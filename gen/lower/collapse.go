package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// collapse joins neighbouring axes that every access walks as one: an elementwise
// block over [N, C, H, W] becomes one loop, and a sum over [H, W] one row.
func (n *nest) collapse() {
	n.collapseReduce()
	for i := len(n.axes) - 2; i >= 0; i-- {
		if n.canCollapse(n.axes[i], n.axes[i+1]) {
			n.axes = n.collapsed(n.axes, i)
		}
	}
}

// collapseReduce joins the axes of a reduction, whose points stay in their order.
func (n *nest) collapseReduce() {
	for i := len(n.reduce) - 2; i >= 0 && n.texelLane == ""; i-- {
		if n.canCollapse(n.reduce[i], n.reduce[i+1]) {
			n.reduce = n.collapsed(n.reduce, i)
		}
	}
}

func (n *nest) canCollapse(outer, inner te.Axis) bool {
	ok := true
	check := func(e sym.Expr) {
		co, ok1 := sym.Coefficient(e, outer.Var, n.facts)
		ci, ok2 := sym.Coefficient(e, inner.Var, n.facts)
		ok = ok && ok1 && ok2 && sym.Mul(ci, inner.Extent).Equal(co)
	}
	check(n.at.Index)
	check(n.at.X)
	check(n.at.Y)
	for _, w := range n.within {
		check(w.E)
	}
	for _, e := range append(append([]te.Expr{}, n.values...), n.results...) {
		loop.ExprIndices(e, check)
	}
	return ok
}

// collapsed are the axes with i and i+1 as one, which the nest's indices walk from here on.
func (n *nest) collapsed(axes []te.Axis, i int) []te.Axis {
	outer, inner := axes[i], axes[i+1]
	joint := te.Axis{Var: inner.Var, Extent: sym.Mul(outer.Extent, inner.Extent)}
	n.addRanges([]te.Axis{joint})
	n.subst(map[string]sym.Expr{outer.Var: sym.Const(0)})
	return append(append(append([]te.Axis{}, axes[:i]...), joint), axes[i+2:]...)
}
