package workgroup

import (
	"fmt"
	"math/bits"

	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
)

// copyLoops are the loops of a copy of so many points of a factor, and how it lies.
func (g *groupTiles) copyLoops(st *GroupStage, n int, sums bool, points int64) (lower.LoopList, layout.Parts) {
	if g.groupTile.halves {
		return g.copyGroups(st, n, sums, points)
	}
	return CopyLoops(st, n, sums, g.kept != nil, points, g.step, g.items()/g.parts)
}

// CopyLoops are the loops of a copy, such that items that are neighbours copy neighbours in memory, along the sum or not, and how it lies: of so many
// points and so many of the sum, its last two axes, by so many items; n is its number.
// Of what a table tells no item reads neighbours at once, so that those of neighbouring items are neighbours.
func CopyLoops(st *GroupStage, n int, sums, table bool, points, sum, items int64) (lower.LoopList, layout.Parts) {
	rank := len(st.Axes)
	parts := layout.PartsOf(layout.RowMajor, rank)
	parts[rank-2], parts[rank-1] = layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2}
	fast, slow, many, few := st.Axes[rank-2].Var, st.Axes[rank-1].Var, points, sum // axes, and how many points they have
	if sums {
		fast, slow, many, few = slow, fast, few, many
		parts[rank-1].Pad = LocalPad
	}
	across := min(Evenly(many), powerOf2(items))
	down := min(Evenly(few), max(1, powerOf2(items/across)))
	var all lower.LoopList
	of := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	all.Add(sched.Item, of("g6d"), slow, 0, sched.Exact)
	switch {
	case many <= across:
		all.Add(sched.Item, of("g6a"), fast, 0, sched.Exact)
	case table:
		st.Sched.Splits = []sched.Split{{Axis: fast, Outer: of("g6o"), Inner: of("g6i"), Size: across}}
		all.Add(sched.Item, of("g6a"), of("g6i"), 0, sched.Exact)
		all.Add(sched.Serial, of("g6v"), of("g6o"), 0, sched.Exact)
	default:
		all.Add(sched.Item, of("g6a"), fast, 0, sched.Exact)
		all.Add(sched.Serial, of("g6v"), fast, many/across, sched.Exact)
	}
	if few > down {
		all.Add(sched.Serial, of("g6u"), slow, few/down, sched.Exact)
	}
	return all, parts
}

// powerOf2 is the greatest power of two that is no more than n, 0 of 0.
func powerOf2(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return 1 << (bits.Len64(uint64(n)) - 1)
}

// copyGroups is copyLoops of halves.
func (g *groupTiles) copyGroups(st *GroupStage, n int, sums bool, size int64) (lower.LoopList, layout.Parts) {
	group := g.row(g.groupTile).Group
	return CopyGroups(st, n, sums, g.squares(n), group, size, g.step, g.items()/g.parts), groupedParts(len(st.Axes), group)
}

// CopyGroups is CopyLoops where an item copies neighbours along the sum that lie together, so many a group, and items that are neighbours copy neighbours in
// memory; squares: in which four points are.
func CopyGroups(st *GroupStage, n int, sums, squares bool, group, size, sum, items int64) lower.LoopList {
	rank, groups := len(st.Axes), sum/group
	k, point := st.Axes[rank-1].Var, st.Axes[rank-2].Var
	inner := min(Evenly(size), items)
	if square := Evenly(size) / Quad; squares && square*groups >= items {
		inner = min(square, items) // an item has neighbours of both kinds
	}
	outer := min(Evenly(groups), max(1, items/inner))
	if sums {
		inner = min(Evenly(groups), items)
		outer = min(Evenly(size), max(1, items/inner))
	}
	var all lower.LoopList
	of := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	along, points := inner, outer // items along the sum, and others
	if sums {
		all.Add(sched.Item, of("g6d"), point, 0, sched.Exact)
		all.Add(sched.Item, of("g6a"), k, 0, sched.Exact)
	} else {
		along, points = outer, inner
		all.Add(sched.Item, of("g6d"), k, 0, sched.Exact)
		all.Add(sched.Item, of("g6a"), point, 0, sched.Exact)
	}
	if groups > along {
		all.Add(sched.Serial, of("g6u"), k, groups/along, sched.Exact)
	}
	if size > points { // next to the neighbours along the sum, so that squares of both are fetched at once
		all.Add(sched.Serial, of("g6v"), point, size/points, sched.Exact)
	}
	all.Add(sched.Serial, of("g6w"), k, group, sched.Exact)
	return all
}

// squares reports whether four points of a factor's run are neighbours in memory, from a multiple of them on.
func (g *groupTiles) squares(n int) bool {
	t, r := g.X, g.rows
	if n == 1 {
		t, r = g.W, g.columns
	}
	extent, known := r.Axes[len(r.Axes)-1].Extent.Const()
	return g.packed[n] == nil && !g.windowed(t) && known && extent%Quad == 0
}

// Evenly is the most items, a power of two, that points can be divided among.
func Evenly(points int64) int64 { return points & -points }
