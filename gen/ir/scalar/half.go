package scalar

import "math"

// F16ToF32 widens an IEEE half, exactly. A NaN keeps its sign and payload and is quiet, as processors give it.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&31, uint32(h)&0x3ff
	switch {
	case exp == 31 && frac != 0:
		return math.Float32frombits(sign | 0x7fc00000 | frac<<13)
	case exp == 31:
		return math.Float32frombits(sign | 0x7f800000)
	case exp == 0:
		x := float32(frac) * 0x1p-24 // exact: 10 bits
		return math.Float32frombits(sign | math.Float32bits(x))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// F32ToF16 rounds to the nearest IEEE half, ties to even. A NaN keeps its sign and as much of its payload as fits, and is quiet.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign, b := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x477ff000: // 65520 and above round to infinity
		return sign | 0x7c00
	case b < 0x38800000: // below the least normal half: count units of 2^-24
		x := math.Float32frombits(b) + 0.5 // the sum's last bit is worth 2^-24
		return sign | uint16(math.Float32bits(x)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}

// BF16ToF32 widens a bfloat16, exactly.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bfloat16, ties to even.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// roundOdd narrows so that rounding once more, to a type shorter by two bits or
// more, gives x correctly rounded: an inexact result gets an odd last bit.
func roundOdd(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x || math.IsInf(float64(f), 0) {
		return f
	}
	b := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(x) {
		b-- // towards zero first; f is not zero here
	}
	return math.Float32frombits(b | 1)
}

// RoundF16 returns the nearest IEEE half, ties to even.
func RoundF16(x float64) float32 { return roundF16(roundOdd(x)) }

func roundF16(f float32) float32  { return F16ToF32(F32ToF16(f)) }
func roundBF16(f float32) float32 { return BF16ToF32(F32ToBF16(f)) }
