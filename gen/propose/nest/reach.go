package nest

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Whether an element is there that a loaded integer names, nothing foretells: a branch on it is taken for the wrong one again and again. Such a load is of
// the nearest element that is there, and then a choice between two numbers.

// boundIn are the variables of integers that an expression loads.
func boundIn(e te.Expr) map[string]bool {
	out := map[string]bool{}
	te.Walk(e, func(e te.Expr) {
		if x, ok := e.(te.Let); ok {
			out[x.Var] = true
		}
	})
	return out
}

// reached is a load under conditions on loaded integers, without a branch; nil where conditions are on something else, or the element that is read depends
// on an integer in another way than they do.
func (n *Nest) reached(x te.Load, bound map[string]bool, find func([]sym.Expr) loop.Mem) te.Expr {
	c, isConst := x.Default.(te.Const)
	if !isConst || n.target.WorkItems() || len(x.Guard) == 0 {
		return nil
	}
	index := slices.Clone(x.Index)
	var cond te.Expr
	for _, w := range x.Guard {
		if !loads(w.E, bound) || n.reduces(w.E) || !slices.ContainsFunc(x.Index, w.E.Equal) {
			return nil
		}
		lo, hi := n.allowed(x.Guard, w.E)
		if !sym.AtLeast(sym.Sub(hi, lo), 1, n.Facts) {
			return nil
		}
		for i, e := range x.Index {
			if e.Equal(w.E) {
				index[i] = sym.Min(sym.Max(e, lo, n.Facts), sym.Sub(hi, sym.Const(1)), n.Facts)
			}
		}
		cond = also(cond, n.holds(w))
	}
	for i, e := range x.Index {
		if loads(e, bound) && !slices.ContainsFunc(x.Guard, func(w te.Within) bool { return w.E.Equal(x.Index[i]) }) {
			return nil
		}
	}
	if cond == nil {
		return find(index)
	}
	return te.Fn(x.Type, "select", cond, find(index), c)
}

// allowed are the bounds that all conditions on an index have together.
func (n *Nest) allowed(guard []te.Within, e sym.Expr) (lo, hi sym.Expr) {
	lo, hi = sym.Const(-sym.MaxDim), sym.Const(sym.MaxDim)
	for _, w := range guard {
		if w.E.Equal(e) {
			lo, hi = sym.Max(lo, w.Lo, n.Facts), sym.Min(hi, w.Hi, n.Facts)
		}
	}
	return lo, hi
}

// reduces reports whether an index moves with the reduction, of which a condition is then a bound.
func (n *Nest) reduces(e sym.Expr) bool {
	return slices.ContainsFunc(n.Reduce, func(r te.Axis) bool { return e.Uses(r.Var) })
}

// loads reports whether an index depends on a loaded integer.
func loads(e sym.Expr, bound map[string]bool) bool {
	used := map[string]bool{}
	e.Vars(used)
	for v := range used {
		if bound[v] {
			return true
		}
	}
	return false
}

// holds is a condition as a bool, nil where it is certain.
func (n *Nest) holds(w te.Within) te.Expr {
	number := func(e sym.Expr) te.Expr { return te.Index{Type: ir.I64, E: e} }
	var out te.Expr
	if !sym.AtLeast(sym.Sub(w.E, w.Lo), 0, n.Facts) {
		out = te.Fn(ir.Bool, "ge", number(w.E), number(w.Lo))
	}
	if !sym.AtLeast(sym.Sub(w.Hi, w.E), 1, n.Facts) {
		out = also(out, te.Fn(ir.Bool, "lt", number(w.E), number(w.Hi)))
	}
	return out
}

// also is the conjunction of two conditions, of which nil always holds.
func also(a, b te.Expr) te.Expr {
	if a == nil {
		return b
	} else if b == nil {
		return a
	}
	return te.Fn(ir.Bool, "and", a, b)
}
