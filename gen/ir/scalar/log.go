package scalar

import "math"

// logSum is ln(x * 2^-shift) + c for a finite, positive, normal x and a small c.
func logSum(x, shift, c float32) float32 {
	bits := math.Float32bits(x)
	// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); e is two's complement.
	e := (bits+(0x40000000-0x3f3504f3))>>23 - 128
	m := math.Float32frombits(bits - e<<23)
	k := math.Float32frombits(magicBits+e) - magic23 - shift
	f := m - 1
	z := float32(f * f)
	p := float32(0x1.1457c0p-4)
	p = madd(p, f, -0x1.de3c42p-4)
	p = madd(p, f, 0x1.e6f078p-4)
	p = madd(p, f, -0x1.fc2202p-4)
	p = madd(p, f, 0x1.233766p-3)
	p = madd(p, f, -0x1.555c4ep-3)
	p = madd(p, f, 0x1.99a4b6p-3)
	p = madd(p, f, -0x1.000006p-2)
	p = madd(p, f, 0x1.555548p-2)
	y := madd(float32(f*z), p, c)
	y = madd(k, ln2Lo, y)
	y = madd(z, -0.5, y)
	return madd(k, ln2Hi, f+y)
}

func log32(x float32) float32 {
	switch {
	case !(x > 0):
		if x == 0 {
			return -inf32
		}
		return qnan
	case x == inf32:
		return x
	case x < 0x1p-126:
		return logSum(float32(x*0x1p23), 23, 0)
	}
	return logSum(x, 0, 0)
}

// logOnePlus is ln(1+t) for t >= 0 or t in (-1, 0): the sum's rounding error is the small c.
func logOnePlus(t float32) float32 {
	u := 1 + t
	d := t - (u - 1)
	if t > 1 {
		d = 1 - (u - t)
	}
	return logSum(u, 0, d/u)
}

func log1p(x float32) float32 {
	switch {
	case !(x > -1):
		if x == -1 {
			return -inf32
		}
		return qnan
	case x == inf32 || x == 0:
		return x
	}
	return logOnePlus(x)
}

func asinh32(x float32) float32 {
	a := abs32(x)
	if !(a < inf32) || a == 0 {
		return x
	}
	if a > 4096 { // a*a + 1 rounds to a*a or overflows
		return withSign(logSum(a, 0, ln2), x)
	}
	z := float32(a * a)
	return withSign(logOnePlus(a+z/(sqrt32(z+1)+1)), x)
}

func acosh32(x float32) float32 {
	switch {
	case !(x >= 1):
		return qnan
	case x == inf32:
		return x
	case x > 4096:
		return logSum(x, 0, ln2)
	}
	t := x - 1
	return logOnePlus(t + sqrt32(madd(t, t, 2*t)))
}

func atanh32(x float32) float32 {
	a := abs32(x)
	switch {
	case !(a <= 1):
		return qnan
	case a == 1:
		return withSign(inf32, x)
	case a < 0x1p-13:
		return x
	}
	return withSign(float32(0.5*logOnePlus(2*a/(1-a))), x)
}
