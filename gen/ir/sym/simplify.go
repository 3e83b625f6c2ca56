package sym

import "slices"

// Range is what is known of a variable: inclusive bounds.
type Range struct{ Lo, Hi int64 }

// Facts tell the ranges of variables; a variable without an entry is any
// non-negative number up to MaxDim (variables stand for dimensions and loop counters).
type Facts map[string]Range

// FloorDiv is floor(a / b) for b > 0.
func FloorDiv(a, b Expr, f Facts) Expr { return divide(AtomDiv, a, b, f) }

// Mod is a - b*floor(a/b) for b > 0.
func Mod(a, b Expr, f Facts) Expr { return divide(AtomMod, a, b, f) }

// CeilDiv is ceil(a / b) for b > 0.
func CeilDiv(a, b Expr, f Facts) Expr { return FloorDiv(Add(a, b, Const(-1)), b, f) }

// divide is the quotient or the remainder of a and b: a is q*b + r, split exactly where it can be. Multiples of b leave the
// division, and what is left needs none when its bounds lie in [0, b).
func divide(k AtomKind, a, b Expr, f Facts) Expr {
	of := func(q, r Expr) Expr {
		if k == AtomDiv {
			return q
		}
		return r
	}
	d, isConst := b.Const()
	if a.bad || b.bad || isConst && d <= 0 {
		return Expr{bad: true}
	}
	if b.Is(1) {
		return of(a, Const(0))
	}
	if a.Equal(b) {
		return of(Const(1), Const(0))
	}
	outside, rest := extract(a, b)
	if !isConst {
		if rest.Is(0) {
			return of(outside, rest)
		}
		x := makeAtom(k, rest, b)
		return of(Add(outside, x), x)
	}
	lo, hi := rest.Bounds(f)
	if lo >= 0 && hi < d {
		return of(outside, rest)
	}
	if n := FloorInt(lo, d); lo != -boundInf && hi != boundInf && n == FloorInt(hi, d) {
		return of(Add(outside, Const(n)), Sub(rest, Scale(Const(n), d)))
	}
	if g, inner, left := divided(rest, d, f); g > 1 {
		x := divide(k, inner, Const(d/g), f)
		return of(Add(outside, x), Add(Scale(x, g), left))
	}
	if k == AtomMod {
		return makeAtom(k, rest, b)
	}
	return Add(outside, unnest(rest, d, f))
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
	outside.c = FloorInt(a.c, d)
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
func unnest(e Expr, d int64, f Facts) Expr {
	if len(e.terms) == 1 && e.terms[0].coef == 1 && len(e.terms[0].atoms) == 1 {
		at := e.terms[0].atoms[0]
		if a, ok := at.B.Const(); ok && at.Kind == AtomDiv {
			var bad bool
			ad, ca := mulInt(a, d, &bad), mulInt(e.c, a, &bad)
			if num := Add(at.A, Const(ca)); !bad && !num.bad {
				return FloorDiv(num, Const(ad), f)
			}
		}
	}
	return makeAtom(AtomDiv, e, Const(d))
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

// FloorInt is a/b rounded down, of a divisor other than 0.
func FloorInt(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// CeilInt is a/b rounded up, of a divisor other than 0.
func CeilInt(a, b int64) int64 { return -FloorInt(-a, b) }

// Coefficient is c where e is rest + c*v and neither mentions v; false where e is not linear in v, or not simplified as the facts allow.
func Coefficient(e Expr, v string, f Facts) (Expr, bool) {
	c, linear, plain := e.coefficient(v)
	switch {
	case !linear:
		return Expr{}, false
	case plain:
		return c, true
	}
	rest := e.Subst(map[string]Expr{v: Const(0)}, f)
	return c, c.Subst(nil, f).Equal(c) && Add(rest, Mul(c, Var(v))).Equal(e)
}

// Step is how much e grows where v goes from 0 to 1: its coefficient, if e is linear in v.
func Step(e Expr, v string, f Facts) Expr {
	if c, linear := Coefficient(e, v, f); linear {
		return c
	}
	return Sub(e.Subst(map[string]Expr{v: Const(1)}, f), e.Subst(map[string]Expr{v: Const(0)}, f))
}

// coefficient is that of v where e is linear in it: v stands in no other atom, and in no term twice. Of a plain expression facts say nothing: all of its
// atoms are variables, or v is none of them.
func (e Expr) coefficient(v string) (c Expr, linear, plain bool) {
	var parts []Expr
	plain = true
	for _, t := range e.terms {
		found := -1
		for i, a := range t.atoms {
			switch {
			case a.Kind != AtomVar:
				plain = false
				if a.A.Uses(v) || a.B.Uses(v) {
					return Expr{}, false, false
				}
			case a.Name == v && found >= 0:
				return Expr{}, false, false
			case a.Name == v:
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
	return Add(parts...), true, plain || parts == nil
}
