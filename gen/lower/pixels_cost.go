package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/target"
)

const (
	// runCycles is what a run of stored kernels costs besides these: its loop ends where no processor foresees it.
	runCycles = 16
	// crossing is the part of a load that one more takes which lies in two cache lines, by what kernels took on a Zen 4.
	crossing = 0.25
	// line is what one access of a cache reads at most, in bytes.
	line = 64
)

// keptCycles estimates one call of a micro-kernel over stored kernels whose lanes are neighbours in X.
func keptCycles(t *target.Target, m *loop.MicroKernel) float64 {
	k := m.Kept
	products := float64(k.Entries() * m.Rows * m.Vectors)
	accesses := float64(m.KeptLoads()*(1+float64(crossing*(spanned(m.Lanes(), m)-1)))) + float64(k.Entries())
	issue := (float64(products*float64(m.Instr.Ops)) + m.KeptLoads() + float64(k.Entries()) + 4) / t.IssuePerCycle
	loads := accesses / t.LoadsPerCycle
	fma := products / t.FMAPerCycle
	cycles := max(fma, loads, issue, brought(t, m), float64(t.Latency(m.Instr)*float64(k.Entries()))) + float64(hidden*(loads+issue))
	return callCycles + float64(float64(k.Runs())*runCycles) + float64(float64(k.Kernels)/10*cycles)
}

// spanned is how many cache lines so many elements of X take on average, which begin anywhere.
func spanned(n int64, m *loop.MicroKernel) float64 {
	size := int64(m.Instr.X.Size())
	return 1 + float64(float64((n-1)*size)/line)
}

// brought is the cycles in which what a kernel reads of X comes to the first-level cache: each kernel is of another channel, and all of them
// find no room there.
func brought(t *target.Target, m *loop.MicroKernel) float64 {
	k := m.Kept
	bytes := k.Channels * k.Step * int64(m.Instr.X.Size())
	if bytes <= t.L1D*3/4 {
		return 0
	}
	rate := t.L2BytesPerCycle
	if bytes > t.L2*3/4 {
		rate /= 2
	}
	lines := 0.0
	for _, taps := range k.Taps {
		lines += float64(float64(m.KeptRows(taps)) * spanned(m.Vectors*m.Lanes()+2, m))
	}
	return float64(lines/float64(len(k.Taps))*line) / rate
}
