package scalar

import "math"

// maddWide is madd in float64.
func maddWide(a, b, c float64) float64 { return float64(a*b) + c }

// pow32 computes 2^(y*log2|x|) in float64, of which about 36 bits are right.
func pow32(x, y float32) float32 {
	switch {
	case x == 1 || y == 0:
		return 1
	case x != x || y != y:
		return qnan
	}
	whole := abs32(y) >= 0x1p24 || trunc32(y) == y
	odd := whole && abs32(y) < 0x1p24 && int32(y)&1 != 0
	a := abs32(x)
	if x < 0 && !whole && a < inf32 {
		return qnan
	}
	t := float64(0)
	if l := log2Wide(a); l != 0 {
		t = float64(y) * l
	}
	r := float32(exp2Wide(t))
	if odd {
		r = withSign(r, x)
	}
	return r
}

func log2Wide(a float32) float64 {
	switch a {
	case 0:
		return math.Inf(-1)
	case inf32:
		return math.Inf(1)
	}
	bits := math.Float64bits(float64(a))
	// m in [sqrt(1/2), sqrt(2)), as in logSum
	e := (bits+(0x4000000000000000-0x3fe6a09e667f3bcd))>>52 - 1024
	m := math.Float64frombits(bits - e<<52)
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	p := 0x1.91159fed70eb0p-4
	p = maddWide(p, z, 0x1.c62b1368aadadp-4)
	p = maddWide(p, z, 0x1.249411f225fd0p-3)
	p = maddWide(p, z, 0x1.999996a940528p-3)
	p = maddWide(p, z, 0x1.555555561e472p-2)
	p = maddWide(p, z, 1)
	return maddWide(float64(s*0x1.71547652b82fep+1), p, float64(int64(e)))
}

// exp2Wide is 2^t, where floats have it; t beyond their range is clamped.
func exp2Wide(t float64) float64 {
	t = min(max(t, -200), 200)
	k := t + 0x1.8p52
	n := math.Float64bits(k) - 0x4338000000000000
	r := t - (k - 0x1.8p52)
	p := 0x1.61c4d72196275p-20
	p = maddWide(p, r, 0x1.00d86be7f147ep-16)
	p = maddWide(p, r, 0x1.430aa8d58988ap-13)
	p = maddWide(p, r, 0x1.5d874ce2fa7c9p-10)
	p = maddWide(p, r, 0x1.3b2ab5ed1d076p-7)
	p = maddWide(p, r, 0x1.c6b08dcef0073p-5)
	p = maddWide(p, r, 0x1.ebfbdff8ee379p-3)
	p = maddWide(p, r, 0x1.62e42fef89c78p-1)
	p = maddWide(p, r, 1)
	return float64(p * math.Float64frombits((n+1023)<<52))
}
