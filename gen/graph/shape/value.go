package shape

import (
	"math"

	"rules_dnn/gen/ir/sym"
)

// value is what is known of one element: nothing, or that it is num/den exactly
// (den is 1 for integers and bools), or that it is the float real.
//
// Fractions let shapes pass through floats, as exporters of Resize make them:
// int64(floor(float(H) * 0.5)). A symbolic fraction ignores that a float rounds,
// which dimensions below 2^24 do not see.
type value struct {
	state state
	num   sym.Expr
	den   int64
	real  float64
	// within is what is known of an element that is not.
	within limits
}

type state uint8

const (
	unknown state = iota
	exact
	real
)

// maxDen bounds denominators, so that fractions stay exact in a float.
const maxDen = 1 << 12

func integer(e sym.Expr) value {
	if e.Overflow() {
		return value{}
	}
	return value{state: exact, num: e, den: 1}
}

func number(c int64) value { return integer(sym.Const(c)) }

func truth(b bool) value {
	if b {
		return number(1)
	}
	return number(0)
}

// float is a float constant, exact if it is a fraction with a small denominator.
func float(f float64) value {
	for den := int64(1); den <= maxDen; den *= 2 {
		if p := f * float64(den); p == math.Trunc(p) && math.Abs(p) < 1<<53 {
			return value{state: exact, num: sym.Const(int64(p)), den: den}
		}
	}
	return value{state: real, real: f}
}

// ratio is n/d, reduced where d divides n.
func ratio(n sym.Expr, d int64, f sym.Facts) value {
	if d == 0 || n.Overflow() {
		return value{}
	}
	if d < 0 {
		n, d = sym.Scale(n, -1), -d
	}
	g := d
	terms, c := n.Terms()
	g = sym.GCD(g, c)
	for _, t := range terms {
		g = sym.GCD(g, t.Coef)
	}
	if g > 1 {
		n, d = sym.FloorDiv(n, sym.Const(g), f), d/g
	}
	if d > maxDen || n.Overflow() {
		return value{}
	}
	return value{state: exact, num: n, den: d}
}

// whole is the value as an integer expression.
func (v value) whole() (sym.Expr, bool) { return v.num, v.state == exact && v.den == 1 }

// constant is the value as an integer.
func (v value) constant() (int64, bool) {
	if v.state != exact || v.den != 1 {
		return 0, false
	}
	return v.num.Const()
}

// float64 is the value of a constant as a float.
func (v value) float64() (float64, bool) {
	if v.state == real {
		return v.real, true
	}
	c, ok := v.num.Const()
	if v.state != exact || !ok {
		return 0, false
	}
	return float64(c) / float64(v.den), true
}

func (v value) equal(o value) bool {
	if v.state != o.state {
		return false
	}
	if v.state == real {
		return v.real == o.real
	}
	return v.state == exact && v.den == o.den && v.num.Equal(o.num)
}
