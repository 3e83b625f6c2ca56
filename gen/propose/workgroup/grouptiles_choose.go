package workgroup

import (
	"cmp"
	"fmt"
	"slices"

	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/match"
)

// groupTile is the tile of a work-group: so many items each way, with register tiles of rows and columns, and how many products of each result
// are between two copies.
type groupTile struct {
	down, across int64 // items
	tall, wide   int64 // rows and columns of an item
	step         int64
	parts        int64 // of each sum, which as many sets of items add
	together     bool  // columns are those of all images
	halves       bool  // of 16 bits, which items of a sub-group multiply together (grouptiles_halves.go)
	kept         int64 // so many rows share the points of their sums that are kept; 0: sums are whole
}

func (t groupTile) String() string {
	text := fmt.Sprintf("%dx%d of %dx%d by %d", t.down*t.tall, t.across*t.wide, t.tall, t.wide, t.step)
	if t.parts > 1 {
		text += fmt.Sprintf(" in %d", t.parts)
	}
	if t.together {
		text += " of all images"
	}
	if t.halves {
		text += " in halves"
	}
	if t.kept > 0 {
		text += fmt.Sprintf(" kept by %d", t.kept)
	}
	return text
}

func (t groupTile) items() int64   { return t.down * t.across * t.parts }
func (t groupTile) rows() int64    { return t.down * t.tall }
func (t groupTile) columns() int64 { return t.across * t.wide }

// LocalPad parts rows of what items share, so that those that store to one column of several rows do so in memory banks of their own.
const LocalPad = 4

// bytes of memory that the items share.
func (t groupTile) bytes() int64 {
	bytes := t.size() * t.step * t.parts * (t.rows() + t.columns() + 2*t.pad())
	if t.parts > 1 {
		bytes += 4 * t.parts * t.rows() * t.columns()
	}
	return bytes
}

// registerTiles are those of an item: tall ones share what they read of W, wide ones of X.
var registerTiles = [][2]int64{{16, 8}, {8, 16}, {12, 8}, {8, 12}, {8, 8}, {8, 4}, {4, 8}, {4, 4}, {2, 4}}

// tiles are those of interest that fit, the one of the least estimate first: of each register tile the best few, or all of them where a kernel is
// asked for by its name.
func (g *groupTiles) tiles() []groupTile {
	all := g.fitting()
	estimates := map[groupTile]float64{}
	for _, t := range all {
		estimates[t] = g.estimate(t)
	}
	slices.SortStableFunc(all, func(a, b groupTile) int { return cmp.Compare(estimates[a], estimates[b]) })
	if g.env.Only != "" || len(all) == 0 {
		return all
	}
	kept, of := all[:1:1], map[[2]int64]int{{all[0].tall, all[0].wide}: 1}
	for _, t := range all[1:] {
		if key := [2]int64{t.tall, t.wide}; of[key] < g.env.Tiles {
			of[key]++
			kept = append(kept, t)
		}
	}
	return kept
}

// fitting are the tiles that a device has the registers and the memory for.
func (g *groupTiles) fitting() []groupTile {
	out := g.fittingOf(registerTiles, groupSteps, groupTile{})
	if g.multipliesHalves() {
		out = append(out, g.fittingOf(halfTiles, halfSteps, groupTile{halves: true})...)
	}
	return out
}

// fittingOf are those of some register tiles and steps, of a kind.
func (g *groupTiles) fittingOf(registers [][2]int64, steps []int64, kind groupTile) []groupTile {
	var out []groupTile
	o, row := g.device, g.row(kind)
	items := min(o.GroupItems, MaxTileItems)
	for _, r := range registers {
		if row.Registers(row.Broadcaster(0), r[0], r[1]/row.Lanes) > g.env.Target.Registers(row) {
			continue
		}
		for down := int64(1); down <= maxGroupSide; down *= 2 {
			for across := int64(1); across <= maxGroupSide && down*across <= items; across *= 2 {
				for _, step := range steps {
					for parts := int64(1); parts <= g.costs.mostParts && parts*down*across <= items; parts *= 2 {
						t := groupTile{down: down, across: across, tall: r[0], wide: r[1], step: step, parts: parts, halves: kind.halves}
						if g.kept != nil {
							t.kept = g.kept.share
						}
						if !t.even() || !g.splits(t) || !g.keeps(t) || !t.suits(row) || t.items() < min(o.SubGroup, o.GroupItems) || t.bytes() > o.LocalBytes || o.UnitRegisters > 0 && g.registers(t)*t.items() > o.UnitRegisters {
							continue
						}
						out = append(out, t)
						if t.together = true; g.images.Axes != nil {
							out = append(out, t)
						}
					}
				}
			}
		}
	}
	return out
}

// splits reports whether sums may be added in so many parts: each has several copies, and an item few results, which pass through memory that items
// share.
func (g *groupTiles) splits(t groupTile) bool {
	n, c := t.tall*t.wide, g.costs
	return t.parts == 1 || g.sum >= minPartSteps*t.parts*t.step && n >= c.leastTile && n <= c.mostTile && t.rows()*t.columns() >= c.leastResults
}

// keeps reports whether a group of items has rows of one group that shares what it keeps, and items have registers for what they copy, which is much
// for what they compute. Tiles of 192 columns took twice as long as estimates: such are left out.
func (g *groupTiles) keeps(t groupTile) bool {
	all, even := g.device.UnitRegisters, t.columns() == Evenly(t.columns())
	return g.kept == nil || g.kept.share%t.rows() == 0 && even && (all == 0 || g.registers(t)*MaxTileItems <= all)
}

// even reports whether a group's rows and columns are so alike in number that it copies little for what it computes, and a step so short that its
// products, which are written out, are few: those of 12x8 by 32 took twice as long as those by 16, which instruction caches hold.
func (t groupTile) even() bool {
	few, many := min(t.rows(), t.columns()), max(t.rows(), t.columns())
	longer := int64(2)
	switch {
	case t.kept > 0:
		longer = longestKept
	case t.parts > 1:
		longer = 4
	}
	products := t.tall * t.wide * t.step
	if t.halves {
		products /= halfProducts
	}
	return many <= longer*few && products <= StepProducts
}

// StepProducts is how many products of an item a step has at most.
const StepProducts = 2048

// longestKept is how many times the rows a group's columns may be, where other rows have other points of the sum.
const longestKept = 16

// minPartSteps is how many copies a part of a sum has at least.
const minPartSteps = 2

// MaxTileItems is the most items of a group: units have several groups at once, and compute one where another waits.
const MaxTileItems = 256

// maxGroupSide is the most items of a group each way, and groupSteps are how many products may be between copies.
const maxGroupSide = 32

var groupSteps = []int64{8, 16, 32}

// arrangement is how many items each way of those that run in step are neighbours, so that they read few rows and few columns.
func (g *groupTiles) arrangement() (down, across int64) {
	if row := g.row(g.groupTile); row.Down > 0 {
		return row.Down, row.Across
	}
	n := g.device.SubGroup
	across = min(g.across, max(1, n/4))
	down = min(g.down, max(1, n/across))
	return down, across
}

// divides reports whether an extent is whole parts.
func (g *groupTiles) divides(r Run, size int64) bool {
	n, known := r.extent.Const()
	return known && n%size == 0
}

// alongSum reports whether neighbours of a factor in memory are neighbours along the sum, and not along a run of the result.
func (g *groupTiles) alongSum(t *match.Term, r Run) bool {
	for _, e := range slices.Backward(t.Load.Index) {
		if _, known := e.Const(); known {
			continue // of one point
		}
		inner := r.Axes[len(r.Axes)-1]
		return !e.Uses(inner.Var) && slices.ContainsFunc(g.Reduce, func(a te.Axis) bool { return e.Uses(a.Var) })
	}
	return false
}
