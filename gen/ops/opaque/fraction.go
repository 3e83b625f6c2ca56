package opaque

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// MinScale and MaxScale bound the scales that are fractions.
const MinScale, MaxScale = 1.0 / (1 << 12), 1 << 12

// fractionBits is how many bits of a scale's neighbourhood lie behind the point: the least number half-way
// between two scales has as many.
const fractionBits = 12 + 24 + 1

// Fraction is the simplest fraction that rounds to a scale: 0.6 is 3/5, and coordinates in multiples of it
// are exact. It is false for a scale that is out of bounds, or no number.
func Fraction(scale float32) (num, den int64, ok bool) {
	if !(scale >= MinScale && scale <= MaxScale) {
		return 0, 0, false
	}
	middle := func(toward float32) int64 {
		return int64(math.Ldexp(float64(scale)+float64(math.Nextafter32(scale, toward)), fractionBits-1))
	}
	num, den = simplest(middle(0), middle(2*MaxScale), 1<<fractionBits)
	return num, den, true
}

// simplest is the fraction of the least denominator strictly between low/of and high/of, by their
// continued fractions: these agree in all but the last part.
func simplest(low, high, of int64) (num, den int64) {
	var parts []int64
	a, b, c, d := low, of, high, of // between a/b and c/d
	for {
		whole := a / b
		if (whole+1)*d < c {
			parts = append(parts, whole+1)
			break
		}
		parts = append(parts, whole)
		a, b, c, d = d, c-whole*d, b, a-whole*b
		if d == 0 { // as much as wanted
			parts = append(parts, a/b+1)
			break
		}
	}
	num, den = 1, 0
	for i := len(parts) - 1; i >= 0; i-- {
		num, den = parts[i]*num+den, num
	}
	return num, den
}

// Fractions are the numerators of scales, then their denominators.
func Fractions(scales *ir.Tensor) (*ir.Tensor, error) {
	b, err := scales.Bytes()
	if err != nil {
		return nil, err
	}
	n := scales.Len()
	out := make([]int64, 2*n)
	for i := range n {
		s := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		var ok bool
		if out[i], out[n+i], ok = Fraction(s); !ok {
			return nil, errorf("a scale is %v; supported are numbers from %v to %v", s, MinScale, MaxScale)
		}
	}
	return integers(out, 2*n), nil
}
