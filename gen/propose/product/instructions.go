package product

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// takesDots reports whether instructions that take in neighbours along the sum at a time may compute the products: of integers, or of floats of 16 bits where
// these may be summed in pairs.
func takesDots(m *match.Match, t *target.Target) bool {
	return m.Sum() == ir.I32 || len(pairs(m, t)) > 0
}

// pairs returns the instructions that sum the products in pairs.
func pairs(m *match.Match, t *target.Target) []*instr.Row {
	x, w := m.Factors[0], m.Factors[1]
	if m.Sum() != ir.F32 || len(m.Reduce) == 0 || x.Zero != nil || w.Zero != nil || x.Computed != nil || w.Computed != nil {
		return nil
	}
	return slices.DeleteFunc(t.Pairs(ir.F32), func(r *instr.Row) bool { return r.X != x.Load.Type || r.W != w.Load.Type })
}

// halves returns the instruction that adds products of f16 in f16, if the target allows it and both
// factors are f16 as they are stored.
func halves(m *match.Match, t *target.Target) []*instr.Row {
	row := t.Halves()
	for _, f := range m.Factors {
		if row == nil || f.Load.Type != ir.F16 || f.Computed != nil {
			return nil
		}
	}
	return []*instr.Row{row}
}

// widening returns the instruction that adds products of f16 in f32, if both factors are f16 as they
// are stored.
func widening(m *match.Match, t *target.Target) []*instr.Row {
	row := t.Widening()
	for _, f := range m.Factors {
		if row == nil || f.Load.Type != ir.F16 || f.Computed != nil {
			return nil
		}
	}
	return []*instr.Row{row}
}

// instructions returns the instructions that may compute products of floats, and of bytes.
func instructions(m *match.Match, t *target.Target) []*instr.Row {
	for _, f := range m.Factors {
		switch {
		case !m.FixedDefault(f):
			return nil
		case m.Sum() == ir.F32 && f.Zero != nil:
			return nil
		case m.Sum() == ir.I32 && (f.Load.Type.Size() != 1 || !f.Load.Type.IsInteger()):
			return nil
		}
	}
	if rows := pairs(m, t); len(rows) > 0 {
		return rows
	}
	switch row := t.Tile(ir.F32); {
	case m.Sum() == ir.F32 && row != nil:
		return slices.Concat(halves(m, t), widening(m, t), []*instr.Row{row})
	case m.Sum() == ir.I32 && len(m.Reduce) > 0:
		return t.Dots(ir.I32)
	}
	return nil
}

// findInstruction finds the instruction that reads the most as it is stored, and what it takes neighbours of.
func (p *product) findInstruction(rows []*instr.Row) {
	q := *p
	best := -1
	for _, r := range rows {
		q.instr, q.group = r, ""
		q.findWindows()
		q.findGroup()
		fit := 0
		if q.storedW = q.readsW(); q.storedW {
			fit += 4
		}
		if r.X == p.X.Load.Type {
			fit += 2
		}
		if r.W == p.W.Load.Type {
			fit++
			if p.last { // X is converted where it is packed: sums of its rows, which other weights take, are dearer
				fit += 2
			}
		}
		if fit > best {
			best, *p = fit, q
		}
	}
}

// kinds returns a chip's instructions by kind. Products of each kind are candidates: by vectors, by
// blocks of two rows, by matrices, and by each instruction that adds in f16, or in integers of 16 bits
// first, whose cost depends on the weights.
func kinds(rows []*instr.Row) [][]*instr.Row {
	var vectors, blocks, matrices []*instr.Row
	var apart [][]*instr.Row
	for _, r := range rows {
		switch {
		case r.Narrow > 0:
			apart = append(apart, []*instr.Row{r})
		case r.Matrix > 0:
			matrices = append(matrices, r)
		case r.InHalves():
			apart = append(apart, []*instr.Row{r})
		case r.Blocks:
			blocks = append(blocks, r)
		default:
			vectors = append(vectors, r)
		}
	}
	return slices.DeleteFunc(append([][]*instr.Row{vectors, blocks, matrices}, apart...), func(of []*instr.Row) bool { return of == nil })
}

// kind distinguishes kernels of one block: of matrices or of vectors, and those whose lanes lie apart in the row-major result, as another kernel has
// the other factor in lanes.
func (p *product) kind() string {
	kind := Anchor
	if p.instr.Narrow > 0 {
		kind += " by " + p.instr.Name
	}
	if p.instr.InPairs() {
		kind += " in pairs"
	}
	if p.instr.Blocks {
		kind += " by blocks"
	}
	if p.instr.InHalves() {
		kind += " in f16"
	}
	if p.instr.Matrix > 0 {
		kind += " of matrices"
	}
	if p.beside && p.Sum() == ir.F32 {
		kind += " of floats"
	}
	if !p.sideBySide() {
		kind += " across"
	}
	return kind
}
