package scalar

import "math"

// The float64 functions of the table. Beyond outside, e^x is infinite or 0; below tiny, odd functions
// that begin with x, and no square, are x; below least, those that begin with x are.
const (
	outside = 750
	tiny    = 0x1p-28
	least   = 0x1p-60
)

var nan64 = math.NaN()

func special(x float64) bool { return x != x || math.IsInf(x, 0) }

func exp64(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > outside:
		return math.Inf(1)
	case x < -outside:
		return 0
	}
	return wideOf(x).exp().nearest()
}

func expm164(x float64) float64 {
	switch {
	case x != x || math.Abs(x) < least:
		return x
	case x > outside:
		return math.Inf(1)
	case x < -outside:
		return -1
	}
	return wideOf(x).exp().minus(wideInt(1)).nearest()
}

func log64(x float64) float64 {
	switch {
	case x < 0:
		return nan64
	case x == 0:
		return math.Inf(-1)
	case special(x):
		return x
	}
	return wideOf(x).log().nearest()
}

func log1p64(x float64) float64 {
	switch {
	case x < -1:
		return nan64
	case x == -1:
		return math.Inf(-1)
	case special(x) || math.Abs(x) < least:
		return x
	}
	return wideOf(x).plus(wideInt(1)).log().nearest()
}

// erf64 sums 2/sqrt(pi) e^(-x^2) (x + x (2x^2)/3 + x (2x^2)^2/(3*5) + ...).
func erf64(x float64) float64 {
	switch {
	case x != x || x == 0:
		return x
	case math.Abs(x) > 6:
		return math.Copysign(1, x)
	}
	w := wideOf(x)
	square := w.times(w)
	sum := series(w, func(term wide, k int64) wide { return term.times(square.shifted(1)).over(wideInt(2*k + 1)) })
	return sum.shifted(1).times(square.neg().exp()).over(pi().sqrt()).nearest()
}

func sin64(x float64) float64 {
	switch {
	case special(x):
		return nan64
	case math.Abs(x) < tiny:
		return x
	}
	return turned(quarters(x)).nearest()
}

func cos64(x float64) float64 {
	if special(x) {
		return nan64
	}
	n, r := quarters(x)
	return turned(n+1, r).nearest()
}

// turned is the sine of n quarter turns and a rest.
func turned(n uint, r wide) wide {
	s := r.sin
	if n&1 != 0 {
		s = r.cos
	}
	if n&2 != 0 {
		return s().neg()
	}
	return s()
}

func tan64(x float64) float64 {
	switch {
	case special(x):
		return nan64
	case math.Abs(x) < tiny:
		return x
	}
	n, r := quarters(x)
	return turned(n, r).over(turned(n+1, r)).nearest()
}

func asin64(x float64) float64 {
	switch w, one := math.Abs(x), wideInt(1); {
	case x != x || w > 1:
		return nan64
	case w < tiny:
		return x
	case w == 1:
		return math.Copysign(pi().shifted(-1).nearest(), x)
	default:
		w := wideOf(x)
		return w.over(one.minus(w).times(one.plus(w)).sqrt()).atan().nearest()
	}
}

func acos64(x float64) float64 {
	switch {
	case x != x || math.Abs(x) > 1:
		return nan64
	case x == -1:
		return pi().nearest()
	}
	w, one := wideOf(x), wideInt(1)
	return one.minus(w).over(one.plus(w)).sqrt().atan().shifted(1).nearest()
}

func atan64(x float64) float64 {
	switch {
	case x != x || math.Abs(x) < tiny:
		return x
	case math.IsInf(x, 0):
		return math.Copysign(pi().shifted(-1).nearest(), x)
	}
	return wideOf(x).atan().nearest()
}

func sinh64(x float64) float64 {
	switch {
	case special(x) || math.Abs(x) < tiny:
		return x
	case math.Abs(x) > outside:
		return math.Copysign(math.Inf(1), x)
	}
	e := wideOf(x).exp()
	return e.minus(wideInt(1).over(e)).shifted(-1).nearest()
}

func cosh64(x float64) float64 {
	switch {
	case x != x:
		return x
	case math.Abs(x) > outside:
		return math.Inf(1)
	}
	e := wideOf(x).exp()
	return e.plus(wideInt(1).over(e)).shifted(-1).nearest()
}

func tanh64(x float64) float64 {
	switch {
	case x != x || math.Abs(x) < tiny:
		return x
	case math.Abs(x) > 40:
		return math.Copysign(1, x)
	}
	e, one := wideOf(x).shifted(1).exp(), wideInt(1)
	return e.minus(one).over(e.plus(one)).nearest()
}

func asinh64(x float64) float64 {
	if special(x) || math.Abs(x) < tiny {
		return x
	}
	w := wideOf(math.Abs(x))
	return math.Copysign(w.plus(w.times(w).plus(wideInt(1)).sqrt()).log().nearest(), x)
}

func acosh64(x float64) float64 {
	switch {
	case x < 1:
		return nan64
	case special(x):
		return x
	}
	w, one := wideOf(x), wideInt(1)
	return w.plus(w.minus(one).times(w.plus(one)).sqrt()).log().nearest()
}

func atanh64(x float64) float64 {
	switch w := math.Abs(x); {
	case x != x || w > 1:
		return nan64
	case w < tiny:
		return x
	case w == 1:
		return math.Copysign(math.Inf(1), x)
	}
	w, one := wideOf(x), wideInt(1)
	return one.plus(w).over(one.minus(w)).log().shifted(-1).nearest()
}

func pow64(x, y float64) float64 {
	whole := math.Floor(y) == y
	odd := whole && math.Abs(y) < 0x1p53 && int64(y)&1 != 0
	a := math.Abs(x)
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return nan64
	case x < 0 && !whole && !math.IsInf(x, 0):
		return nan64
	}
	r := 0.0
	switch {
	case a == 1:
		r = 1
	case a == 0 || math.IsInf(a, 0) || math.IsInf(y, 0):
		if (a > 1) == (y > 0) {
			r = math.Inf(1)
		}
	default:
		r = powWide(a, y)
	}
	if odd {
		return math.Copysign(r, x)
	}
	return r
}

// powWide is e^(y log a), for a finite y and a positive a.
func powWide(a, y float64) float64 {
	t := wideOf(a).log().times(wideOf(y))
	switch n := t.nearest(); {
	case n > outside:
		return math.Inf(1)
	case n < -outside:
		return 0
	}
	return t.exp().nearest()
}
