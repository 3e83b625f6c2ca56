package cost

import (
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
)

const (
	// runCycles is the cost of a run of kernels besides the kernels. No processor predicts its end.
	runCycles = 16
	// crossing is the number of loads that each further cache line of a load costs, measured on
	// a Zen 4.
	crossing = 1
	line     = loop.CacheLine
)

// KeptCycles estimates a call of a micro-kernel over unpruned kernels whose lanes are neighbours in
// X.
func KeptCycles(t *target.Target, m *loop.MicroKernel) float64 {
	k := m.Kept
	products := float64(k.Entries() * m.Rows * m.Vectors)
	weights := float64(k.Entries())
	if k.Held > 0 {
		weights = float64(k.Held + (k.Entries()-k.Held)*m.Rows*m.Vectors)
	}
	loads := m.KeptLoads()
	accesses := float64(loads*(1+float64(crossing*(spanned(m.Lanes(), m)-1)))) + weights
	if m.KeptWhole() {
		accesses = loads + weights
	}
	issue := (float64(products*float64(m.Instr.Ops)) + loads + float64(k.Entries()) + 4) / t.IssuePerCycle
	access := accesses / t.LoadsPerCycle
	fma := products/t.FMAPerCycle + float64(float64(k.Entries())*t.Widen(m.Stored))
	adds := 0.0 // sums that are there, in the second-level cache
	if m.Adds {
		adds = float64(2*m.Rows*m.Vectors*m.Instr.Bytes()) / t.L2BytesPerCycle
	}
	cycles := max(fma, access, issue, brought(t, m), float64(t.Latency(m.Instr)*float64(k.Entries()))) + float64(hidden*(access+issue))
	return PerCall + adds + float64(float64(k.Runs())*runCycles) + float64(float64(k.Kernels)/10*cycles)
}

// spanned returns the mean number of cache lines of n neighbours in X, which begin anywhere.
func spanned(n int64, m *loop.MicroKernel) float64 {
	size := int64(m.Instr.X.Size())
	return 1 + float64(float64((n-1)*size)/line)
}

// brought returns the cycles in which a kernel's part of X comes to the first-level cache. Each
// kernel reads another channel, and the cache has no room for all of them. The second-level cache
// has room for a part of them.
func brought(t *target.Target, m *loop.MicroKernel) float64 {
	k := m.Kept
	lines := 0.0
	row := spanned(m.Vectors*m.Lanes()+2, m)
	if size := int64(m.Instr.X.Size()); m.RowStep > 0 && m.Lanes()*size >= line { // rows of whole lines that adjoin have those at their ends in common
		row = min(row, float64(m.RowStep*size)/line)
	}
	for _, taps := range k.Taps {
		lines += float64(float64(m.KeptRows(taps)) * row)
	}
	kernel := float64(lines / float64(len(k.Taps)) * line)
	all := float64(float64(k.Walked()) * kernel)
	if all <= float64(t.L1D*3/4) {
		return 0
	}
	near := min(1, float64(t.L2)/2/all) // beside weights and sums
	return float64(kernel * (near/t.L2BytesPerCycle + float64((1-near)/t.Behind(all))))
}
