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
		co, ok1 := coefficient(e, outer.Var, n.facts)
		ci, ok2 := coefficient(e, inner.Var, n.facts)
		ok = ok && ok1 && ok2 && sym.Mul(ci, inner.Extent).Equal(co)
	}
	check(n.at)
	for _, w := range n.within {
		check(w.E)
	}
	for _, e := range append(append([]te.Expr{}, n.values...), n.results...) {
		loop.ExprIndices(e, check)
	}
	return ok
}

// coefficient is c where e is rest + c*v and neither mentions v.
func coefficient(e sym.Expr, v string, f sym.Facts) (sym.Expr, bool) {
	if !e.Uses(v) {
		return sym.Const(0), true
	}
	base := e.Subst(map[string]sym.Expr{v: sym.Const(0)}, f)
	c := sym.Sub(e.Subst(map[string]sym.Expr{v: sym.Const(1)}, f), base)
	return c, sym.Add(base, sym.Mul(c, sym.Var(v))).Equal(e)
}

func (n *nest) collapsePair(i int) {
	outer, inner := n.axes[i], n.axes[i+1]
	joint := te.Axis{Var: inner.Var, Extent: sym.Mul(outer.Extent, inner.Extent)}
	n.addRanges([]te.Axis{joint})
	n.subst(map[string]sym.Expr{outer.Var: sym.Const(0)})
	n.axes = append(append(append([]te.Axis{}, n.axes[:i]...), joint), n.axes[i+2:]...)
}
