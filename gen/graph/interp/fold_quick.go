package interp

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// quick reports whether quickFold knows the function on elements of type t: that
// wrapping or rounding can wait until the end.
func quick(fn string, t ir.DType) bool {
	switch fn {
	case "add", "mul":
		return t != ir.F16 && t != ir.BF16
	case "max", "max_number", "min":
		return t != ir.U64
	}
	return false
}

// quickFold joins a vector to one accumulator.
func quickFold(fn string, acc, v *scalar.Vec) {
	switch {
	case acc.F32 != nil:
		foldAs(fn, &acc.F32[0], v.F32, func(a, b float32) float32 { return float32(a * b) })
	case acc.F64 != nil:
		foldAs(fn, &acc.F64[0], v.F64, func(a, b float64) float64 { return float64(a * b) })
	default:
		foldAs(fn, &acc.I64[0], v.I64, func(a, b int64) int64 { return a * b })
	}
}

func foldAs[T float32 | float64 | int64](fn string, acc *T, xs []T, mul func(a, b T) T) {
	a := *acc
	switch fn {
	case "add":
		for _, x := range xs {
			a += x
		}
	case "mul":
		for _, x := range xs {
			a = mul(a, x)
		}
	case "max":
		for _, x := range xs {
			if !(a > x || a != a) {
				a = x
			}
		}
	case "max_number":
		for _, x := range xs {
			if x > a {
				a = x
			}
		}
	case "min":
		for _, x := range xs {
			if !(a < x || a != a) {
				a = x
			}
		}
	}
	*acc = a
}
