package lower

import (
	"slices"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target"
)

// matrixCycles estimates a call of a micro-kernel of an instruction that multiplies matrices: in each step of its sum, registers are loaded row by row, and
// each accumulator takes in a product. The unit takes one after the other; the first ones wait for loads, and the accumulators that are stored for the last.
func matrixCycles(t *target.Target, row *instr.Row, rows, vectors, steps int64) float64 {
	high := row.High(rows)
	products := float64(high*vectors) * row.Units
	loads := (float64(rows) + float64(vectors*row.Matrix)) / t.LoadsPerCycle
	stores := float64(rows*vectors) * t.StoreCycles()
	return callCycles + float64(float64(steps)*max(products, loads, row.Latency)) + row.Latency + stores
}

// kinds are a chip's instructions that multiply vectors, and those that multiply matrices: products of each are candidates of their own.
func kinds(rows []*instr.Row) [][]*instr.Row {
	var vectors, matrices []*instr.Row
	for _, r := range rows {
		if r.Matrix > 0 {
			matrices = append(matrices, r)
		} else {
			vectors = append(vectors, r)
		}
	}
	return slices.DeleteFunc([][]*instr.Row{vectors, matrices}, func(of []*instr.Row) bool { return of == nil })
}

// kind distinguishes kernels of one block: of matrices or of vectors, and those whose lanes lie apart in the row-major result, as another kernel has
// the other factor in lanes.
func (p *product) kind() string {
	kind := productAnchor
	if p.instr.Matrix > 0 {
		kind += " of matrices"
	}
	if p.beside && p.sum() == ir.F32 {
		kind += " of floats"
	}
	if !p.sideBySide() {
		kind += " across"
	}
	return kind
}
