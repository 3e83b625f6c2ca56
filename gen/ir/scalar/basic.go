package scalar

import "math"

// The functions here are exact or correctly rounded.

const (
	nan32  = 0x7fc00000
	sign32 = 0x80000000
)

var (
	inf32 = float32(math.Inf(1))
	qnan  = math.Float32frombits(nan32)
)

// madd is a*b + c with the product rounded. dnn_math.h's may be contracted.
func madd(a, b, c float32) float32 { return float32(a*b) + c }

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ sign32) }

// withSign gives r, which has no sign, the sign of x.
func withSign(r, x float32) float32 {
	return math.Float32frombits(math.Float32bits(r) | math.Float32bits(x)&sign32)
}

func addF32(dst *Vec, args []*Vec) {
	d := dst.F32
	a, b := args[0].F32[:len(d)], args[1].F32[:len(d)]
	for i := byEights(hardware.add, d, a, b); i < len(d); i++ {
		d[i] = a[i] + b[i]
	}
}

func subF32(dst *Vec, args []*Vec) {
	d := dst.F32
	a, b := args[0].F32[:len(d)], args[1].F32[:len(d)]
	for i := byEights(hardware.sub, d, a, b); i < len(d); i++ {
		d[i] = a[i] - b[i]
	}
}

func mulF32(dst *Vec, args []*Vec) {
	d := dst.F32
	a, b := args[0].F32[:len(d)], args[1].F32[:len(d)]
	for i := byEights(hardware.mul, d, a, b); i < len(d); i++ {
		d[i] = float32(a[i] * b[i])
	}
}

func divF32(dst *Vec, args []*Vec) {
	d := dst.F32
	a, b := args[0].F32[:len(d)], args[1].F32[:len(d)]
	for i := byEights(hardware.div, d, a, b); i < len(d); i++ {
		d[i] = a[i] / b[i]
	}
}

func maxF32(dst *Vec, args []*Vec) {
	d := dst.F32
	a, b := args[0].F32[:len(d)], args[1].F32[:len(d)]
	for i := byEights(hardware.max, d, a, b); i < len(d); i++ {
		d[i] = greater(a[i], b[i])
	}
}

func minF32(dst *Vec, args []*Vec) {
	d := dst.F32
	a, b := args[0].F32[:len(d)], args[1].F32[:len(d)]
	for i := range d {
		d[i] = lesser(a[i], b[i])
	}
}

// greater and lesser give NaN when either is; of equal numbers they give b.
func greater[T number](a, b T) T {
	if a > b || a != a {
		return a
	}
	return b
}

// greaterNumber gives a where b is NaN.
func greaterNumber[T number](a, b T) T {
	if b > a {
		return b
	}
	return a
}

func lesser[T number](a, b T) T {
	if a < b || a != a {
		return a
	}
	return b
}

func signOf[T float32 | float64](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case x == 0:
		return 0
	}
	return x
}

func signInt(x int64) int64 { return bit(x > 0) - bit(x < 0) }

func absInt(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// Division by zero gives zero, as in NumPy, and the least number divided by -1
// wraps: a kernel must not trap.
func divInt(a, b int64) int64 {
	switch b {
	case 0:
		return 0
	case -1:
		return -a
	}
	return a / b
}

func divUint(a, b uint64) uint64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// fmodInt has the sign of a, modInt the sign of b.
func fmodInt(a, b int64) int64 {
	if b == 0 || b == -1 {
		return 0
	}
	return a % b
}

func modInt(a, b int64) int64 {
	r := fmodInt(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func modUint(a, b uint64) uint64 {
	if b == 0 {
		return 0
	}
	return a % b
}

// fmod32 is exact: the remainder of two floats is a float.
func fmod32(a, b float32) float32 { return float32(math.Mod(float64(a), float64(b))) }

// modFloat takes fmod's remainder to the sign of b, as Python does.
func modFloat[T float32 | float64](fmod func(a, b T) T) func(a, b T) T {
	return func(a, b T) T {
		r := fmod(a, b)
		switch {
		case r == 0:
			return T(math.Copysign(0, float64(b)))
		case (r < 0) != (b < 0):
			return r + b
		}
		return r
	}
}

// powInt wraps; a negative exponent gives the quotient truncated to zero, and 0 for 0.
func powInt(a, n int64) int64 {
	if n < 0 {
		switch {
		case a == 1 || a == -1 && n%2 == 0:
			return 1
		case a == -1:
			return -1
		}
		return 0
	}
	return int64(powUint(uint64(a), uint64(n)))
}

func powUint(a, n uint64) uint64 {
	r := uint64(1)
	for ; n != 0; n >>= 1 {
		if n&1 != 0 {
			r *= a
		}
		a *= a
	}
	return r
}

// Shifts by the width or more give what a longer register would: 0, or the sign.
func shl(a, n int64) int64 {
	if uint64(n) > 63 {
		return 0
	}
	return a << uint(n)
}

func shr(a, n int64) int64 { return a >> uint(min(uint64(n), 63)) }

func shrUint(a, n uint64) uint64 { return a >> min(n, 64) }

// roundEven, and with it floor and ceil, work by adding 2^23: the sum has no fraction.
func roundEven(x float32) float32 {
	a := abs32(x)
	if !(a < 0x1p23) {
		return x
	}
	return withSign((a+0x1p23)-0x1p23, x)
}

func floor32(x float32) float32 {
	r := roundEven(x)
	if r > x {
		r = withSign(abs32(r-1), x)
	}
	return r
}

func ceil32(x float32) float32 {
	r := roundEven(x)
	if r < x {
		r = withSign(abs32(r+1), x)
	}
	return r
}

func trunc32(x float32) float32 {
	if x < 0 {
		return ceil32(x)
	}
	return floor32(x)
}

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func rsqrt32(x float32) float32 { return 1 / sqrt32(x) }
