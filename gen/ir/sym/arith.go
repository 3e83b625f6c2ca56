package sym

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"rules_dnn/gen/base/limit"
)

// fewTerms is how many summands are merged one by one; more are sorted.
const fewTerms = 4

// Add is a + b + ...
func Add(xs ...Expr) Expr {
	var out Expr
	for _, x := range xs {
		out.bad = out.bad || x.bad
		out.c = addInt(out.c, x.c, &out.bad)
	}
	if len(xs) <= fewTerms {
		for _, x := range xs {
			out.terms = merged(out.terms, x.terms, &out.bad)
		}
	} else {
		out.terms = collected(xs, &out.bad)
	}
	return out.tidy()
}

// merged are the terms of a sum of two expressions, sorted as theirs are; coefficients may be zero.
func merged(a, b []term, bad *bool) []term {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]term, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key == b[0].key:
			t := a[0]
			t.coef = addInt(t.coef, b[0].coef, bad)
			out, a, b = append(out, t), a[1:], b[1:]
		case a[0].key < b[0].key:
			out, a = append(out, a[0]), a[1:]
		default:
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// collected are the terms of a sum of many expressions.
func collected(xs []Expr, bad *bool) []term {
	var out []term
	m := map[string]int{}
	for _, x := range xs {
		for _, t := range x.terms {
			if i, ok := m[t.key]; ok {
				out[i].coef = addInt(out[i].coef, t.coef, bad)
				continue
			}
			m[t.key] = len(out)
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b term) int { return strings.Compare(a.key, b.key) })
	return out
}

// tidy drops terms of coefficient zero, and all of an expression of which nothing is known. The
// terms may be another expression's.
func (e Expr) tidy() Expr {
	zeros, length := 0, 0
	for _, t := range e.terms {
		if t.coef == 0 {
			zeros++
			continue
		}
		length += len(t.key)
		e.bad = e.bad || t.coef == math.MinInt64 // it has no negative to print or subtract
	}
	if e.bad || length > limit.Expression {
		return Expr{bad: true}
	}
	if zeros > 0 {
		keep := make([]term, 0, len(e.terms)-zeros)
		for _, t := range e.terms {
			if t.coef != 0 {
				keep = append(keep, t)
			}
		}
		e.terms = keep
	}
	return e
}

// Sub is a - b.
func Sub(a, b Expr) Expr {
	out := Expr{bad: a.bad || b.bad}
	out.c = subInt(a.c, b.c, &out.bad)
	b.c = 0 // the least integer has no negative
	out.terms = merged(a.terms, Scale(b, -1).terms, &out.bad)
	return out.tidy()
}

// Scale is k * a.
func Scale(a Expr, k int64) Expr {
	switch {
	case a.bad || 2*(len(a.terms)+1) > limit.Terms:
		return Expr{bad: true}
	case k == 0:
		return Expr{}
	case k == 1:
		return a
	}
	out := Expr{}
	out.c = mulInt(a.c, k, &out.bad)
	if len(a.terms) > 0 {
		out.terms = make([]term, len(a.terms))
	}
	for i, t := range a.terms {
		t.coef = mulInt(t.coef, k, &out.bad)
		out.terms[i] = t
	}
	if out.bad {
		return Expr{bad: true}
	}
	return out
}

// Mul is a * b.
func Mul(a, b Expr) Expr {
	switch {
	case a.bad || b.bad || (len(a.terms)+1)*(len(b.terms)+1) > limit.Terms:
		return Expr{bad: true}
	case len(a.terms) == 0:
		return Scale(b, a.c)
	case len(b.terms) == 0:
		return Scale(a, b.c)
	}
	bad := false
	full := func(e Expr) []term {
		if e.c == 0 {
			return e.terms
		}
		return append(slices.Clone(e.terms), term{coef: e.c})
	}
	var parts []Expr
	ys := full(b)
	for _, x := range full(a) {
		for _, y := range ys {
			coef := mulInt(x.coef, y.coef, &bad)
			if len(x.atoms)+len(y.atoms) == 0 {
				parts = append(parts, Const(coef))
				continue
			}
			parts = append(parts, Expr{terms: []term{product(x, y, coef)}})
		}
	}
	if bad {
		return Expr{bad: true}
	}
	return Add(parts...)
}

// product is the term of x's atoms and y's.
func product(x, y term, coef int64) term {
	switch {
	case len(y.atoms) == 0:
		return term{coef, x.atoms, x.key}
	case len(x.atoms) == 0:
		return term{coef, y.atoms, y.key}
	}
	atoms := append(slices.Clone(x.atoms), y.atoms...)
	slices.SortStableFunc(atoms, func(a, b *Atom) int { return strings.Compare(a.key, b.key) })
	keys := make([]string, len(atoms))
	for i, a := range atoms {
		keys[i] = a.key
	}
	return term{coef, atoms, strings.Join(keys, "*")}
}

func addInt(a, b int64, bad *bool) int64 {
	s := a + b
	if (a > 0 && b > 0 && s <= 0) || (a < 0 && b < 0 && s >= 0) {
		*bad = true
	}
	return s
}

func subInt(a, b int64, bad *bool) int64 {
	d := a - b
	if (a < 0) != (b < 0) && (d < 0) != (a < 0) {
		*bad = true
	}
	return d
}

func mulInt(a, b int64, bad *bool) int64 {
	hi, lo := bits.Mul64(absU(a), absU(b))
	if hi != 0 || lo > math.MaxInt64 {
		*bad = true
		return 0
	}
	if (a < 0) != (b < 0) {
		return -int64(lo)
	}
	return int64(lo)
}

func absU(a int64) uint64 {
	if a < 0 {
		return uint64(-(a + 1)) + 1
	}
	return uint64(a)
}
