package perf

import (
	"cmp"
	"math"
)

// Spearman is the correlation of the ranks of two numbers of each of some things: 1 where both order them alike. It is not known where all of one
// are equal.
func Spearman(x, y []float64) (rho float64, known bool) {
	a, b := ranks(x), ranks(y)
	mean := float64(float64(len(x)-1) / 2)
	xy, xx, yy := 0.0, 0.0, 0.0
	for i := range a {
		p, q := a[i]-mean, b[i]-mean
		xy, xx, yy = xy+float64(p*q), xx+float64(p*p), yy+float64(q*q)
	}
	if xx == 0 || yy == 0 {
		return 0, false
	}
	return xy / math.Sqrt(float64(xx*yy)), true
}

// ranks are places in the order of numbers; equal ones share the mean of theirs.
func ranks(of []float64) []float64 {
	out := make([]float64, len(of))
	for i, x := range of {
		for k, y := range of {
			switch c := cmp.Compare(y, x); {
			case c < 0:
				out[i]++
			case c == 0 && k != i:
				out[i] += 0.5
			}
		}
	}
	return out
}
