package scalar

import "math"

// A64 returns the instruction of 64-bit ARM that computes the function of four floats $a and $b
// to $d, or "" if no instruction returns the same number. constant is the last argument, or nil if
// it is not known. FMAX and FMIN order -0 before +0, but max and min return the last of equal
// arguments. So they agree if the last argument is a number, and not the zero of the other sign.
// FMAX returns NaN if an argument is NaN, like max_number if its last argument is a number.
func (r *Row) A64(constant *float32) string {
	if zero := map[string]bool{"max": false, "min": true, "max_number": false}; r.a64 != "" {
		if negative, compares := zero[r.Name]; compares {
			if constant == nil || *constant != *constant || *constant == 0 && math.Signbit(float64(*constant)) != negative {
				return ""
			}
		}
	}
	return r.a64
}
