package sym

import "slices"

// Range is what is known of a variable: inclusive bounds.
type Range struct{ Lo, Hi int64 }

// Facts tell the ranges of variables; a variable without an entry is any
// non-negative number up to MaxDim (variables stand for dimensions and loop counters).
type Facts map[string]Range

// FloorDiv is floor(a / b) for b > 0.
func FloorDiv(a, b Expr, f Facts) Expr { q, _ := divMod(a, b, f); return q }

// Mod is a - b*floor(a/b) for b > 0.
func Mod(a, b Expr, f Facts) Expr { _, r := divMod(a, b, f); return r }

// CeilDiv is ceil(a / b) for b > 0.
func CeilDiv(a, b Expr, f Facts) Expr { return FloorDiv(Add(a, b, Const(-1)), b, f) }

// divMod splits a into q*b + r exactly where it can: multiples of b leave the
// division, and what is left needs none when its bounds lie in [0, b).
func divMod(a, b Expr, f Facts) (q, r Expr) {
	d, isConst := b.Const()
	if a.bad || b.bad || isConst && d <= 0 {
		return Expr{bad: true}, Expr{bad: true}
	}
	if b.Is(1) {
		return a, Const(0)
	}
	if a.Equal(b) {
		return Const(1), Const(0)
	}
	outside, rest := extract(a, b)
	lo, hi := rest.Bounds(f)
	if isConst {
		if lo >= 0 && hi < d {
			return outside, rest
		}
		if lo != -boundInf && hi != boundInf && floorInt(lo, d) == floorInt(hi, d) {
			k := floorInt(lo, d)
			return Add(outside, Const(k)), Sub(rest, Scale(Const(k), d))
		}
		if g, inner, left := divided(rest, d, f); g > 1 {
			q, r := divMod(inner, Const(d/g), f)
			return Add(outside, q), Add(Scale(r, g), left)
		}
		rest, q = unnest(rest, d, f)
		return Add(outside, q), makeAtom(AtomMod, rest, b)
	}
	if c, ok := rest.Const(); ok && c == 0 {
		return outside, rest
	}
	return Add(outside, makeAtom(AtomDiv, rest, b)), makeAtom(AtomMod, rest, b)
}

// Undivided is q*b + r, where r is a%b and q has a//b in it without these.
func Undivided(q, r, b Expr) Expr {
	whole := Add(Mul(q, b), r)
	if len(r.terms) != 1 || r.c != 0 || r.terms[0].coef != 1 || len(r.terms[0].atoms) != 1 {
		return whole
	}
	at := r.terms[0].atoms[0]
	if at.Kind != AtomMod || !at.B.Equal(b) {
		return whole
	}
	if rest := Sub(q, FloorDiv(at.A, b, nil)); rest.length() < q.length() {
		return Add(Mul(rest, b), at.A)
	}
	return whole
}

// extract moves the multiples of b out of a: a = outside*b + rest.
func extract(a, b Expr) (outside, rest Expr) {
	d, isConst := b.Const()
	if !isConst {
		return extractSymbolic(a, b)
	}
	outside.c = floorInt(a.c, d)
	rest.c = a.c - outside.c*d
	for _, t := range a.terms {
		if t.coef%d == 0 {
			outside.terms = append(outside.terms, term{t.coef / d, t.atoms, t.key})
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	return outside, rest
}

// extractSymbolic does the same for a divisor that is a single product.
func extractSymbolic(a, b Expr) (outside, rest Expr) {
	if len(b.terms) != 1 || b.c != 0 {
		return Const(0), a
	}
	var out, in []Expr
	for _, t := range a.terms {
		if e, ok := divideTerm(t, b.terms[0]); ok {
			out = append(out, e)
		} else {
			in = append(in, Expr{terms: []term{t}})
		}
	}
	return Add(out...), Add(append(in, Const(a.c))...)
}

func divideTerm(t, b term) (Expr, bool) {
	if t.coef%b.coef != 0 {
		return Expr{}, false
	}
	left := append([]*Atom{}, t.atoms...)
	for _, x := range b.atoms {
		at := -1
		for i, y := range left {
			if y.key == x.key {
				at = i
				break
			}
		}
		if at < 0 {
			return Expr{}, false
		}
		left = append(left[:at], left[at+1:]...)
	}
	e := Const(t.coef / b.coef)
	for _, x := range left {
		e = Mul(e, fromAtom(x))
	}
	return e, true
}

// divided splits e into g*inner + left for the largest divisor g of d such that left lies in [0, g): left cannot
// change a floor then. g is 1 where there is none.
func divided(e Expr, d int64, f Facts) (g int64, inner, left Expr) {
	var tried []int64
	all := d
	for _, t := range e.terms {
		all = GCD(all, t.coef)
		tried = append(tried, GCD(d, t.coef))
	}
	tried = append(tried, all)
	slices.Sort(tried)
	tried = slices.Compact(tried)
	for _, g := range slices.Backward(tried) {
		if g == 1 {
			break
		}
		inner, left := extract(e, Const(g))
		if lo, hi := left.Bounds(f); lo >= 0 && hi < g {
			return g, inner, left
		}
	}
	return 1, e, Const(0)
}

// unnest makes (x//a + c)//d into (x + c*a)//(a*d) and otherwise builds the division.
func unnest(e Expr, d int64, f Facts) (rest, q Expr) {
	if len(e.terms) == 1 && e.terms[0].coef == 1 && len(e.terms[0].atoms) == 1 {
		at := e.terms[0].atoms[0]
		if a, ok := at.B.Const(); ok && at.Kind == AtomDiv {
			var bad bool
			ad, ca := mulInt(a, d, &bad), mulInt(e.c, a, &bad)
			if num := Add(at.A, Const(ca)); !bad && !num.bad {
				return e, FloorDiv(num, Const(ad), f)
			}
		}
	}
	return e, makeAtom(AtomDiv, e, Const(d))
}

// Min is the smaller of a and b.
func Min(a, b Expr, f Facts) Expr {
	switch d := Sub(a, b); {
	case d.bad:
		return d
	case AtMost(d, 0, f):
		return a
	case AtLeast(d, 0, f):
		return b
	}
	return makeAtom(AtomMin, a, b)
}

// Max is the greater of a and b.
func Max(a, b Expr, f Facts) Expr {
	switch d := Sub(a, b); {
	case d.bad:
		return d
	case AtMost(d, 0, f):
		return b
	case AtLeast(d, 0, f):
		return a
	}
	return makeAtom(AtomMax, a, b)
}

// Below is 1 where e < 0, else 0: a condition as a number.
func Below(e Expr, f Facts) Expr {
	return Min(Const(1), Max(Const(0), Scale(e, -1), f), f)
}

// AtMost reports whether e <= c is certain.
func AtMost(e Expr, c int64, f Facts) bool {
	if _, hi := e.Bounds(f); hi <= c && hi != boundInf {
		return true
	}
	return nonPositive(Sub(e, Const(c)), f, depthFor(len(e.terms)))
}

// AtLeast reports whether e >= c is certain.
func AtLeast(e Expr, c int64, f Facts) bool {
	if lo, _ := e.Bounds(f); lo >= c && lo != -boundInf {
		return true
	}
	return nonPositive(Sub(Const(c), e), f, depthFor(len(e.terms)))
}

// GCD is the greatest common divisor, at least 0.
func GCD(a, b int64) int64 {
	if a < 0 {
		a = -a
	}
	if b < 0 {
		b = -b
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func floorInt(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// Coefficient is c where e is rest + c*v and neither mentions v; false where e is not linear in v.
func Coefficient(e Expr, v string, f Facts) (Expr, bool) {
	if !e.Uses(v) {
		return Const(0), true
	}
	if c, ok := e.plainCoefficient(v); ok {
		return c, true
	}
	base := e.Subst(map[string]Expr{v: Const(0)}, f)
	c := Sub(e.Subst(map[string]Expr{v: Const(1)}, f), base)
	return c, Add(base, Mul(c, Var(v))).Equal(e)
}

// plainCoefficient is the coefficient of v where all atoms are variables and none stands with v twice.
func (e Expr) plainCoefficient(v string) (Expr, bool) {
	var parts []Expr
	for _, t := range e.terms {
		found := -1
		for i, a := range t.atoms {
			if a.Kind != AtomVar || a.Name == v && found >= 0 {
				return Expr{}, false
			}
			if a.Name == v {
				found = i
			}
		}
		if found < 0 {
			continue
		}
		rest := Const(t.coef)
		for i, a := range t.atoms {
			if i != found {
				rest = Mul(rest, fromAtom(a))
			}
		}
		parts = append(parts, rest)
	}
	return Add(parts...), !e.bad
}
