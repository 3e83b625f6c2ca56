package workgroup

import (
	"math"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// What estimates of groups that share sums are made of, in cycles. They were fitted to 230 kernels of three products of a vector and a matrix on an
// NVIDIA H100 (docs/performance.md).
const (
	loadsAtOnce = 8    // of an item, which wait for memory together
	farWait     = 1500 // of such loads
	nearWait    = 600  // of such loads from the second-level cache
	sumsCycles  = 1500 // of a group besides
	joinEach    = 70   // of a value that an item joins while the others wait
	farLines    = 1.2  // of the time of memory, of a line that a group reads a part of
	lesserPart  = 0.1  // the part of the lesser of what waits and what is moved that takes time besides
)

// estimate is the cycles of groups that share sums so: units compute as many groups at once as they have room for, whose items wait for what they
// load, and memory gives all of them together so much in a cycle.
func (g *groupSums) estimate(s sharing, o *target.OpenCL) float64 {
	ceil := func(n, by int64) int64 { return (n + by - 1) / by }
	t, items := g.env.Target, s.parts*s.together
	atOnce := max(1, o.UnitItems/items) * o.Units
	waves := float64(ceil(ceil(g.results, s.together), atOnce))
	bytes := float64(4 * g.results * g.sum)
	wait, rate := float64(farWait), t.BytesPerCycle
	if bytes <= float64(t.L2) {
		wait, rate = nearWait, t.L2BytesPerCycle
	}
	moved := bytes / rate
	if !g.along {
		moved *= 1 + farLines/float64(s.together)
	}
	waits := waves * float64(ceil(ceil(g.sum, s.parts), loadsAtOnce)) * wait
	joined := s.parts
	if s.parts > maxAlone {
		joined = fewerOf(s.parts) + s.parts/fewerOf(s.parts)
	}
	return float64(waves*(sumsCycles+float64(joinEach*joined))) + max(moved, waits) + float64(lesserPart*min(moved, waits))
}

// SumCycles returns the estimated cycles of the best kernel of a reduction whose items share sums,
// or +Inf.
func SumCycles(b *block.Block, env *lower.Env) float64 {
	if g, o := sharedSumsOf(b, env); g != nil {
		if all := g.sharings(o); len(all) > 0 {
			return g.estimate(all[0], o)
		}
	}
	return math.Inf(1)
}
