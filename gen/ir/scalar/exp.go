package scalar

import "math"

// Constants of the functions below and of dnn_math.h. Polynomials are minimax
// fits of relative error, coefficients rounded to float32, lowest power first.
const (
	log2E   = 0x1.715476p+0
	ln2Hi   = 0x1.62e4p-1 // 15 bits: a product with an exponent is exact
	ln2Lo   = 0x1.7f7d1cp-20
	magic23 = 0x1.8p23 // added to a small float: its integer, in the low bits
)

// magicBits are those of magic23.
const magicBits = 0x4b400000

// expPoly is (e^r - 1 - r) / r^2 for |r| <= ln2/2.
func expPoly(r float32) float32 {
	q := float32(0x1.6bebep-10)
	q = madd(q, r, 0x1.122886p-7)
	q = madd(q, r, 0x1.555676p-5)
	q = madd(q, r, 0x1.5554aep-3)
	return madd(q, r, 0x1.fffffep-2)
}

// expReduce splits x = n*ln2 + r; n is two's complement.
func expReduce(x float32) (n uint32, r float32) {
	k := madd(x, log2E, magic23)
	n = math.Float32bits(k) - magicBits
	k -= magic23
	r = madd(k, -ln2Hi, x)
	return n, madd(k, -ln2Lo, r)
}

// scale is p * 2^n, by two factors, so that denormal results round once.
func scale(p float32, n uint32) float32 {
	half := (n + 512) >> 1
	a := math.Float32frombits((half - 129) << 23)
	b := math.Float32frombits((n + 512 - half - 129) << 23)
	return float32(float32(p*a) * b)
}

func clamp(x, lo, hi float32) float32 {
	if x > hi {
		x = hi
	}
	if x < lo {
		x = lo
	}
	return x
}

// expScaled is e^x * 2^k, k in two's complement.
func expScaled(x float32, k uint32) float32 {
	x = clamp(x, -105, 90)
	n, r := expReduce(x)
	p := madd(madd(expPoly(r), r, 1), r, 1)
	return scale(p, n+k)
}

func exp32(x float32) float32 { return expScaled(x, 0) }

// logistic32 returns 1 / (1 + e^-x), as h / (h + h * e^-x) with h = 2^-24: no power of 2 overflows.
func logistic32(x float32) float32 {
	const biased, h = magic23 + 103, 0x1p-24
	x = clamp(x, -105, 70)
	sum := madd(x, -log2E, biased)
	s := math.Float32frombits(math.Float32bits(sum) << 23) // h * 2^n
	k := sum - biased
	r := madd(k, ln2Lo, madd(k, ln2Hi, x)) // e^-x = 2^n * e^-r
	z := float32(r * r)
	high := madd(z, 0x1.6bebep-10, madd(r, -0x1.122886p-7, 0x1.555676p-5))
	low := madd(r, -0x1.5554aep-3, 0x1.fffffep-2)
	q := r - float32(z*madd(z, high, low)) // 1 - e^-r
	return h / ((s + h) - float32(s*q))
}

func logistic64(x float64) float64 { return 1 / (1 + exp64(-x)) }

// expApart splits e^x = s + s*p for |x| < 32, where ln2 is one number.
func expApart(x float32) (s, p float32) {
	k := madd(x, log2E, magic23)
	s = math.Float32frombits(math.Float32bits(k)<<23 + 0x3f800000)
	k -= magic23
	r := madd(k, -ln2, x)
	return s, madd(float32(r*expPoly(r)), r, r)
}

func expm1(x float32) float32 {
	if abs32(x) < 0x1p-25 {
		return x
	}
	x = clamp(x, -20, 89)
	n, r := expReduce(x)
	p := madd(float32(r*r), expPoly(r), r)
	s := math.Float32frombits((n + 126) << 23) // 2^(n-1): 2^n may overflow
	return 2 * madd(s, p, s-0.5)
}

func tanh32(x float32) float32 {
	a := abs32(x)
	if a < 0.625 {
		z := float32(a * a)
		p := float32(-0x1.75e1ccp-8)
		p = madd(p, z, 0x1.52269ap-6)
		p = madd(p, z, -0x1.b83c5ap-5)
		p = madd(p, z, 0x1.110726p-3)
		p = madd(p, z, -0x1.555532p-2)
		return withSign(madd(float32(a*z), p, a), x)
	}
	s, p := expApart(2 * min(a, 10))
	return withSign(1-2/madd(s, p, s+1), x)
}

func sinh32(x float32) float32 {
	a := abs32(x)
	if a < 1 {
		z := float32(a * a)
		p := float32(0x1.7a15b4p-19)
		p = madd(p, z, 0x1.9ffe92p-13)
		p = madd(p, z, 0x1.111134p-7)
		p = madd(p, z, 0x1.555556p-3)
		return withSign(madd(float32(a*z), p, a), x)
	}
	e := expScaled(a, ^uint32(0)) // e^a / 2
	return withSign(e-0.25/e, x)
}

func cosh32(x float32) float32 {
	e := expScaled(abs32(x), ^uint32(0))
	return e + 0.25/e
}

// erf32 is 1 - erfc(a), and ln(erfc(a)) is a polynomial times a: of 8*a, as a part of it alone may be
// denormal. From 3.95 on, erf rounds to 1.
func erf32(x float32) float32 {
	a := min(abs32(x), 3.95)
	q := float32(0x1.3b0c50p-17)
	q = madd(q, a, -0x1.f292d2p-14)
	q = madd(q, a, 0x1.4e2c0ap-11)
	q = madd(q, a, -0x1.b7462cp-10)
	q = madd(q, a, 0x1.637faap-13)
	q = madd(q, a, 0x1.39b7c8p-6)
	q = madd(q, a, -0x1.a4f8c4p-4)
	q = madd(q, a, -0x1.45f2fep-1)
	q = madd(q, a, -0x1.06eba8p-3)
	larger := float32(8 * a)
	s, p := expApart(0.125 * madd(q, larger, -larger))
	return withSign(madd(-s, p, 1-s), x)
}
