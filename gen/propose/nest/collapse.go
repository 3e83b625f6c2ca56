package nest

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// collapse joins neighbouring axes that every access walks as one: an elementwise
// block over [N, C, H, W] becomes one loop, and a sum over [H, W] one row.
func (n *Nest) collapse() {
	n.collapseReduce()
	for i := len(n.Axes) - 2; i >= 0; i-- {
		if n.CanCollapse(n.Axes[i], n.Axes[i+1]) {
			n.Axes = n.collapsed(n.Axes, i)
		}
	}
}

// collapseReduce joins the axes of a reduction, whose points stay in their order.
func (n *Nest) collapseReduce() {
	for i := len(n.Reduce) - 2; i >= 0 && n.texelLane == ""; i-- {
		if n.CanCollapse(n.Reduce[i], n.Reduce[i+1]) {
			n.Reduce = n.collapsed(n.Reduce, i)
		}
	}
}

// CanCollapse reports whether every access walks two neighbouring axes as one.
func (n *Nest) CanCollapse(outer, inner te.Axis) bool {
	ok := true
	check := func(e sym.Expr) {
		co, ok1 := sym.Coefficient(e, outer.Var, n.Facts)
		ci, ok2 := sym.Coefficient(e, inner.Var, n.Facts)
		ok = ok && ok1 && ok2 && sym.Mul(ci, inner.Extent).Equal(co)
	}
	check(n.At.Index)
	check(n.At.X)
	check(n.At.Y)
	for _, w := range n.within {
		check(w.E)
	}
	for _, e := range append(append([]te.Expr{}, n.Values...), n.Results...) {
		loop.ExprIndices(e, check)
	}
	return ok
}

// collapsed are the axes with i and i+1 as one, which the nest's indices walk from here on.
func (n *Nest) collapsed(axes []te.Axis, i int) []te.Axis {
	outer, inner := axes[i], axes[i+1]
	joint := te.Axis{Var: inner.Var, Extent: sym.Mul(outer.Extent, inner.Extent)}
	n.AddRanges([]te.Axis{joint})
	n.Subst(map[string]sym.Expr{outer.Var: sym.Const(0)})
	return append(append(append([]te.Axis{}, axes[:i]...), joint), axes[i+2:]...)
}
