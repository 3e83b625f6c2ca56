package nest

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Indices divide where operators flatten axes and split them again. Package sym knows ranges by numbers, which decide
// quotients by constants; where extents are symbols, those of loops decide them: with h < H and w < W, h*W + w is less
// than H*W, whatever H and W are.

// extents are what the variables of axes stay below.
type extents struct {
	most  map[string]sym.Expr // the greatest value of each
	facts sym.Facts
}

func (n *Nest) extents() extents {
	most := map[string]sym.Expr{}
	for _, a := range slices.Concat(n.Axes, n.Reduce) {
		most[a.Var] = sym.Sub(a.Extent, sym.Const(1))
	}
	return extents{most, n.Facts}
}

// undivide takes divisions by symbols out of indices where the loops' extents decide them.
func (n *Nest) undivide() {
	x := n.extents()
	n.mapIndices(x.expr)
}

// mapIndices rewrites all indices and conditions of the nest.
func (n *Nest) mapIndices(f func(sym.Expr) sym.Expr) {
	all := func(es []te.Expr) {
		for i, e := range es {
			es[i] = loop.MapIndices(e, f)
		}
	}
	all(n.Values)
	all(n.Results)
	n.At.Index, n.At.X, n.At.Y = f(n.At.Index), f(n.At.X), f(n.At.Y)
	for i, w := range n.within {
		n.within[i].E = f(w.E)
	}
}

// divides reports whether an expression divides by something other than a constant.
func divides(e sym.Expr) bool {
	terms, _ := e.Terms()
	for _, t := range terms {
		for _, a := range t.Atoms {
			if a.Kind == sym.AtomVar {
				continue
			}
			_, known := a.B.Const()
			if !known && (a.Kind == sym.AtomDiv || a.Kind == sym.AtomMod) || divides(a.A) || divides(a.B) {
				return true
			}
		}
	}
	return false
}

// expr is an expression of the same value.
func (x extents) expr(e sym.Expr) sym.Expr {
	if e.Overflow() || !divides(e) {
		return e
	}
	terms, c := e.Terms()
	sum := []sym.Expr{sym.Const(c)}
	for _, t := range terms {
		p := sym.Const(t.Coef)
		for _, a := range t.Atoms {
			p = sym.Mul(p, x.atom(a))
		}
		sum = append(sum, p)
	}
	return x.whole(sym.Add(sum...))
}

func (x extents) atom(a *sym.Atom) sym.Expr {
	if a.Kind == sym.AtomVar {
		return sym.FromAtom(a)
	}
	p, q := x.expr(a.A), x.expr(a.B)
	switch a.Kind {
	case sym.AtomMin:
		return sym.Min(p, q, x.facts)
	case sym.AtomMax:
		return sym.Max(p, q, x.facts)
	}
	quotient, rest := x.divMod(p, q)
	if a.Kind == sym.AtomDiv {
		return quotient
	}
	return rest
}

// divMod divides by b what is a multiple of one of its factors but for a rest that is less than the factor.
func (x extents) divMod(a, b sym.Expr) (quotient, rest sym.Expr) {
	for _, g := range x.factors(a, b) {
		k := sym.FloorDiv(b, g, x.facts)
		inner, left := x.multiples(a, g)
		if !sym.Mul(k, g).Equal(b) || !x.below(left, g) {
			continue
		}
		if k.Is(1) {
			return inner, left
		}
		quotient, rest = x.divMod(inner, k)
		return quotient, sym.Add(sym.Mul(g, rest), left)
	}
	return sym.FloorDiv(a, b, x.facts), sym.Mod(a, b, x.facts)
}

// factors are b, and what the axes' variables in a are multiplied by.
func (x extents) factors(a, b sym.Expr) []sym.Expr {
	out := []sym.Expr{b}
	used := map[string]bool{}
	a.Vars(used)
	for _, v := range sortedNames(used) {
		if _, isAxis := x.most[v]; !isAxis {
			continue
		}
		if c, linear := sym.Coefficient(a, v, x.facts); linear && !c.Is(0) && !c.Is(1) {
			out = append(out, c)
		}
	}
	return out
}

func sortedNames(set map[string]bool) []string {
	var out []string
	for v := range set {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// multiples splits a into inner*g + left.
func (x extents) multiples(a, g sym.Expr) (inner, left sym.Expr) {
	terms, c := a.Terms()
	left = sym.Const(c)
	for _, t := range terms {
		e := sym.Const(t.Coef)
		for _, at := range t.Atoms {
			e = sym.Mul(e, sym.FromAtom(at))
		}
		if q := sym.FloorDiv(e, g, x.facts); sym.Mul(q, g).Equal(e) {
			inner = sym.Add(inner, q)
		} else {
			left = sym.Add(left, e)
		}
	}
	return inner, left
}

// below reports whether e is at least 0 and less than g.
func (x extents) below(e, g sym.Expr) bool {
	if !sym.AtLeast(e, 0, x.facts) {
		return false
	}
	most, ok := sym.Most(e, x.most, x.facts)
	return ok && sym.AtMost(sym.Sub(most, g), -1, x.facts)
}

// whole joins quotients and remainders of the same division: k * (a % b) + k*b * (a // b) is k * a.
func (x extents) whole(e sym.Expr) sym.Expr {
	terms, _ := e.Terms()
	for _, t := range terms {
		for i, m := range t.Atoms {
			if m.Kind != sym.AtomMod {
				continue
			}
			k := sym.Const(t.Coef)
			for j, a := range t.Atoms {
				if j != i {
					k = sym.Mul(k, sym.FromAtom(a))
				}
			}
			parts := sym.Mul(k, sym.Add(sym.FromAtom(m), sym.Mul(m.B, sym.FloorDiv(m.A, m.B, x.facts))))
			joined := sym.Add(sym.Sub(e, parts), sym.Mul(k, m.A))
			if left, _ := joined.Terms(); len(left) < len(terms) {
				return x.whole(joined)
			}
		}
	}
	return e
}
