package scalar

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
)

// The function narrow rounds an f32 to a type of 16 bits as a cast does, but no finite number becomes infinite: what lies beyond the
// type's range becomes its greatest number. NaNs and infinities stay what they are. It is the one definition of what happens to
// results that the compiler stores in 16 bits by itself; the conversions of a model are casts.

// Greatest returns the greatest finite number of a type of 16 bits.
func Greatest(t ir.DType) float64 { return greatest[t] }

var greatest = map[ir.DType]float64{ir.F16: 65504, ir.BF16: 0xffp120}

// narrowFunc returns the evaluator of narrow.
func narrowFunc(to ir.DType) Func {
	round, most := Narrow(to), float32(Greatest(to))
	return func(dst *Vec, args []*Vec) {
		for i, x := range args[0].F32 {
			dst.F32[i] = held(x, most)
		}
		round(dst)
	}
}

// held returns x within -most and most, unless it is infinite or NaN.
func held(x, most float32) float32 {
	switch {
	case x > most && x <= math.MaxFloat32:
		return most
	case x < -most && x >= -math.MaxFloat32:
		return -most
	}
	return x
}

// checkNarrowed checks the types of narrow.
func (r *Row) checkNarrowed(args []ir.DType, to ir.DType) error {
	if args[0] != ir.F32 || !half(to) {
		return fmt.Errorf("scalar function %q makes f16 or bf16 of f32, found %s and %s", r.Name, args[0], to)
	}
	return nil
}

// narrowText is narrow in C++, of a number or of a vector.
func narrowText(t ir.DType, x string) string {
	return fmt.Sprintf("dnn_math::round_%s(%s)", t, Held(t, x))
}

// Held is what narrow rounds, in C++: a number or vector that needs no bounds when it is rounded to the type.
func Held(t ir.DType, x string) string { return fmt.Sprintf("dnn_math::held_%s(%s)", t, x) }

// HeldCL is Held in OpenCL C, of a number.
func HeldCL(t ir.DType, x string) string { return fmt.Sprintf("dnn_held_%s(%s)", t, x) }
