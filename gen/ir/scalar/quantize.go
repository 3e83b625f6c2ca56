package scalar

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// checkQuantized checks the arguments of quantize.
func (r *Row) checkQuantized(args []ir.DType) error {
	if t := args[1]; args[0] != ir.F32 || !Quantizes(t) {
		return fmt.Errorf("scalar function %q wants an f32 and an integer of 8 or 16 bits, found %s", r.Name, list(args))
	}
	return nil
}

// Quantizes reports whether quantize gives numbers of the type.
func Quantizes(t ir.DType) bool { return t.IsInteger() && t.Size() <= 2 }

// quantizeFunc rounds to the nearest integer, half to even, adds the zero point and saturates. NaN gives 0, as in conversions.
func quantizeFunc(t ir.DType) Func {
	return func(dst *Vec, args []*Vec) {
		for i, x := range args[0].F32 {
			dst.I64[i] = saturate(float64(roundEven(x)+float32(args[1].I64[i])), t)
		}
	}
}
