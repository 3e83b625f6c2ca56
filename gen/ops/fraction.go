package ops

import (
	"fmt"
	"math"
	"math/big"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// frac is an exact quotient of dimensions and loop variables; den is above 0.
type frac struct{ num, den sym.Expr }

func (x frac) floor(f sym.Facts) sym.Expr { return sym.FloorDiv(x.num, x.den, f) }
func (x frac) ceil(f sym.Facts) sym.Expr  { return sym.CeilDiv(x.num, x.den, f) }

// plusHalf is x + n/2.
func (x frac) plusHalf(n int64) frac {
	return frac{sym.Add(sym.Scale(x.num, 2), sym.Scale(x.den, n)), sym.Scale(x.den, 2)}
}

// fraction is x - floor(x) as a number of type t.
func (x frac) fraction(t ir.DType, f sym.Facts) te.Expr {
	return quotient(t, sym.Mod(x.num, x.den, f), x.den)
}

// isOne tells that the quotient is 1.
func (x frac) isOne() bool { return x.num.Equal(x.den) }

// quotient is a / b as a number of type t.
func quotient(t ir.DType, a, b sym.Expr) te.Expr {
	d, ok := b.Const()
	switch n, whole := a.Const(); {
	case ok && whole:
		return te.Number(t, float64(n)/float64(d))
	case ok && d == 1:
		return count(t, a)
	case ok:
		return mul(count(t, a), te.Number(t, 1/float64(d)))
	}
	return div(count(t, a), count(t, b))
}

// float is the value of a literal of a floating-point type.
func float(e te.Expr) float64 { return math.Float64frombits(e.(te.Const).Bits) }

// Scales that are given as a float32 stand for the simplest fraction that rounds to
// them: 0.6 is 3/5, and coordinates in multiples of it are exact.
const minScale, maxScale = 1.0 / (1 << 12), 1 << 12

func scaleFraction(v float32) (frac, error) {
	if !(v >= minScale && v <= maxScale) {
		return frac{}, fmt.Errorf("a scale is %v; supported are numbers from %v to %v", v, minScale, maxScale)
	}
	mid := func(toward float32) *big.Rat {
		return new(big.Rat).SetFloat64((float64(v) + float64(math.Nextafter32(v, toward))) / 2)
	}
	r := simplest(mid(0), mid(2*maxScale))
	return frac{sym.Const(r.Num().Int64()), sym.Const(r.Denom().Int64())}, nil
}

// simplest is the fraction of the least denominator strictly between lo >= 0 and hi.
func simplest(lo, hi *big.Rat) *big.Rat {
	whole := new(big.Rat).SetInt(new(big.Int).Quo(lo.Num(), lo.Denom()))
	next := new(big.Rat).Add(whole, big.NewRat(1, 1))
	if next.Cmp(hi) < 0 {
		return next
	}
	above := new(big.Rat).Inv(new(big.Rat).Sub(hi, whole))
	rest := new(big.Rat).Sub(lo, whole)
	var r *big.Rat
	if rest.Sign() == 0 { // 1/r only has to be below hi - whole
		r = simplest(above, new(big.Rat).Add(above, big.NewRat(2, 1)))
	} else {
		r = simplest(above, rest.Inv(rest))
	}
	return r.Add(whole, r.Inv(r))
}
