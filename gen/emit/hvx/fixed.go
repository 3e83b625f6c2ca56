package hvx

import (
	"fmt"
	"math"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// words prints a vector of quantized numbers of any parts that integers with a fraction can hold; false where they cannot.
func (q *quantized) words(l *lanesOf) (string, bool) {
	s := partsOf(q.value, l.loop.Var)
	if s == nil {
		if text, ok := q.normalized(l); ok {
			return text, true
		}
		return q.byLane(l)
	}
	if len(s.parts) == 1 && s.parts[0].ints != nil {
		return q.scaled(l, s)
	}
	return q.fixed(l, s)
}

// mostScaled bounds the constant factors of sums: floats overflow nowhere where the product of all factors is one that the header's function takes.
const mostScaled = 0x1p60

// scaled prints integers times a factor that all lanes share, which may be a product. Floats of one product are rounded as often as the header's function
// allows for; those of others, and factors that are rounded themselves, are as well off with the one for a factor a lane, which allows for more.
func (q *quantized) scaled(l *lanesOf, s *parted) (string, bool) {
	p := s.parts[0]
	if s.rounded > 2 || !(math.Abs(p.by) < mostScaled && math.Abs(p.by) > 1/mostScaled) {
		return "", false
	}
	factor, exact := te.Expr(te.Float(ir.F32, p.by)), p.by == float64(float32(p.by))
	switch {
	case p.factor != nil && p.by == 1:
		factor = p.factor
	case p.factor != nil:
		factor, exact = te.Fn(ir.F32, "mul", p.factor, factor), false
	}
	sum, ok := l.words(p.ints)
	least, most := q.bounds()
	if exact && s.rounded <= 1 {
		return fmt.Sprintf("dnn_hvx_requantize(%s, &%s, %d, %d, %d, &%s)", sum, l.factor(factor), q.zero, least, most, l.near()), ok
	}
	by := fmt.Sprintf("Q6_V_vsplat_R(dnn_as(int32_t, (float)(%s)))", ckernel.Strip(l.w.Scalar(factor)))
	return fmt.Sprintf("dnn_hvx_requantize_lanes(%s, %s, %d, %d, %d, &%s)", sum, by, q.zero, least, most, l.near()), ok
}

// scale is a factor that all lanes share, of a size that words can be scaled by.
func (l *lanesOf) scale(e te.Expr) string {
	l.factor(e)
	return ckernel.Strip(l.w.Scalar(e))
}

// byLane prints integers times floats of memory, one for each lane.
func (q *quantized) byLane(l *lanesOf) (string, bool) {
	a, b, ok := binary(q.value, "mul")
	if !ok {
		return "", false
	}
	x, y := partsOf(a, l.loop.Var), partsOf(b, l.loop.Var)
	if x == nil || y == nil || len(x.parts) != 1 || len(y.parts) != 1 {
		return "", false
	}
	sum, factor := x.parts[0], y.parts[0]
	if sum.ints == nil {
		sum, factor = factor, sum
	}
	if sum.ints == nil || !sum.plain() || factor.mem.Buf == nil || !factor.plain() {
		return "", false
	}
	words, ok := l.words(sum.ints)
	by, known := l.load(factor.mem)
	least, most := q.bounds()
	return fmt.Sprintf("dnn_hvx_requantize_lanes(%s, %s, %d, %d, %d, &%s)", words, by, q.zero, least, most, l.near()), ok && known
}

const (
	// mostBits is how many bits a fraction has at most.
	mostBits = 20
	// mostFixed is the magnitude below which numbers with a fraction stay, in units of it.
	mostFixed = 1 << 30
	// mostRounded is above the magnitude of what is not out of bounds once it is rounded and zero is added.
	mostRounded = 257
)

// fixed prints floats of memory, or one that all lanes share, times a constant factor, or the sum of that and of integers times another. Where the
// result is not out of bounds, neither is bigger than the bounds and the other one, which bounds what roundings of floats come to.
func (q *quantized) fixed(l *lanesOf, s *parted) (string, bool) {
	parts := s.parts
	if len(parts) == 2 && parts[0].ints == nil {
		parts = []addend{parts[1], parts[0]}
	}
	of := parts[len(parts)-1]
	if of.ints != nil || of.alone() && len(parts) == 1 || of.mem.Buf != nil && of.factor != nil && len(parts) > 1 || !(math.Abs(of.by) >= leastFirst && math.Abs(of.by) <= 0x1p100) {
		return "", false
	}
	small, by := "", 0.0 // the integers, and their factor
	zero, reach := int64(0), 0.0
	if len(parts) == 2 {
		p := parts[0]
		text, z, ok := l.byte(p.ints)
		if p.ints == nil || p.factor != nil || !ok || math.Abs(p.by/of.by)*math.MaxUint8 > 0x1p99 { // to which no other float is as good as infinite
			return "", false
		}
		small, zero, by = text, z, p.by
		reach = math.Abs(by) * math.MaxUint8
	}
	bits := mostBits
	for bits > 0 && (math.Ldexp(mostRounded+reach+1, bits) > mostFixed || math.Ldexp(math.Abs(by), bits+8) >= math.MaxInt32) {
		bits--
	}
	// Integers are off by less than 6, and floats by roundings of each part and of the sum.
	floats := float64(float64(of.rounded)*(mostRounded+reach)) + float64(float64(s.rounded)*mostRounded)
	if len(parts) == 2 {
		floats += float64(float64(parts[0].rounded) * reach)
	}
	if of.mem.Buf != nil && of.factor != nil { // whose product with the constant ones is rounded, as these are
		floats += 2 * mostRounded
	}
	inexact := 6 + int64(math.Ceil(math.Ldexp(floats, bits-24))) + 1
	if bits < 8 || inexact > 1<<(bits-4) {
		return "", false
	}
	start := int64(1)<<(bits-1) + inexact
	sum, ok := l.inFixed(of, bits)
	if !ok {
		return "", false
	}
	if n := int64(math.Round(math.Ldexp(by, bits+8))); n != 0 { // others are less than one unit
		start -= int64(math.Round(float64(n) * float64(zero) / 256))
		sum = fmt.Sprintf("Q6_Vw_vadd_VwVw(%s, dnn_hvx_times(%s, %d))", sum, small, n)
	}
	least, most := q.bounds()
	return fmt.Sprintf("dnn_hvx_rounded(%s, %d, %d, %d, %d, %d, %d, &%s)", sum, start, bits, inexact, q.zero, least, most, l.near()), true
}

// inFixed prints floats times a factor as words with so many bits of fraction, bounded.
func (l *lanesOf) inFixed(p addend, bits int) (string, bool) {
	x := ""
	if p.alone() {
		from := te.Expr(te.Float(ir.F32, 1))
		if p.factor != nil {
			from = p.factor
		}
		x = fmt.Sprintf("Q6_V_vsplat_R(dnn_as(int32_t, (float)(%s)))", ckernel.Strip(l.w.Scalar(from)))
	} else {
		var ok bool
		if x, ok = l.load(p.mem); !ok {
			return "", false
		}
	}
	if p.mem.Buf != nil && p.factor != nil {
		factor := te.Fn(ir.F32, "mul", p.factor, te.Float(ir.F32, p.by))
		return fmt.Sprintf("dnn_hvx_fixed_by(%s, %s, %d, %d, &%s)", x, l.scale(factor), bits, mostFixed, l.near()), math.Abs(p.by) < mostScaled && math.Abs(p.by) > 1/mostScaled
	}
	fraction, exponent := math.Frexp(math.Abs(p.by)) // the factor is its mantissa of 31 bits times 2^(exponent-31)
	mantissa := int64(math.Round(math.Ldexp(fraction, 31)))
	if mantissa == 1<<31 {
		mantissa, exponent = mantissa/2, exponent+1
	}
	// The float is one of 31 bits times 2^(its exponent-157), and 31 bits of the product are cut off.
	shift := 157 - exponent - bits
	return fmt.Sprintf("dnn_hvx_fixed(%s, %d, %d, %d, %t, &%s)", x, mantissa, shift, mostFixed, p.by < 0, l.near()), true
}

// byte prints integers that are a byte minus a zero point as those of the byte, from 0 on, and what is to be subtracted.
func (l *lanesOf) byte(e te.Expr) (string, int64, bool) {
	zero := int64(0)
	if a, z, ok := binary(e, "sub"); ok {
		n, known := literal(z)
		if !known {
			return "", 0, false
		}
		e, zero = a, n
	}
	from := argument(e, "cast", ir.I32)
	if from == nil || from.DType().Size() != 1 || !from.DType().IsInteger() {
		return "", 0, false
	}
	text, ok := l.words(e)
	if from.DType() == ir.I8 {
		text = fmt.Sprintf("Q6_Vw_vadd_VwVw(%s, Q6_V_vsplat_R(128))", text)
		zero += 128
	}
	return text, zero, ok && zero >= 0 && zero <= math.MaxUint8 // others are no byte's: sums may leave 32 bits
}
