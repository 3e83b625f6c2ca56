package scalar

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// Vectors reports whether C++ has the function for vectors of results of a type, from arguments of these types. What it has not is
// computed lane by lane there, which is no faster than a loop of numbers: division and powers of integers, functions of f64.
func (r *Row) Vectors(result ir.DType, from []ir.DType) bool {
	switch r.Result {
	case Target: // to 16 bits they round once
		return !half(result) || fitsF32(from[0])
	case Quantized, Narrowed:
		return true
	}
	t := from[len(from)-1]
	return ClassOf(t) == ClassF32 || r.lanes.Has(t)
}

// fitsF32 reports whether f32 holds all numbers of the type.
func fitsF32(t ir.DType) bool {
	return ClassOf(t) == ClassF32 || !t.IsFloat() && t.Size() <= 2
}

// CLanes is C for vectors: types names that of vectors of a type. Those of bool are masks, of as many bits a lane as the loop's widest type.
func (r *Row) CLanes(types func(ir.DType) string, t ir.DType, from []ir.DType, args []string) string {
	v := types(t)
	switch r.Result {
	case Target:
		return castLanes(types, t, from[0], args[0])
	case Narrowed:
		return narrowText(t, args[0])
	case Reinterpret:
		return fmt.Sprintf("dnn_math::bits<%s>(%s)", v, args[0])
	case Choice:
		return fmt.Sprintf("dnn_math::choose(%s, %s, %s)", args[0], args[1], args[2])
	case Quantized:
		return fmt.Sprintf("dnn_math::quantize_lanes<%s>(%s, %s)", v, args[0], args[1])
	}
	s := fill(r.text.of(t), v, args)
	if r.Result == Predicate {
		return fmt.Sprintf("dnn_math::mask<%s>(%s)", v, s)
	}
	return s
}

func castLanes(types func(ir.DType) string, to, from ir.DType, x string) string {
	switch {
	case to == ir.Bool && from == ir.Bool:
		return x
	case to == ir.Bool:
		return fmt.Sprintf("dnn_math::mask<%s>(%s != 0)", types(to), x)
	case from == ir.Bool:
		x = "(" + x + " & 1)"
	case half(to) && ClassOf(from) == ClassF32:
		return fmt.Sprintf("dnn_math::round_%s(%s)", to, x)
	case to == ir.F32 && ClassOf(from) == ClassF32:
		return x // vectors hold f32
	}
	x = fmt.Sprintf("dnn_math::cast_lanes<%s>(%s)", types(to), x)
	if half(to) {
		x = fmt.Sprintf("dnn_math::round_%s(%s)", to, x)
	}
	return x
}
