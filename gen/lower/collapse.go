package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// collapse joins neighbouring axes that every access walks as one: an elementwise
// block over [N, C, H, W] becomes one loop.
func (n *nest) collapse() {
	for i := len(n.axes) - 2; i >= 0; i-- {
		if n.canCollapse(n.axes[i], n.axes[i+1]) {
			n.collapsePair(i)
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

func (n *nest) collapsePair(i int) {
	outer, inner := n.axes[i], n.axes[i+1]
	joint := te.Axis{Var: inner.Var, Extent: sym.Mul(outer.Extent, inner.Extent)}
	n.addRanges([]te.Axis{joint})
	n.subst(map[string]sym.Expr{outer.Var: sym.Const(0)})
	n.axes = append(append(append([]te.Axis{}, n.axes[:i]...), joint), n.axes[i+2:]...)
}
