package cost

import "slices"

// Mean is what a kernel takes on average, of estimates on several processors: such numbers add up over the kernels of a network, which losses do not.
func Mean(on []float64) float64 {
	sum := 0.0
	for _, c := range on {
		sum += c
	}
	return sum / float64(len(on))
}

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
