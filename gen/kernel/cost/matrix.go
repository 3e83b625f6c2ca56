package cost

import (
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// MatrixCycles estimates a call of a micro-kernel whose instruction multiplies matrices. In each
// step of its sum, registers are loaded row by row, and each accumulator takes in a product. The
// unit takes them in turn. The first products wait for loads, and stores of accumulators for the
// last.
func MatrixCycles(t *target.Target, row *instr.Row, rows, vectors, steps int64) float64 {
	high := row.High(rows)
	products := float64(float64(high*vectors) * row.Units)
	loads := (float64(rows) + float64(vectors*row.Matrix)) / t.LoadsPerCycle
	stores := float64(float64(rows*vectors) * t.StoreCycles())
	return PerCall + float64(float64(steps)*max(products, loads, row.Latency)) + row.Latency + stores
}
