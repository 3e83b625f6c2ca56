package cost

import "slices"

// Losses are how much choices lose at worst, of which the estimates on each processor are given: where one of several processors may run
// them, the greatest ratio to what the processor's own best choice takes; where one runs them, what it takes.
func Losses(on [][]float64) []float64 {
	if len(on) == 1 {
		return on[0]
	}
	out := make([]float64, len(on[0]))
	for _, cycles := range on {
		least := slices.Min(cycles)
		for i, c := range cycles {
			out[i] = max(out[i], c/least)
		}
	}
	return out
}
