package scalar

import (
	"math/big"
	"sync"
)

// Float64 functions are computed with many more digits than they give, and so are correctly rounded, but
// for the rarest cases, and the same on every build host: package math's are other code on each, or
// the same code with other products fused. They are slow; constants and tests are what needs them.

// wideBits is the precision of intermediate results: what cancels is a small part of it.
const wideBits = 192

// wide is a finite number of wideBits bits.
type wide struct{ f *big.Float }

func blank() *big.Float { return new(big.Float).SetPrec(wideBits) }

func wideOf(x float64) wide      { return wide{blank().SetFloat64(x)} }
func wideInt(n int64) wide       { return wide{blank().SetInt64(n)} }
func (a wide) neg() wide         { return wide{blank().Neg(a.f)} }
func (a wide) sqrt() wide        { return wide{blank().Sqrt(a.f)} }
func (a wide) plus(b wide) wide  { return wide{blank().Add(a.f, b.f)} }
func (a wide) minus(b wide) wide { return wide{blank().Sub(a.f, b.f)} }
func (a wide) times(b wide) wide { return wide{blank().Mul(a.f, b.f)} }
func (a wide) over(b wide) wide  { return wide{blank().Quo(a.f, b.f)} }

// shifted is a * 2^n.
func (a wide) shifted(n int) wide { return wide{blank().SetMantExp(a.f, n)} }

// nearest is a as a float64: infinite, or with fewer digits, where it must be.
func (a wide) nearest() float64 {
	x, _ := a.f.Float64()
	return x
}

// series is the sum of first and what next makes of each term, from term 1 on, until it counts no more.
func series(first wide, next func(term wide, k int64) wide) wide {
	sum, term := first, first
	for k := int64(1); ; k++ {
		term = next(term, k)
		if term.f.Sign() == 0 || term.f.MantExp(nil) < sum.f.MantExp(nil)-wideBits {
			return sum
		}
		sum = sum.plus(term)
	}
}

// oddPowers is the sum of sign^k * s^(2k+1) / (2k+1): the inverse tangent of a small s, or the hyperbolic one.
func oddPowers(s wide, sign int64) wide {
	square, power, sum := s.times(s).times(wideInt(sign)), s, s
	for k := int64(3); ; k += 2 {
		power = power.times(square)
		term := power.over(wideInt(k))
		if term.f.Sign() == 0 || term.f.MantExp(nil) < sum.f.MantExp(nil)-wideBits {
			return sum
		}
		sum = sum.plus(term)
	}
}

var wideLn2 = sync.OnceValue(func() wide { return oddPowers(wideInt(1).over(wideInt(3)), 1).shifted(1) })

// log is the logarithm of a positive number.
func (a wide) log() wide {
	m := wide{blank()}
	e := a.f.MantExp(m.f) // m is from 1/2 to 1
	if m.nearest() < 0.7 {
		m, e = m.shifted(1), e-1
	}
	one := wideInt(1)
	l := oddPowers(m.minus(one).over(m.plus(one)), 1).shifted(1)
	return l.plus(wideInt(int64(e)).times(wideLn2()))
}

// exp is e^a, for a of at most some thousands.
func (a wide) exp() wide {
	const squarings = 8
	n, _ := a.over(wideLn2()).f.Int64()
	r := a.minus(wideInt(n).times(wideLn2())).shifted(-squarings)
	e := series(wideInt(1), func(term wide, k int64) wide { return term.times(r).over(wideInt(k)) })
	for range squarings {
		e = e.times(e)
	}
	return e.shifted(int(n))
}

// sin and cos are those of a small number.
func (a wide) sin() wide {
	square := a.times(a).neg()
	return series(a, func(term wide, k int64) wide { return term.times(square).over(wideInt(2 * k * (2*k + 1))) })
}

func (a wide) cos() wide {
	square := a.times(a).neg()
	return series(wideInt(1), func(term wide, k int64) wide { return term.times(square).over(wideInt(2 * k * (2*k - 1))) })
}

// atan halves the angle until the series is short.
func (a wide) atan() wide {
	one := wideInt(1)
	if a.f.MantExp(nil) > 1 { // it is 2 or more, or -2 or less
		if a.f.Sign() < 0 {
			return one.over(a).atan().plus(pi().shifted(-1)).neg()
		}
		return pi().shifted(-1).minus(one.over(a).atan())
	}
	const halvings = 3
	for range halvings {
		a = a.over(one.plus(one.plus(a.times(a)).sqrt()))
	}
	return oddPowers(a, -1).shifted(halvings)
}

// piBits is enough for the remainder of the largest float64 by pi.
const piBits = 1024 + 2*wideBits

// longPi is Machin's formula: 16 atan(1/5) - 4 atan(1/239).
var longPi = sync.OnceValue(func() *big.Float {
	atan := func(n int64) *big.Int { // of 1/n, times 2^piBits
		power := new(big.Int).Lsh(big.NewInt(1), piBits)
		power.Quo(power, big.NewInt(n))
		sum, square := new(big.Int).Set(power), big.NewInt(-n*n)
		for k := int64(3); power.Sign() != 0; k += 2 {
			power.Quo(power, square)
			sum.Add(sum, new(big.Int).Quo(power, big.NewInt(k)))
		}
		return sum
	}
	a, b := atan(5), atan(239)
	a.Sub(a.Lsh(a, 4), b.Lsh(b, 2))
	f := new(big.Float).SetPrec(piBits).SetInt(a)
	return f.SetMantExp(f, -piBits)
})

func pi() wide { return wide{blank().Set(longPi())} }

// quarters splits a finite x into a number of quarter turns, of which the last two bits are given,
// and a rest of at most about an eighth of a turn.
func quarters(x float64) (n uint, rest wide) {
	quarter := new(big.Float).SetMantExp(longPi(), -1)
	turns := new(big.Float).SetPrec(piBits).SetFloat64(x)
	turns.Quo(turns, quarter)
	half := 0.5
	if x < 0 {
		half = -half
	}
	whole, _ := new(big.Float).SetPrec(piBits).Add(turns, big.NewFloat(half)).Int(nil)
	r := new(big.Float).SetPrec(piBits).SetInt(whole)
	r.Mul(r, quarter)
	r.Sub(new(big.Float).SetPrec(piBits).SetFloat64(x), r)
	return uint(new(big.Int).And(whole, big.NewInt(3)).Int64()), wide{blank().Set(r)}
}
