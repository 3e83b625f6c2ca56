package hvx

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// dequantized is the float that a byte stands for: (byte - zero) * scale.
type dequantized struct {
	ints  te.Expr
	scale float32
}

// findDequantized recognises such an expression, whose results are normal numbers, or 0; nil where it is none.
func findDequantized(e te.Expr) *dequantized {
	a, b, ok := binary(e, "mul")
	if !ok || e.DType() != ir.F32 {
		return nil
	}
	c, isConst := b.(te.Const)
	if !isConst {
		c, isConst = a.(te.Const)
		a = b
	}
	d := &dequantized{ints: argument(a, "cast", ir.F32), scale: float32(math.Float64frombits(c.Bits))}
	if !isConst || d.ints == nil || d.ints.DType() != ir.I32 || !(d.scale >= 0x1p-126) || math.IsInf(float64(math.MaxUint8*d.scale), 0) {
		return nil
	}
	return d
}

// words prints the bits of the floats.
func (d *dequantized) words(l *lanesOf) (string, bool) {
	text, zero, ok := l.byte(d.ints)
	bits := math.Float32bits(d.scale)
	// The scale is its mantissa times 2^(its exponent-150).
	return fmt.Sprintf("dnn_hvx_floats(%s, %d, %d, %d)", text, zero, bits&(1<<23-1)|1<<23, bits>>23), ok
}
