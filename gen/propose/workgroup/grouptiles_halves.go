package workgroup

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/target/instr"
)

// Factors of 16 bits that the items of a sub-group multiply together, by an instruction that takes in matrices of them (instr.Row.Down): they lie in the
// memory that items share as they are in the device's, so many neighbours along the sum in a row, as the instruction takes them in.

// halfTiles are the register tiles of an item: the instruction takes in two rows and two columns.
var halfTiles = [][2]int64{{8, 16}, {16, 8}, {8, 8}, {4, 8}, {8, 4}, {4, 4}, {2, 8}, {2, 4}, {4, 2}, {2, 2}}

// halfSteps are how many products may be between copies: whole numbers of those that the instruction takes in.
var halfSteps = []int64{32, 64, 128}

// halfProducts is how many products of an item an instruction stands for, which are written out.
const halfProducts = 64

// multipliesHalves reports whether both factors are of 16 bits that a device's items multiply together.
func (g *groupTiles) multipliesHalves() bool {
	t := g.X.Load.Type
	return t == g.W.Load.Type && g.env.Target.Together(t) != nil
}

// row is the instruction of a tile.
func (g *groupTiles) row(t groupTile) *instr.Row {
	if t.halves {
		return g.env.Target.Together(g.X.Load.Type)
	}
	return g.env.Target.Tile(ir.F32)
}

// size is how many bytes an element has that items share.
func (t groupTile) size() int64 {
	if t.halves {
		return 2
	}
	return 4
}

// suits reports whether items can apply an instruction to the tile: whole sub-groups, and steps of whole groups of the sum.
func (t groupTile) suits(row *instr.Row) bool {
	return row.Down == 0 || t.down%row.Down == 0 && t.across%row.Across == 0 && t.tall%2 == 0 && t.step%(row.Group*row.Across) == 0
}

// halfPad parts groups along the sum, of 16 bytes each, so that those that items copy to eight of them at one point, or at eight points of one, are in memory
// banks of their own.
const halfPad = 1

// pad is how many points lie between what items share at one place of the sum and the next.
func (t groupTile) pad() int64 {
	if t.halves {
		return halfPad
	}
	return LocalPad
}

// groupedParts are where a copy lies of which neighbours along the sum are neighbours, as many as the instruction takes in at a time.
func groupedParts(rank int, group int64) layout.Parts {
	parts := layout.PartsOf(layout.RowMajor, rank-2)
	return append(parts, layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2, Pad: halfPad}, layout.Part{Axis: rank - 1, Size: group})
}

// Costs of halves, in cycles and instructions.
const (
	MatrixCycles   = 8   // of 16 rows, 8 columns and 16 points of the sum, until a port takes the next ones
	halfReadCycles = 2   // of a read by a sub-group of what an instruction takes in of a row or a column, 8 bytes for each item
	halfCopySlots  = 3.5 // instructions of an element that is copied
)

// halfStep is the cycles of a step of so many groups that a unit computes at once, of halves: what ports multiply, what sub-groups issue, and what they
// read of memory that they share.
func (u unit) halfStep(groups float64) float64 {
	times := float64(u.groupTile.step) / 16
	matrices := float64(float64(u.tall*u.wide) / 4 * times)
	reads := float64((float64(u.tall) + float64(float64(u.wide)/2)) * times)
	on := math.Ceil(groups * u.subGroups / u.ports)
	multiply := float64(on * matrices * MatrixCycles)
	issue := float64(on * (matrices + reads + float64(float64(u.copies+halfCopySlots)*float64(u.copied())) + u.stepSlots))
	shared := float64(groups * u.subGroups * (float64(reads*halfReadCycles) + float64(float64(u.copied())/4)))
	most := max(multiply, issue, shared)
	alone := float64(matrices*MatrixCycles) + float64(2*reads)
	return max(most+float64(u.exposed*(multiply+issue+shared-most)), alone)
}
