package lower

import (
	"fmt"
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
	p := newProposal(g.env.Symbols)
	step := func(n int64) int64 { return (n + g.step - 1) / g.step * g.step }
	whole := func(r run, size int64) sym.Expr {
		return sym.Scale(sym.CeilDiv(r.extent, sym.Const(size), g.env.Symbols), size)
	}
	x := g.copies(p, 0, g.x, g.rows, downGroups, g.groupTile.rows(), whole(g.rows, g.groupTile.rows()), step(g.sum))
	w := g.copies(p, 1, g.w, g.columns, acrossGroups, g.groupTile.columns(), whole(g.columns, g.groupTile.columns()), step(g.sum))
	st := te.Stage{Name: g.stage.Name, Combine: g.stage.Combine, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(step(g.sum))}}}
	names := map[string]sym.Expr{}
	facts := g.r.facts
	axis := func(extent sym.Expr) string {
		v := fmt.Sprintf("i%d", len(st.Axes))
		st.Axes = append(st.Axes, te.Axis{Var: v, Extent: extent})
		_, hi := extent.Bounds(facts)
		facts[v] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		return v
	}
	var batch []sym.Expr
	var row, column string
	original := g.stage.Axes
	for i, a := range original {
		switch {
		case a.Extent.Is(1):
			names[a.Var] = sym.Const(0)
		case g.rows.first == i:
			row = axis(g.rows.extent)
			g.rows.parts(sym.Var(row), names, facts)
		case g.columns.first == i:
			column = axis(g.columns.extent)
			g.columns.parts(sym.Var(column), names, facts)
		case g.rows.has(i) || g.columns.has(i):
		default:
			v := sym.Var(axis(a.Extent))
			names[a.Var], batch = v, append(batch, v)
		}
	}
	at := func(of int, v string) te.Expr {
		return te.FromStage(of, ir.F32, append(slices.Clone(batch), sym.Var(v), sym.Var("r0"))...)
	}
	factors := [2]te.Expr{at(x, row), at(w, column)}
	if g.x == g.factors[1] {
		factors[0], factors[1] = factors[1], factors[0]
	}
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", factors[0], factors[1])}
	for _, e := range g.stage.Results {
		st.Results = append(st.Results, te.SubstIndices(e, names, facts))
	}
	p.addStage(&st, g.loops(batch, row, column))
	readOperands(p, g.r.operands)
	return p
}

// loops are those of the contraction.
func (g *groupTiles) loops(batch []sym.Expr, row, column string) sched.Stage {
	t := g.groupTile
	tall := min(t.tall, quad)
	s := sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: g.env.Target.Tile(ir.F32).Name, X: g.env.Target.Tile(ir.F32).Broadcaster(0)}}
	lanes := g.env.Target.Tile(ir.F32).Lanes
	s.Splits = []sched.Split{{Axis: row, Outer: "g1m", Inner: "g2m", Size: t.down * tall}, {Axis: column, Outer: "g1n", Inner: "g2n", Size: t.across * lanes}}
	var all loopList
	for i, v := range batch {
		name, _ := v.AsVar()
		all.add(sched.Group, batchVar(i), name, 0, sched.Exact)
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
	all.add(sched.Rows, rowVar, "g2m", tall, sched.Exact)
	all.add(sched.Columns, vecVar, "g1n", t.wide/lanes, edge(!g.divides(g.columns, t.columns()), sched.RoundUp))
	all.add(sched.Lanes, laneVar, "g2n", lanes, sched.Exact)
	all.add(sched.Sum, kVar(0), "r0", t.step, sched.Exact)
	s.Loops = all
	return s
}

func batchVar(i int) string { return fmt.Sprintf("g5_%d", i) }

// copies adds the stage that copies what a group reads of a factor in a step, with zeros beyond it, and gives its number. Items that are
// neighbours copy neighbours in memory.
func (g *groupTiles) copies(p *proposal, n int, t *term, r run, groups string, size int64, whole sym.Expr, sum int64) int {
	st := &te.Stage{Name: "copy"}
	s := sched.Stage{At: sched.Ref{Stage: 2, Loop: productsVar}}
	names, facts := map[string]sym.Expr{}, g.r.facts
	var there []te.Within
	add := func(extent sym.Expr, first sym.Expr, region int64) sym.Expr {
		v := fmt.Sprintf("i%d", len(st.Axes))
		st.Axes = append(st.Axes, te.Axis{Var: v, Extent: extent})
		s.Regions = append(s.Regions, sched.Region{Axis: v, First: first, Extent: region})
		_, hi := extent.Bounds(facts)
		facts[v] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		return sym.Var(v)
	}
	for i, a := range g.batch {
		names[a.Var] = add(a.Extent, sym.Var(batchVar(i)), 1)
	}
	for _, a := range g.stage.Axes {
		if a.Extent.Is(1) {
			names[a.Var] = sym.Const(0)
		}
	}
	along := add(whole, sym.Scale(sym.Var(groups), size), size)
	r.parts(along, names, facts)
	if !whole.Equal(r.extent) {
		there = append(there, te.Within{E: along, Lo: sym.Const(0), Hi: r.extent})
	}
	k := add(sym.Const(sum), sym.Scale(sym.Var(productsVar), g.step), g.step)
	run{axes: g.reduce}.parts(k, names, facts)
	if sum != g.sum {
		there = append(there, te.Within{E: k, Lo: sym.Const(0), Hi: sym.Const(g.sum)})
	}
	l := te.SubstIndices(t.load, names, facts).(te.Load)
	if len(there) > 0 {
		l.Guard, l.Default = slices.Concat(l.Guard, there), te.Number(ir.F32, 0)
	}
	st.Results = []te.Expr{l}

	rank := len(st.Axes)
	parts := layout.PartsOf(layout.RowMajor, rank)
	parts[rank-2], parts[rank-1] = layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2}
	var all loopList
	name := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	fast, slow, many, few := rank-2, rank-1, size, g.step // axes, and how many points they have
	if t.walksAlong([]string{g.reduce[len(g.reduce)-1].Var}) {
		fast, slow, many, few = slow, fast, few, many
		parts[rank-1].Pad = localPad
	}
	across := min(many, g.items())
	down := min(few, max(1, g.items()/across))
	axis := func(i int) string { return st.Axes[i].Var }
	all.add(sched.Item, name("g6d"), axis(slow), 0, sched.Exact)
	all.add(sched.Item, name("g6a"), axis(fast), 0, sched.Exact)
	if many > across {
		all.add(sched.Serial, name("g6v"), axis(fast), many/across, sched.Exact)
	}
	if few > down {
		all.add(sched.Serial, name("g6u"), axis(slow), few/down, sched.Exact)
	}
	s.Loops = all
	at := p.addStage(st, s)
	p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: at}, Parts: parts, Space: sched.Local})
	return at
}
