package hvx

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// scaled is what becomes a number of 8 bits: round(sum * factor) + zero, saturated, or the same of two such sums that are added. Scales are floats, of
// which there are no vectors: functions of the header compute 32 in integers, exactly, or say where they cannot.
type scaled struct {
	quantized
	terms []term
}

// term is a sum of 32 bits and its factor.
type term struct{ sum, factor te.Expr }

// findScaled recognises such an expression; nil where it is none.
func findScaled(e te.Expr) *scaled {
	of := findQuantized(e)
	if of == nil {
		return nil
	}
	q, value := &scaled{quantized: *of}, of.value
	parts := []te.Expr{value}
	if a, b, ok := binary(value, "add"); ok {
		parts = []te.Expr{a, b}
	}
	for _, p := range parts {
		a, factor, ok := binary(p, "mul")
		sum := argument(a, "cast", ir.F32)
		if !ok || sum == nil || sum.DType() != ir.I32 {
			return nil
		}
		q.terms = append(q.terms, term{sum, factor})
	}
	return q
}

// words prints a vector of results; false where there is no such.
func (q *scaled) words(v *lanesOf) (string, bool) {
	least, most := q.bounds()
	if len(q.terms) == 2 {
		return q.added(v, least, most)
	}
	if varies(q.terms[0].factor, v.loop.Var) {
		return "", false
	}
	sum, ok := v.words(q.terms[0].sum)
	return fmt.Sprintf("dnn_hvx_requantize(%s, &%s, %d, %d, %d, &%s)", sum, v.factor(q.terms[0].factor), q.zero, least, most, v.near()), ok
}

// mostAdded is the magnitude below which the integers of a sum of two terms stay.
const mostAdded = 1 << 30

// added prints a sum of two bytes minus zero points, times literals.
func (q *scaled) added(v *lanesOf, least, most int64) (string, bool) {
	var bytes [2]string
	var zeros, factors [2]float64
	for i, t := range q.terms {
		factor, ok := t.factor.(te.Const)
		e, zero := t.sum, int64(0)
		if a, z, ok := binary(e, "sub"); ok {
			n, known := literal(z)
			if !known {
				return "", false
			}
			e, zero = a, n
		}
		from := argument(e, "cast", ir.I32)
		if !ok || from == nil || from.DType().Size() != 1 || !from.DType().IsInteger() {
			return "", false
		}
		if bytes[i], ok = v.words(e); !ok {
			return "", false
		}
		if from.DType() == ir.I8 {
			bytes[i] = fmt.Sprintf("Q6_Vw_vadd_VwVw(%s, Q6_V_vsplat_R(128))", bytes[i])
			zero += 128
		}
		if zero < 0 || zero > math.MaxUint8 { // no byte's: sums may leave 32 bits
			return "", false
		}
		zeros[i], factors[i] = float64(zero), math.Float64frombits(factor.Bits)
	}
	whole := float64(255 * (math.Abs(factors[0]) + math.Abs(factors[1])))
	bits := 0
	for bits < 22 && math.Ldexp(whole, bits+1) < mostAdded && math.Ldexp(max(math.Abs(factors[0]), math.Abs(factors[1])), bits+9) < math.MaxInt32 {
		bits++
	}
	// Integers are off by less than 4, and floats by roundings of both products and of the sum.
	inexact := 4 + int64(math.Ceil(math.Ldexp(2*whole, bits-24))) + 1
	if bits < 8 || inexact > 1<<(bits-4) {
		return "", false
	}
	var by [2]int64
	start := int64(1)<<(bits-1) + inexact
	for i := range by {
		by[i] = int64(math.Round(math.Ldexp(factors[i], bits+8)))
		start -= int64(math.Round(float64(by[i]) * zeros[i] / 256))
	}
	return fmt.Sprintf("dnn_hvx_add(%s, %d, %s, %d, %d, %d, %d, %d, %d, %d, &%s)", bytes[0], by[0], bytes[1], by[1], start, bits, inexact, q.zero, least, most, v.near()), true
}

// literal is the value of an integer that is one, converted or not.
func literal(e te.Expr) (int64, bool) {
	if inner := argument(e, "cast", ir.I32); inner != nil {
		e = inner
	}
	c, ok := e.(te.Const)
	return int64(c.Bits), ok && c.Type.IsInteger()
}

// argument is what a function of one argument is applied to, or nil.
func argument(e te.Expr, fn string, t ir.DType) te.Expr {
	c, ok := e.(te.Call)
	if !ok || c.Fn != fn || c.Type != t || len(c.Args) != 1 {
		return nil
	}
	return c.Args[0]
}

func binary(e te.Expr, fn string) (a, b te.Expr, ok bool) {
	c, ok := e.(te.Call)
	if !ok || c.Fn != fn || len(c.Args) != 2 {
		return nil, nil, false
	}
	return c.Args[0], c.Args[1], true
}
