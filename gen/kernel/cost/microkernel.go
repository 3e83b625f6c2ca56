package cost

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// PerCall is the cycles that a tile costs besides its products: the call, and accumulators that
// are filled and emptied.
const PerCall = 16

// tileCycles estimates one call of a micro-kernel.
func tileCycles(t *target.Target, m *loop.MicroKernel) float64 {
	return callAt(t, m, Stream(t, m.Instr, m.Stored, m.Steps(), m.Vectors))
}

// callCycles estimates one call of a micro-kernel whose operands are in the first-level cache.
func callCycles(t *target.Target, m *loop.MicroKernel) float64 { return callAt(t, m, 0) }

// callAt estimates one call of a micro-kernel whose steps take a number of cycles or more.
func callAt(t *target.Target, m *loop.MicroKernel, least float64) float64 {
	if m.Instr.Matrix > 0 {
		return MatrixCycles(t, m.Instr, m.Rows, m.Vectors, m.MatrixSteps())
	}
	if m.Kept != nil && !m.Broadcast() {
		return KeptCycles(t, m)
	}
	step := Step(t, m.Instr, m.X, m.Stored, m.Narrow, m.Rows, m.Vectors)
	return PerCall + float64(float64(m.Steps())*max(step, least))
}

// Stream returns the cycles in which the registers of W of a point of the sum come from the
// second-level cache. All tiles of pixels read the same W. It stays in the first-level cache if it
// leaves room there.
func Stream(t *target.Target, row *instr.Row, stored ir.DType, steps, v int64) float64 {
	bytes := v * row.Bytes()
	if stored != ir.Invalid {
		bytes = bytes / int64(row.W.Size()) * int64(stored.Size())
	}
	if steps*bytes <= t.L1D*3/4 {
		return 0
	}
	return float64(bytes) / t.L2BytesPerCycle
}

// hidden is the part of the loads and instructions that costs time although others take longer.
const hidden = 1.0 / 16

// Step returns the cycles of one point of the reduction. Products, loads and instructions each have
// a rate, and an accumulator waits for its last value. W in 16 bits is widened first. narrow is the
// number of points of a sum in 16 bits, or 0.
func Step(t *target.Target, row *instr.Row, x instr.Operand, stored ir.DType, narrow, r, v int64) float64 {
	loads, instrs := row.Loads(x, r, v)
	loads /= t.LoadsPerCycle
	issue := (float64(r*v*row.Ops) + instrs) / t.IssuePerCycle
	fma := row.Applications(x, r, v, t.Units(row), narrow)/t.FMAPerCycle + float64(float64(v)*t.Widen(stored))
	beside := loads + issue
	if stored != ir.Invalid && x == instr.Memory && v == 1 {
		beside = 1/t.LoadsPerCycle + issue // products bring X themselves: conversions run beside them best
	}
	return max(fma, loads, issue, t.Latency(row)) + float64(hidden*beside)
}
