package scalar

// Halves reports whether runtime/dnn_kernel.h has the function for vectors of f16 on 64-bit ARM.
// Results equal those in f32, rounded to f16, except for zeros of max and min (runtime/dnn_math.h),
// and for functions with an error bound (HalfULP).
func (r *Row) Halves() bool { return r.a64 != "" || r.HalfULP > 0 }

// A64 returns the instruction of 64-bit ARM that computes the function of four floats $a and $b
// to $d, or "" if no instruction does. Vectors in C++ (runtime/dnn_math.h, which states how max and
// min order zeros) use the same instructions.
func (r *Row) A64() string { return r.a64 }
