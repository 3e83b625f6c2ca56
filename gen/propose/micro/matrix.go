package micro

import (
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// matrixCycles estimates a call of a micro-kernel of an instruction that multiplies matrices: in each step of its sum, registers are loaded row by row, and
// each accumulator takes in a product. The unit takes one after the other; the first ones wait for loads, and the accumulators that are stored for the last.
func matrixCycles(t *target.Target, row *instr.Row, rows, vectors, steps int64) float64 {
	high := row.High(rows)
	products := float64(float64(high*vectors) * row.Units)
	loads := (float64(rows) + float64(vectors*row.Matrix)) / t.LoadsPerCycle
	stores := float64(float64(rows*vectors) * t.StoreCycles())
	return callCycles + float64(float64(steps)*max(products, loads, row.Latency)) + row.Latency + stores
}
