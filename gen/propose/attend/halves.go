package attend

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/workgroup"
)

// Attention of 16 bits whose products items of a sub-group compute together, by an instruction that takes in matrices (instr.Row.Down): copies and weights lie in
// the memory that items share in groups of neighbours along a sum, as in workgroup, and scores, maxima and sums stay f32. Weights are rounded to 16 bits
// before they are multiplied, and not before they are summed.

// What is tried.
var (
	halfRows  = []int64{16, 32, 64, 128}
	halfKeys  = []int64{32, 64}
	halfTalls = []int64{2, 4}
	halfSteps = []int64{32, 64}
)

// multipliesHalves reports whether a device's items multiply all factors together.
func (a *attention) multipliesHalves() bool {
	t := a.v.Load.Type
	return t != ir.F32 && a.q.Load.Type == t && a.k.Load.Type == t && a.env.Target.Together(t) != nil
}

// halfTiles are the tiles that fit, of halves: an item has the columns of all that are across.
func (a *attention) halfTiles(known bool) []attentionTile {
	if !a.multipliesHalves() {
		return nil
	}
	var all []attentionTile
	row := a.env.Target.Together(a.v.Load.Type)
	columns, _ := a.column.Extent.Const()
	eight := row.Across * row.Lanes
	for _, rows := range halfRows {
		for _, chunk := range halfKeys {
			for _, tall := range halfTalls {
				for _, step := range halfSteps {
					t := attentionTile{rows: rows, chunk: chunk, tall: tall, tallScores: tall, wideScores: chunk / row.Across, wide: (columns + eight - 1) / eight * row.Lanes, step: step, halves: true}
					at := *a
					at.attentionTile, at.granule = t, t.rows
					scores, results := at.itemsOf()
					t.items = max(scores, results)
					if rows%(tall*row.Down) != 0 || scores != results || !at.fits(t.items, scores, results) {
						continue
					}
					all = append(all, t)
					if t.ahead = true; known && micro.Usual(a.key.Extent) > chunk {
						all = append(all, t)
					}
				}
			}
		}
	}
	return all
}

// size is how many bytes an element of keys and values has as it is read.
func (t attentionTile) size() int64 {
	if t.halves {
		return 2
	}
	return 4
}

// matrixReads is the cycles of a read of four matrices by a sub-group.
const matrixReads = 4

// halfProducts is what so many sub-groups issue for a tile's products, or wait for what multiplies, what they read of memory that they share, and what one alone
// takes.
func halfProducts(subs, tall, wide, sum float64) (issue, reads, alone float64) {
	times := sum / 16
	matrices := float64(tall * wide / 4 * times)
	n := float64((float64(tall/2) + float64(wide/4)) * times)
	slots := float64(matrices*workgroup.MatrixCycles) + n
	return float64(subs * slots), float64(subs * n * matrixReads), slots
}

// factor is an element of what items share, as it is multiplied.
func (a *attention) factor(of int, at ...sym.Expr) te.Expr {
	if a.halves {
		return match.AsF32(te.FromStage(of, a.v.Load.Type, at...))
	}
	return te.FromStage(of, ir.F32, at...)
}

// groupedRows is where rows lie of which neighbours along a sum are neighbours: those of neighbouring items are next to each other, so that they are read from
// memory banks of their own.
func (a *attention) groupedRows(rank int) layout.Parts {
	parts := layout.PartsOf(layout.RowMajor, rank-2)
	return append(parts, layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2, Size: a.tall}, layout.Part{Axis: rank - 2}, layout.Part{Axis: rank - 1, Size: a.instruction().Group})
}

// groupedColumns is that of columns, of which so many are an item's, and an instruction's lie together.
func (a *attention) groupedColumns(rank int, wide int64) layout.Parts {
	parts, row := layout.PartsOf(layout.RowMajor, rank-2), a.instruction()
	return append(parts, layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2, Size: wide / row.Lanes}, layout.Part{Axis: rank - 2}, layout.Part{Axis: rank - 2, Size: row.Lanes},
		layout.Part{Axis: rank - 1, Size: row.Group})
}

// groupedCopy is where a copy lies.
func (a *attention) groupedCopy(n, rank int) layout.Parts {
	switch n {
	case copiedQueries:
		return a.groupedRows(rank)
	case copiedKeys:
		return a.groupedColumns(rank, a.wideScores)
	default:
		return a.groupedColumns(rank, a.wide)
	}
}

// squares reports whether four points of a factor are neighbours in memory, from a multiple of four on.
func (a *attention) squares(t *match.Term) bool {
	v := a.b.Operands[t.Load.Source.N]
	last, known := v.Shape[len(v.Shape)-1].Const()
	return known && last%workgroup.Quad == 0 && slices.ContainsFunc(t.Load.Index, func(e sym.Expr) bool { return e.Uses(a.column.Var) || e.Uses(a.key.Var) })
}
