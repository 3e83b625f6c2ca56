package sym

// Under is e simplified by the facts: what these leave one value is that value.
func (e Expr) Under(f Facts) Expr {
	if e.bad {
		return e
	}
	parts := append(make([]Expr, 0, 1+len(e.terms)), Const(e.c))
	for _, t := range e.terms {
		p := Const(t.coef)
		for _, a := range t.atoms {
			p = Mul(p, a.under(f))
		}
		parts = append(parts, p)
	}
	return Add(parts...)
}

func (a *Atom) under(f Facts) Expr {
	if lo, hi := a.bounds(f); lo == hi {
		return Const(lo)
	}
	if a.Kind == AtomVar {
		return fromAtom(a)
	}
	x, y := a.A.Under(f), a.B.Under(f)
	switch a.Kind {
	case AtomDiv:
		return FloorDiv(x, y, f)
	case AtomMod:
		return Mod(x, y, f)
	case AtomMin:
		return Min(x, y, f)
	}
	return Max(x, y, f)
}
