package nest

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// unflatten makes axes that indices divide by symbols several ones, so that nothing is divided in loops: elements of
// [C, H, W] that are walked as one row are c, h and w.
func (n *Nest) unflatten() {
	for i := len(n.Axes) - 1; i >= 0; i-- {
		if digits := n.digits(n.Axes[i]); digits != nil {
			n.replaceAxis(i, digits)
		}
	}
	n.undivide()
}

// digits are the axes that an axis is made of, outermost first; nil where indices do not divide it, or by what does not
// divide one another.
func (n *Nest) digits(a te.Axis) []te.Axis {
	by := n.divisions(a)
	slices.SortStableFunc(by, func(p, q sym.Expr) int {
		switch {
		case p.Equal(q):
			return 0
		case n.divisible(q, p):
			return -1
		}
		return 1
	})
	by = slices.CompactFunc(by, sym.Expr.Equal)
	var out []te.Axis
	below := sym.Const(1)
	for i, b := range append(by, a.Extent) {
		if !n.divisible(b, below) {
			return nil
		}
		v := a.Var
		if i < len(by) {
			v = fmt.Sprintf("%s_%d", a.Var, len(by)-i)
		}
		out = append(out, te.Axis{Var: v, Extent: sym.FloorDiv(b, below, n.Facts)})
		below = b
	}
	if len(by) == 0 {
		return nil
	}
	slices.Reverse(out)
	return out
}

func (n *Nest) divisible(a, b sym.Expr) bool {
	return sym.Mul(sym.FloorDiv(a, b, n.Facts), b).Equal(a)
}

// divisions are the symbols' products that indices divide the axis by, and take remainders of it.
func (n *Nest) divisions(a te.Axis) []sym.Expr {
	var out []sym.Expr
	// part is the greatest number by which an expression is the axis divided: (a // W) % H is a part of a by W.
	var part func(e sym.Expr) (sym.Expr, bool)
	part = func(e sym.Expr) (sym.Expr, bool) {
		if v, ok := e.AsVar(); ok {
			return sym.Const(1), v == a.Var
		}
		terms, c := e.Terms()
		if len(terms) != 1 || c != 0 || terms[0].Coef != 1 || len(terms[0].Atoms) != 1 {
			return sym.Expr{}, false
		}
		at := terms[0].Atoms[0]
		lo, ok := part(at.A)
		if !ok || at.Kind != sym.AtomDiv && at.Kind != sym.AtomMod {
			return sym.Expr{}, false
		}
		hi := sym.Mul(lo, at.B)
		if _, known := hi.Const(); !known && !hi.Equal(a.Extent) {
			out = append(out, hi)
		}
		if at.Kind == sym.AtomDiv {
			return hi, true
		}
		return lo, true
	}
	var find func(sym.Expr)
	find = func(e sym.Expr) {
		terms, _ := e.Terms()
		for _, t := range terms {
			for _, at := range t.Atoms {
				if at.Kind == sym.AtomVar {
					continue
				}
				if _, ok := part(sym.FromAtom(at)); !ok {
					find(at.A)
					find(at.B)
				}
			}
		}
	}
	for _, e := range slices.Concat(n.Values, n.Results) {
		loop.ExprIndices(e, find)
	}
	return out
}

// replaceAxis makes one axis several, which count it together.
func (n *Nest) replaceAxis(i int, digits []te.Axis) {
	a := n.Axes[i]
	n.Axes = slices.Concat(n.Axes[:i], digits, n.Axes[i+1:])
	n.AddRanges(digits)
	at := sym.Const(0)
	for _, d := range digits {
		at = sym.Add(sym.Mul(at, d.Extent), sym.Var(d.Var))
	}
	n.Subst(map[string]sym.Expr{a.Var: at})
}
