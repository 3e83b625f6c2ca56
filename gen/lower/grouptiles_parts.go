package lower

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Names of loops of sums in parts.
const partItems = "g3s"

// apart is the schedule where the items of a group are several sets, each of which adds a part of every sum: of few results more items keep a unit
// busy so. They leave what they have to each other, and a stage joins it, in the order of the parts.
func (g *groupTiles) apart() *proposal {
	p := newProposal(g.env.Symbols)
	x := g.copies(p, 0, g.x, g.rows, downGroups, g.groupTile.rows())
	w := g.copies(p, 1, g.w, g.columns, acrossGroups, g.groupTile.columns())
	at := g.part(p, x, w)
	st := newGroupStage(g.stage.Name, g.r.facts, sched.Root)
	st.Combine, st.Reduce = g.stage.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.parts)}}
	batch, row, column := g.axes(st)
	st.Values = []te.Expr{te.FromStage(at, ir.F32, append(slices.Clone(batch), sym.Var("r0"), row, column)...)}
	for _, e := range g.stage.Results {
		st.Results = append(st.Results, st.subst(e))
	}
	p.addStage(&st.Stage, g.joins(batch, name(row), name(column)))
	g.ends(p)
	return p
}

// each is how many points of the sum a part has, whole steps.
func (g *groupTiles) each() int64 { return (g.sum + g.parts*g.step - 1) / (g.parts * g.step) * g.step }

// part adds the stage of the parts of the sums, and gives its number.
func (g *groupTiles) part(p *proposal, x, w int) int {
	t := g.groupTile
	st := newGroupStage("part", g.r.facts, sched.Ref{Stage: 3, Loop: acrossGroups})
	var batch []sym.Expr
	for i, a := range g.batch {
		batch = append(batch, st.region(a.Extent, sym.Var(batchVar(i)), 1, a.Extent))
	}
	part := st.axis(sym.Const(t.parts))
	row, column := g.whole(st, g.rows, downGroups, t.rows()), g.whole(st, g.columns, acrossGroups, t.columns())
	st.Combine, st.Reduce = g.stage.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.each())}}
	at := func(of int, v sym.Expr) te.Expr {
		return g.copied(of, append(slices.Clone(batch), part, v, sym.Var("r0"))...)
	}
	factors := [2]te.Expr{at(x, row), at(w, column)}
	if g.x == g.factors[1] {
		factors[0], factors[1] = factors[1], factors[0]
	}
	st.Values, st.Results = []te.Expr{te.Fn(ir.F32, "mul", factors[0], factors[1])}, []te.Expr{te.Acc{Type: ir.F32}}
	st.sched.Tile = g.tile()
	lanes := g.row(t).Lanes
	down, across := g.arrangement()
	var all loopList
	all.add(sched.Serial, productsVar, "r0", 0, sched.Exact)
	all.add(sched.Item, partItems, name(part), 0, sched.Exact)
	all.add(sched.Item, "g3m", name(row), 0, sched.Exact)
	all.add(sched.Item, "g3n", name(column), 0, sched.Exact)
	all.add(sched.Item, "g4m", name(row), down, sched.Exact)
	all.add(sched.Item, "g4n", name(column), across, sched.Exact)
	all.add(sched.Rows, rowVar, name(row), t.tall, sched.Exact)
	all.add(sched.Columns, vecVar, name(column), t.wide/lanes, sched.Exact)
	all.add(sched.Lanes, laneVar, name(column), lanes, sched.Exact)
	g.sums(&all)
	st.sched.Loops = all
	n := p.addStage(&st.Stage, st.sched)
	p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: n}, Parts: layout.PartsOf(layout.RowMajor, len(st.Axes)), Space: sched.Local})
	return n
}

// whole adds the axis of a run of which a group has so many points, also beyond the last one.
func (g *groupTiles) whole(st *groupStage, r run, groups string, size int64) sym.Expr {
	whole := sym.Scale(sym.CeilDiv(r.extent, sym.Const(size), g.env.Symbols), size)
	return st.region(whole, sym.Scale(sym.Var(groups), size), size, r.extent)
}

// joins are the loops of the stage that joins parts: neighbouring items have neighbouring columns.
func (g *groupTiles) joins(batch []sym.Expr, row, column string) sched.Stage {
	t := g.groupTile
	s := sched.Stage{At: sched.Root}
	s.Splits = []sched.Split{{Axis: row, Outer: "g1m", Inner: "g2m", Size: t.rows()}, {Axis: column, Outer: "g1n", Inner: "g2n", Size: t.columns()}}
	across := min(t.columns(), t.items())
	down := min(t.rows(), t.items()/across)
	var all loopList
	for i, v := range batch {
		all.add(sched.Group, batchVar(i), name(v), 0, sched.Exact)
	}
	all.add(sched.Group, downGroups, "g1m", 0, sched.Exact)
	all.add(sched.Group, acrossGroups, "g1n", 0, sched.Exact)
	all.add(sched.Serial, "g8m", "g2m", 0, sched.Exact)
	all.add(sched.Serial, "g8n", "g2n", 0, sched.Exact)
	all.add(sched.Item, "g9m", "g2m", down, sched.Exact)
	all.add(sched.Item, "g9n", "g2n", across, sched.Exact)
	all.add(sched.Serial, "g8t", "g1m", 1, edge(!g.divides(g.rows, t.rows()), sched.RoundUp))
	all.add(sched.Serial, "g8u", "g1n", 1, edge(!g.divides(g.columns, t.columns()), sched.RoundUp))
	all.add(sched.Serial, "g8r", "r0", 0, sched.Exact)
	s.Loops = all
	return s
}
