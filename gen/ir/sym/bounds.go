package sym

import (
	"fmt"
	"math"

	"rules_dnn/gen/base/limit"
)

const boundInf = math.MaxInt64 // stands for no bound, either sign

// Bounds are inclusive bounds of e under the facts, by interval arithmetic;
// math.MaxInt64 and its negative mean that there is none.
func (e Expr) Bounds(f Facts) (lo, hi int64) {
	if e.bad {
		return -boundInf, boundInf
	}
	lo, hi = asBound(e.c), asBound(e.c)
	for _, t := range e.terms {
		l, h := t.atoms[0].bounds(f)
		if l > h {
			l, h = h, l
		}
		for _, a := range t.atoms[1:] {
			al, ah := a.bounds(f)
			l, h = mulBounds(l, h, al, ah)
		}
		if t.coef != 1 {
			l, h = mulBounds(l, h, t.coef, t.coef)
		}
		lo, hi = addLow(lo, l), addHigh(hi, h)
	}
	return lo, hi
}

func (a *Atom) bounds(f Facts) (int64, int64) {
	if a.Kind == AtomVar {
		if r, ok := f[a.Name]; ok {
			return asBound(r.Lo), asBound(r.Hi)
		}
		return 0, MaxDim
	}
	al, ah := a.A.Bounds(f)
	bl, bh := a.B.Bounds(f)
	switch a.Kind {
	case AtomMin:
		return min(al, bl), min(ah, bh)
	case AtomMax:
		return max(al, bl), max(ah, bh)
	case AtomMod:
		if al >= 0 {
			return 0, min(ah, addHigh(bh, -1))
		}
		return 0, addHigh(bh, -1)
	}
	if bl < 1 {
		bl = 1
	}
	return divBounds(al, ah, bl, bh)
}

func divBounds(al, ah, bl, bh int64) (int64, int64) {
	lo, hi := -int64(boundInf), int64(boundInf)
	if al != -boundInf {
		lo = min(FloorInt(al, bl), FloorInt(al, bh))
	}
	if ah != boundInf {
		hi = max(FloorInt(ah, bl), FloorInt(ah, bh))
	}
	return lo, hi
}

func mulBounds(al, ah, bl, bh int64) (int64, int64) {
	lo, hi := int64(boundInf), -int64(boundInf)
	for _, x := range [2]int64{al, ah} {
		for _, y := range [2]int64{bl, bh} {
			p := satMul(x, y)
			lo, hi = min(lo, p), max(hi, p)
		}
	}
	return lo, hi
}

// addLow and addHigh add lower and upper bounds. A sum beyond 64 bits becomes a bound that is
// true still: the greatest number for a lower one that is greater, none for one that is less.
func addLow(a, b int64) int64 {
	if a == -boundInf || b == -boundInf {
		return -boundInf
	}
	return clampedSum(a, b)
}

func addHigh(a, b int64) int64 {
	if a == boundInf || b == boundInf {
		return boundInf
	}
	return clampedSum(a, b)
}

func clampedSum(a, b int64) int64 {
	var bad bool
	switch s := addInt(a, b, &bad); {
	case !bad:
		return asBound(s)
	case a > 0:
		return boundInf
	}
	return -boundInf
}

// asBound is a number as a bound. The least of all lies below -boundInf and would pass for a bound where there is none.
func asBound(x int64) int64 { return max(x, -boundInf) }

func satMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	var bad bool
	if p := mulInt(a, b, &bad); !bad {
		return p
	}
	if (a > 0) == (b > 0) {
		return boundInf
	}
	return -boundInf
}

// Fits reports whether e is computed within 64 bits, step by step, whatever numbers within the facts its
// variables are. A product of variables, and a multiple of a dimension of which nothing is known, count as no more than
// a tensor's size: that a run's dimensions are not too large is checked when it starts.
func (e Expr) Fits(f Facts) bool {
	if e.bad {
		return false
	}
	var bad bool
	lo, hi := min(e.c, 0), max(e.c, 0) // of sums of any of the terms
	for _, t := range e.terms {
		l, h := t.coef, t.coef
		open := len(t.atoms) > 1
		for _, a := range t.atoms {
			if a.Kind != AtomVar && !(a.A.Fits(f) && a.B.Fits(f)) {
				return false
			}
			al, ah := a.bounds(f)
			open = open || ah >= MaxDim-1 || al <= 1-MaxDim
			l, h = mulBounds(l, h, min(al, 0), max(ah, 1))
		}
		if open {
			l, h = max(l, -limit.Tensor), min(h, limit.Tensor)
		}
		bad = bad || l <= -boundInf || h >= boundInf
		lo, hi = addInt(lo, min(l, 0), &bad), addInt(hi, max(h, 0), &bad)
	}
	return !bad
}

// Eval is the value of e where env gives the variables'.
func (e Expr) Eval(env map[string]int64) (int64, error) {
	if e.bad {
		return 0, fmt.Errorf("the expression overflows 64 bits or is too long")
	}
	sum := e.c
	var bad bool
	for _, t := range e.terms {
		p := t.coef
		for _, a := range t.atoms {
			v, err := a.eval(env)
			if err != nil {
				return 0, err
			}
			p = mulInt(p, v, &bad)
		}
		sum = addInt(sum, p, &bad)
	}
	if bad {
		return 0, fmt.Errorf("%s overflows 64 bits", e)
	}
	return sum, nil
}

func (a *Atom) eval(env map[string]int64) (int64, error) {
	if a.Kind == AtomVar {
		v, ok := env[a.Name]
		if !ok {
			return 0, fmt.Errorf("no value for symbol %q", a.Name)
		}
		return v, nil
	}
	x, err := a.A.Eval(env)
	if err != nil {
		return 0, err
	}
	y, err := a.B.Eval(env)
	if err != nil {
		return 0, err
	}
	switch a.Kind {
	case AtomMin:
		return min(x, y), nil
	case AtomMax:
		return max(x, y), nil
	}
	if y <= 0 {
		return 0, fmt.Errorf("%s divides by %d", a.key, y)
	}
	if a.Kind == AtomDiv {
		return FloorInt(x, y), nil
	}
	return x - y*FloorInt(x, y), nil
}

// Subst replaces variables by expressions and simplifies again under the facts.
func (e Expr) Subst(m map[string]Expr, f Facts) Expr {
	if e.bad || e.stays(m) {
		return e
	}
	parts := append(make([]Expr, 0, 1+len(e.terms)), Const(e.c))
	for _, t := range e.terms {
		p := Const(t.coef)
		for _, a := range t.atoms {
			p = Mul(p, a.subst(m, f))
		}
		parts = append(parts, p)
	}
	return Add(parts...)
}

// stays reports whether there is nothing to replace and to simplify.
func (e Expr) stays(m map[string]Expr) bool {
	for _, t := range e.terms {
		for _, a := range t.atoms {
			if a.Kind != AtomVar {
				return false
			}
			if _, ok := m[a.Name]; ok {
				return false
			}
		}
	}
	return true
}

func (a *Atom) subst(m map[string]Expr, f Facts) Expr {
	switch a.Kind {
	case AtomVar:
		if x, ok := m[a.Name]; ok {
			return x
		}
		return fromAtom(a)
	case AtomDiv:
		return FloorDiv(a.A.Subst(m, f), a.B.Subst(m, f), f)
	case AtomMod:
		return Mod(a.A.Subst(m, f), a.B.Subst(m, f), f)
	case AtomMin:
		return Min(a.A.Subst(m, f), a.B.Subst(m, f), f)
	}
	return Max(a.A.Subst(m, f), a.B.Subst(m, f), f)
}
