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
	products := float64(float64(high*vectors) * row.Units)
	loads := (float64(rows) + float64(vectors*row.Matrix)) / t.LoadsPerCycle
	stores := float64(float64(rows*vectors) * t.StoreCycles())
	return callCycles + float64(float64(steps)*max(products, loads, row.Latency)) + row.Latency + stores
}

// kinds are a chip's instructions, of which products of each kind are candidates of their own: those that multiply vectors and add in accumulators, those
// that multiply matrices, and each by itself of those that add in 16 bits first, as what they cost depends on the weights.
func kinds(rows []*instr.Row) [][]*instr.Row {
	var vectors, matrices []*instr.Row
	var narrow [][]*instr.Row
	for _, r := range rows {
		switch {
		case r.Narrow > 0:
			narrow = append(narrow, []*instr.Row{r})
		case r.Matrix > 0:
			matrices = append(matrices, r)
		default:
			vectors = append(vectors, r)
		}
	}
	return slices.DeleteFunc(append([][]*instr.Row{vectors, matrices}, narrow...), func(of []*instr.Row) bool { return of == nil })
}

// kind distinguishes kernels of one block: of matrices or of vectors, and those whose lanes lie apart in the row-major result, as another kernel has
// the other factor in lanes.
func (p *product) kind() string {
	kind := productAnchor
	if p.instr.Narrow > 0 {
		kind += " by " + p.instr.Name
	}
	if p.instr.InPairs() {
		kind += " in pairs"
	}
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
