package ir

import "math"

// F16Float is the value of a half-precision number's bits.
func F16Float(b uint16) float64 { return smallFloat(uint64(b), 5, 10) }

// BF16Float is the value of a bfloat16's bits.
func BF16Float(b uint16) float64 { return smallFloat(uint64(b), 8, 7) }

// F16Bits rounds to half precision (to nearest, ties to even), as bits.
func F16Bits(x float64) uint16 { return roundFloat(x, 5, 10) }

// BF16Bits rounds to bfloat16 (to nearest, ties to even), as bits.
func BF16Bits(x float64) uint16 { return roundFloat(x, 8, 7) }

// smallFloat decodes an IEEE number of the given widths.
func smallFloat(b uint64, expBits, fracBits uint) float64 {
	bias := 1<<(expBits-1) - 1
	exp := int(b>>fracBits) & (1<<expBits - 1)
	frac := b & (1<<fracBits - 1)
	var x float64
	switch exp {
	case 0:
		x = math.Ldexp(float64(frac), 1-bias-int(fracBits))
	case 1<<expBits - 1:
		// The fraction's bits move to the top of the double's, so that NaNs keep their payload.
		x = math.Float64frombits(0x7ff<<52 | frac<<(52-fracBits))
	default:
		x = math.Ldexp(float64(frac|1<<fracBits), exp-bias-int(fracBits))
	}
	if b>>(expBits+fracBits)&1 != 0 {
		return math.Copysign(x, -1)
	}
	return x
}

// roundFloat encodes x as an IEEE number of the given widths.
func roundFloat(x float64, expBits, fracBits uint) uint16 {
	bias := 1<<(expBits-1) - 1
	inf := uint64(1<<expBits-1) << fracBits
	sign := math.Float64bits(x) >> 63 << (expBits + fracBits)
	switch {
	case math.IsNaN(x):
		frac := math.Float64bits(x) << 12 >> 12 >> (52 - fracBits)
		if frac == 0 {
			frac = 1 << (fracBits - 1)
		}
		return uint16(sign | inf | frac)
	case math.IsInf(x, 0):
		return uint16(sign | inf)
	case x == 0:
		return uint16(sign)
	}
	_, e := math.Frexp(math.Abs(x)) // |x| = m * 2^e with 0.5 <= m < 1
	exp := max(e-1, 1-bias)
	// Exact: a double scaled to an integer of at most fracBits+1 bits before the point.
	units := uint64(math.RoundToEven(math.Ldexp(math.Abs(x), int(fracBits)-exp)))
	// A carry out of the fraction increases the exponent by itself, up to infinity.
	b := min(units+uint64(exp+bias-1)<<fracBits, inf)
	return uint16(sign | b)
}
