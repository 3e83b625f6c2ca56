package lower

import (
	"fmt"
	"math/bits"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Names of loops and parts of axes beside those of contractions.
const (
	downGroups, acrossGroups = "g0m", "g0n"
	productsVar              = "g0k"
	quad                     = 4 // neighbouring rows of an item
)

// schedule is the stages and where they are computed: copies of both factors in each step of the sum, and the contraction.
func (g *groupTiles) schedule() *proposal {
	if g.parts > 1 {
		return g.apart()
	}
	p := newProposal(g.env.Symbols)
	x := g.copies(p, 0, g.x, g.rows, downGroups, g.groupTile.rows())
	w := g.copies(p, 1, g.w, g.columns, acrossGroups, g.groupTile.columns())
	st := newGroupStage(g.stage.Name, g.r.facts, sched.Root)
	st.Combine, st.Reduce = g.stage.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.each())}}
	batch, row, column := g.axes(st)
	at := func(of int, v sym.Expr) te.Expr {
		return g.copied(of, append(slices.Clone(batch), v, sym.Var("r0"))...)
	}
	factors := [2]te.Expr{at(x, row), at(w, column)}
	if g.x == g.factors[1] {
		factors[0], factors[1] = factors[1], factors[0]
	}
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", factors[0], factors[1])}
	for _, e := range g.stage.Results {
		st.Results = append(st.Results, st.subst(e))
	}
	p.addStage(&st.Stage, g.loops(batch, name(row), name(column)))
	g.ends(p)
	return p
}

// copied is an element of a copy.
func (g *groupTiles) copied(of int, at ...sym.Expr) te.Expr {
	if g.groupTile.halves {
		return asF32(te.FromStage(of, g.x.load.Type, at...))
	}
	return te.FromStage(of, ir.F32, at...)
}

// sums adds the loops over the products of a step.
func (g *groupTiles) sums(all *loopList) {
	row := g.row(g.groupTile)
	all.add(sched.Sum, kVar(0), "r0", g.step/row.Group, sched.Exact)
	if row.Group > 1 {
		all.add(sched.Dot, kVar(1), "r0", row.Group, sched.Exact)
	}
}

// ends says where the results lie, and gives the proposal the operands that its stages read.
func (g *groupTiles) ends(p *proposal) {
	n := len(p.work.Stages) - 1
	if g.together {
		parts, axis := layout.Parts{}, 0
		for i, a := range g.stage.Axes {
			switch {
			case i == g.columns.outer:
				parts = append(parts, layout.Part{Axis: len(p.work.Stages[n].Axes) - 1})
			case a.Extent.Is(1) || i > g.rows.first && g.rows.has(i) || i > g.columns.first && g.columns.has(i):
			case i == g.columns.first:
				parts = append(parts, layout.Part{Axis: axis, Size: g.columns.inner()})
			default:
				parts = append(parts, layout.Part{Axis: axis})
				axis++
			}
		}
		for k := range p.work.Stages[n].Results {
			p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: n, Part: k}, Parts: parts})
		}
	}
	var made [3]*madeOperand
	for n, f := range g.packed {
		if f != nil {
			made[n] = &f.madeOperand
		}
	}
	if g.kept != nil {
		made[2] = g.kept.table()
	}
	readOperands(p, g.r.operands, made[:]...)
}

// name is that of a variable.
func name(v sym.Expr) string {
	s, _ := v.AsVar()
	return s
}

// axes gives the contraction its own: of the batch, of all rows and of all columns.
func (g *groupTiles) axes(st *groupStage) (batch []sym.Expr, row, column sym.Expr) {
	for i, a := range g.stage.Axes {
		switch {
		case a.Extent.Is(1):
			st.names[a.Var] = sym.Const(0)
		case g.rows.first == i:
			row = st.axis(g.rows.extent)
			g.rows.parts(row, st.names, st.facts)
		case g.columns.first == i:
			column = st.axis(g.columns.extent)
			g.columns.parts(column, st.names, st.facts)
		case g.rows.has(i) || g.columns.has(i):
		default:
			v := st.axis(a.Extent)
			st.names[a.Var], batch = v, append(batch, v)
		}
	}
	return batch, row, column
}

// loops are those of the contraction.
func (g *groupTiles) loops(batch []sym.Expr, row, column string) sched.Stage {
	t := g.groupTile
	tall := min(t.tall, quad)
	if t.halves {
		tall = 1
	}
	s := sched.Stage{At: sched.Root, Tile: g.tile()}
	lanes := g.row(t).Lanes
	s.Splits = []sched.Split{{Axis: row, Outer: "g1m", Inner: "g2m", Size: t.down * tall}, {Axis: column, Outer: "g1n", Inner: "g2n", Size: t.across * lanes}}
	var all loopList
	for i, v := range batch {
		all.add(sched.Group, batchVar(i), name(v), 0, sched.Exact)
	}
	all.add(sched.Group, downGroups, "g1m", 0, sched.Exact)
	all.add(sched.Group, acrossGroups, "g1n", 0, sched.Exact)
	all.add(sched.Serial, productsVar, "r0", 0, sched.Exact)
	down, across := g.arrangement()
	all.add(sched.Item, "g3m", "g2m", 0, sched.Exact)
	all.add(sched.Item, "g3n", "g2n", 0, sched.Exact)
	all.add(sched.Item, "g4m", "g2m", down, sched.Exact)
	all.add(sched.Item, "g4n", "g2n", across, sched.Exact)
	all.add(sched.Rows, runVar, "g1m", t.tall/tall, edge(!g.divides(g.rows, t.rows()), sched.RoundUp))
	if tall > 1 {
		all.add(sched.Rows, rowVar, "g2m", tall, sched.Exact)
	}
	all.add(sched.Columns, vecVar, "g1n", t.wide/lanes, edge(!g.divides(g.columns, t.columns()), sched.RoundUp))
	all.add(sched.Lanes, laneVar, "g2n", lanes, sched.Exact)
	g.sums(&all)
	s.Loops = all
	return s
}

// tile is an item's instruction.
func (g *groupTiles) tile() *sched.Tile {
	row := g.row(g.groupTile)
	return &sched.Tile{Row: row.Name, X: row.Broadcaster(0)}
}

func batchVar(i int) string { return fmt.Sprintf("g5_%d", i) }

// copies adds the stage that copies what a group reads of a factor in a step, with zeros beyond it, and gives its number.
func (g *groupTiles) copies(p *proposal, n int, t *term, r run, groups string, size int64) int {
	st := newGroupStage("copy", g.r.facts, sched.Ref{Stage: 2, Loop: productsVar})
	st.sched.Ahead = true // what the next step needs is fetched while items compute the one at hand
	for i, a := range g.batch {
		st.names[a.Var] = st.region(a.Extent, sym.Var(batchVar(i)), 1, a.Extent)
	}
	for _, a := range g.stage.Axes {
		if a.Extent.Is(1) {
			st.names[a.Var] = sym.Const(0)
		}
	}
	part := sym.Const(0)
	if g.parts > 1 {
		part = st.axis(sym.Const(g.parts))
	}
	point := g.whole(st, r, groups, size)
	r.parts(point, st.names, st.facts)
	each := sym.Const(g.each())
	k := st.region(each, sym.Scale(sym.Var(productsVar), g.step), g.step, each)
	k = sym.Add(sym.Mul(part, each), k)
	st.within(k, sym.Scale(each, g.parts), sym.Const(g.sum))
	at := k
	if g.kept != nil {
		at = g.kept.point(st)
	}
	run{axes: g.reduce}.parts(at, st.names, st.facts)
	l := st.subst(t.load).(te.Load)
	packed := g.packed[n] != nil
	if packed {
		l.Source, l.Index = te.Source{N: madeSource - n}, nil
		for _, of := range g.packed[n].own {
			l.Index = append(l.Index, st.names[of])
		}
		l.Index = append(l.Index, g.packed[n].index(k, point, st.facts)...)
	}
	if len(st.there) > 0 {
		l.Guard, l.Default = slices.Concat(l.Guard, st.there), te.Number(l.Type, 0)
	}
	v := asF32(l)
	if g.groupTile.halves {
		v = l
	}
	if g.kept != nil && !packed {
		v = g.kept.bind(st, v, k)
	}
	st.Results = []te.Expr{v}
	loops, parts := g.copyLoops(st, n, !packed && g.alongSum(t, r), size)
	if g.parts > 1 {
		loops = append(loopList{{Kind: sched.Item, Var: fmt.Sprintf("g6s%d", n), Axis: st.Axes[len(st.Axes)-3].Var}}, loops...)
	}
	st.sched.Loops = loops
	stage := p.addStage(&st.Stage, st.sched)
	p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: stage}, Parts: parts, Space: sched.Local})
	return stage
}

// copyLoops are the loops of a copy of so many points of a factor, and how it lies.
func (g *groupTiles) copyLoops(st *groupStage, n int, sums bool, points int64) (loopList, layout.Parts) {
	if g.groupTile.halves {
		return g.copyGroups(st, n, sums, points)
	}
	return copyLoops(st, n, sums, g.kept != nil, points, g.step, g.items()/g.parts)
}

// copyLoops are the loops of a copy, such that items that are neighbours copy neighbours in memory, along the sum or not, and how it lies: of so many
// points and so many of the sum, its last two axes, by so many items; n is its number.
// Of what a table tells no item reads neighbours at once, so that those of neighbouring items are neighbours.
func copyLoops(st *groupStage, n int, sums, table bool, points, sum, items int64) (loopList, layout.Parts) {
	rank := len(st.Axes)
	parts := layout.PartsOf(layout.RowMajor, rank)
	parts[rank-2], parts[rank-1] = layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2}
	fast, slow, many, few := st.Axes[rank-2].Var, st.Axes[rank-1].Var, points, sum // axes, and how many points they have
	if sums {
		fast, slow, many, few = slow, fast, few, many
		parts[rank-1].Pad = localPad
	}
	across := min(evenly(many), powerOf2(items))
	down := min(evenly(few), max(1, powerOf2(items/across)))
	var all loopList
	of := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	all.add(sched.Item, of("g6d"), slow, 0, sched.Exact)
	switch {
	case many <= across:
		all.add(sched.Item, of("g6a"), fast, 0, sched.Exact)
	case table:
		st.sched.Splits = []sched.Split{{Axis: fast, Outer: of("g6o"), Inner: of("g6i"), Size: across}}
		all.add(sched.Item, of("g6a"), of("g6i"), 0, sched.Exact)
		all.add(sched.Serial, of("g6v"), of("g6o"), 0, sched.Exact)
	default:
		all.add(sched.Item, of("g6a"), fast, 0, sched.Exact)
		all.add(sched.Serial, of("g6v"), fast, many/across, sched.Exact)
	}
	if few > down {
		all.add(sched.Serial, of("g6u"), slow, few/down, sched.Exact)
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

// copyGroups is copyLoops of halves: an item copies neighbours along the sum that lie together, and items that are neighbours copy neighbours in memory.
func (g *groupTiles) copyGroups(st *groupStage, n int, sums bool, size int64) (loopList, layout.Parts) {
	rank, group := len(st.Axes), g.row(g.groupTile).Group
	k, point := st.Axes[rank-1].Var, st.Axes[rank-2].Var
	items, groups := g.items()/g.parts, g.step/group
	inner := min(evenly(size), items)
	if square := evenly(size) / group; g.squares(n, group) && square*groups >= items {
		inner = min(square, items) // an item has as many neighbours of both kinds
	}
	outer := min(evenly(groups), max(1, items/inner))
	if sums {
		inner = min(evenly(groups), items)
		outer = min(evenly(size), max(1, items/inner))
	}
	var all loopList
	of := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	along, points := inner, outer // items along the sum, and others
	if sums {
		all.add(sched.Item, of("g6d"), point, 0, sched.Exact)
		all.add(sched.Item, of("g6a"), k, 0, sched.Exact)
	} else {
		along, points = outer, inner
		all.add(sched.Item, of("g6d"), k, 0, sched.Exact)
		all.add(sched.Item, of("g6a"), point, 0, sched.Exact)
	}
	if groups > along {
		all.add(sched.Serial, of("g6u"), k, groups/along, sched.Exact)
	}
	if size > points { // next to the neighbours along the sum, so that squares of both are fetched at once
		all.add(sched.Serial, of("g6v"), point, size/points, sched.Exact)
	}
	all.add(sched.Serial, of("g6w"), k, group, sched.Exact)
	return all, groupedParts(rank, group)
}

// squares reports whether as many points of a factor's run are neighbours in memory, from a multiple of them on.
func (g *groupTiles) squares(n int, group int64) bool {
	t, r := g.x, g.rows
	if n == 1 {
		t, r = g.w, g.columns
	}
	extent, known := r.axes[len(r.axes)-1].Extent.Const()
	return g.packed[n] == nil && !g.windowed(t) && known && extent%group == 0
}

// evenly is the most items, a power of two, that points can be divided among.
func evenly(points int64) int64 { return points & -points }
