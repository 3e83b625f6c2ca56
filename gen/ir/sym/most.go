package sym

// Most is an expression over other variables that e never exceeds while each variable of most
// is at least what the facts say and at most its expression there. It is false where none is
// found: a variable that the facts do not bound from below, or a product of factors that may be
// negative. Variables that are not in most stay.
func Most(e Expr, most map[string]Expr, f Facts) (Expr, bool) {
	return limiter{most, f}.expr(e, true)
}

// limiter replaces variables by their greatest values, or by their least ones.
type limiter struct {
	most  map[string]Expr
	facts Facts
}

// expr is at least e where up is true, and at most e elsewhere.
func (l limiter) expr(e Expr, up bool) (Expr, bool) {
	if e.bad || !l.touches(e) {
		return e, !e.bad
	}
	parts := []Expr{Const(e.c)}
	for _, t := range e.terms {
		p, ok := l.product(t.atoms, up == (t.coef > 0))
		if !ok {
			return Expr{}, false
		}
		parts = append(parts, Scale(p, t.coef))
	}
	return Add(parts...), true
}

// touches reports whether e mentions a variable that is replaced.
func (l limiter) touches(e Expr) bool {
	used := map[string]bool{}
	e.Vars(used)
	for name := range used {
		if _, ok := l.most[name]; ok {
			return true
		}
	}
	return false
}

func (l limiter) product(atoms []*Atom, up bool) (Expr, bool) {
	p := Const(1)
	for _, a := range atoms {
		x, ok := l.atom(a, up)
		if !ok || len(atoms) > 1 && !AtLeast(fromAtom(a), 0, l.facts) {
			return Expr{}, false
		}
		if len(atoms) > 1 {
			x = Max(x, Const(0), l.facts)
		}
		p = Mul(p, x)
	}
	return p, true
}

func (l limiter) atom(a *Atom, up bool) (Expr, bool) {
	if a.Kind == AtomVar {
		return l.variable(a, up)
	}
	if a.Kind == AtomMod {
		return l.remainder(a, up)
	}
	x, ok := l.expr(a.A, up)
	if !ok {
		return Expr{}, false
	}
	// A quotient of a dividend that may be negative moves either way with its divisor.
	divides := a.Kind == AtomDiv
	if divides && l.touches(a.B) && !AtLeast(a.A, 0, l.facts) {
		return Expr{}, false
	}
	y, ok := l.expr(a.B, up != divides)
	if !ok {
		return Expr{}, false
	}
	switch a.Kind {
	case AtomMin:
		return Min(x, y, l.facts), true
	case AtomMax:
		return Max(x, y, l.facts), true
	}
	return FloorDiv(x, Max(y, Const(1), l.facts), l.facts), true
}

func (l limiter) variable(a *Atom, up bool) (Expr, bool) {
	m, replaced := l.most[a.Name]
	switch {
	case !replaced:
		return fromAtom(a), true
	case up:
		return m, true
	}
	lo, _ := fromAtom(a).Bounds(l.facts)
	return Const(lo), lo != -boundInf
}

// remainder is within 0 and the divisor.
func (l limiter) remainder(a *Atom, up bool) (Expr, bool) {
	if !l.touches(fromAtom(a)) {
		return fromAtom(a), true
	}
	if !up {
		return Const(0), true
	}
	y, ok := l.expr(a.B, true)
	return Max(Sub(y, Const(1)), Const(0), l.facts), ok
}
