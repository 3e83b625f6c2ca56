package scalar

import "math"

// Half pi in parts of 14 bits, whose products with a quadrant below 2^10 are
// exact, and a tail.
const (
	pio2A   = 0x1.9218p+0
	pio2B   = 0x1.ed5p-14
	pio2C   = 0x1.10ap-30
	pio2D   = 0x1.4611a6p-42
	twoOfPi = 0x1.45f306p-1
	ln2     = 0x1.62e43p-1

	pio2Hi = 0x1.921fb6p+0
	pio2Lo = -0x1.777a5cp-25
)

// twoOverPi are the bits of 2/pi behind the point.
var twoOverPi = [...]uint32{0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561}

// quadrant splits a >= 0 into q quarter turns and r in [-pi/4, pi/4].
func quadrant(a float32) (q uint32, r float32) {
	if !(a < 1600) {
		return hugeQuadrant(a)
	}
	k := madd(a, twoOfPi, magic23)
	q = math.Float32bits(k) - magicBits
	k -= magic23
	r = madd(k, -pio2A, a)
	r = madd(k, -pio2B, r)
	r = madd(k, -pio2C, r)
	return q, madd(k, -pio2D, r)
}

// hugeQuadrant multiplies the mantissa by the 96 bits of 2/pi that matter
// (Payne and Hanek): those above give whole turns.
func hugeQuadrant(a float32) (q uint32, r float32) {
	if !(a < inf32) {
		return 0, qnan
	}
	b := math.Float32bits(a)
	m := uint64(b&0x7fffff | 0x800000)
	// a = m * 2^e; the window begins e-2 bits behind the point (e >= -13).
	s := b>>23 - 150 - 2 + 32
	w := func(i uint32) uint64 {
		at, shift := s/32+i, s%32
		word := func(k uint32) uint64 {
			if k == 0 {
				return 0 // the bits before the point
			}
			return uint64(twoOverPi[k-1])
		}
		return uint64(uint32((word(at)<<32 | word(at+1)) << shift >> 32))
	}
	p := m*w(0)<<32 + m*w(1) + m*w(2)>>32
	q = uint32(p >> 62)
	frac := int64(p << 2)
	if frac < 0 {
		q++
	}
	return q, float32(float64(float64(frac) * 0x1.921fb54442d18p-64))
}

// sinPoly and cosPoly are sin and cos for |r| <= pi/4.
func sinPoly(r float32) float32 {
	z := float32(r * r)
	p := float32(-0x1.99436ep-13)
	p = madd(p, z, 0x1.11073ap-7)
	p = madd(p, z, -0x1.555546p-3)
	return madd(float32(r*z), p, r)
}

func cosPoly(r float32) float32 {
	z := float32(r * r)
	p := float32(0x1.99eb34p-16)
	p = madd(p, z, -0x1.6c0c32p-10)
	p = madd(p, z, 0x1.55554ap-5)
	return madd(float32(z*z), p, madd(z, -0.5, 1))
}

// sinTurned is the sine of r plus q quarter turns.
func sinTurned(q uint32, r float32) float32 {
	y := sinPoly(r)
	if q&1 != 0 {
		y = cosPoly(r)
	}
	return math.Float32frombits(math.Float32bits(y) ^ q<<30&sign32)
}

func sin32(x float32) float32 {
	q, r := quadrant(abs32(x))
	return math.Float32frombits(math.Float32bits(sinTurned(q, r)) ^ math.Float32bits(x)&sign32)
}

func cos32(x float32) float32 {
	q, r := quadrant(abs32(x))
	return sinTurned(q+1, r)
}

func tan32(x float32) float32 {
	q, r := quadrant(abs32(x))
	s, c := sinPoly(r), cosPoly(r)
	t := s / c
	if q&1 != 0 {
		t = -c / s
	}
	return math.Float32frombits(math.Float32bits(t) ^ math.Float32bits(x)&sign32)
}

// asinPoly is (asin(s) - s) / s^3 for z = s^2 <= 1/4.
func asinPoly(z float32) float32 {
	p := float32(0x1.596d2ap-5)
	p = madd(p, z, 0x1.8c283cp-6)
	p = madd(p, z, 0x1.747e4ap-5)
	p = madd(p, z, 0x1.3301e4p-4)
	return madd(p, z, 0x1.5555c8p-3)
}

func asin32(x float32) float32 {
	a := abs32(x)
	if a > 0.5 {
		z := float32((1 - a) * 0.5)
		s := sqrt32(z)
		p := madd(float32(s*z), asinPoly(z), s)
		return withSign(pio2Hi-(2*p-pio2Lo), x)
	}
	z := float32(a * a)
	return withSign(madd(float32(a*z), asinPoly(z), a), x)
}

func acos32(x float32) float32 {
	a := abs32(x)
	if a > 0.5 {
		z := float32((1 - a) * 0.5)
		s := sqrt32(z)
		p := 2 * madd(float32(s*z), asinPoly(z), s)
		if x < 0 {
			return 2*pio2Hi - (p - 2*pio2Lo)
		}
		return p
	}
	z := float32(x * x)
	p := madd(float32(x*z), asinPoly(z), x)
	return pio2Hi - (p - pio2Lo)
}

func atan32(x float32) float32 {
	a := abs32(x)
	num, den, hi, lo := a, float32(1), float32(0), float32(0)
	switch {
	case a > 2.414213562: // tan(3/8 pi)
		num, den, hi, lo = -1, a, pio2Hi, pio2Lo
	case a > 0.4142135624: // tan(pi/8)
		num, den, hi, lo = a-1, a+1, pio2Hi/2, pio2Lo/2
	}
	t := num / den
	z := float32(t * t)
	p := float32(-0x1.f1ed4cp-5)
	p = madd(p, z, 0x1.b1ec24p-4)
	p = madd(p, z, -0x1.23b522p-3)
	p = madd(p, z, 0x1.999196p-3)
	p = madd(p, z, -0x1.55554ap-2)
	return withSign(hi+(t+madd(float32(t*z), p, lo)), x)
}
