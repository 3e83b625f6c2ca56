package scalar

import "math"

// Halves reports whether runtime/dnn_kernel.h has the function for vectors of f16 on 64-bit ARM.
// Results equal those in f32, rounded to f16, except for the sign of a zero of max and min, and for
// functions with an error bound (HalfULP).
func (r *Row) Halves() bool { return r.a64 != "" || r.HalfULP > 0 }

// A64 returns the instruction of 64-bit ARM that computes the function of four floats $a and $b
// to $d, or "" if no instruction returns the same number. constant is the last argument, or nil if
// it is not known. FMAX and FMIN order -0 before +0, but max and min return the last of equal
// arguments. So they agree if the last argument is a number, and not the zero of the other sign.
func (r *Row) A64(constant *float32) string {
	if r.Name != "max" && r.Name != "min" {
		return r.a64
	}
	if constant == nil || *constant != *constant || *constant == 0 && math.Signbit(float64(*constant)) == (r.Name == "max") {
		return ""
	}
	return r.a64
}
