package workgroup

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/vars"
)

// Names of loops of sums in parts.
const partItems = "g3s"

// apart is the schedule where the items of a group are several sets, each of which adds a part of every sum: of few results more items keep a unit
// busy so. They leave what they have to each other, and a stage joins it, in the order of the parts.
func (g *groupTiles) apart() *lower.Proposal {
	p := lower.NewProposal(g.env.Symbols)
	x := g.copies(p, 0, g.X, g.rows, DownGroups, g.groupTile.rows())
	w := g.copies(p, 1, g.W, g.columns, AcrossGroups, g.groupTile.columns())
	at := g.part(p, x, w)
	st := NewGroupStage(g.Stage.Name, g.r.Facts, sched.Root)
	st.Combine, st.Reduce = g.Stage.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.parts)}}
	batch, row, column := g.axes(st)
	st.Values = []te.Expr{te.FromStage(at, ir.F32, append(slices.Clone(batch), sym.Var("r0"), row, column)...)}
	for _, e := range g.Stage.Results {
		st.Results = append(st.Results, st.Subst(e))
	}
	p.AddStage(&st.Stage, g.joins(batch, VarName(row), VarName(column)))
	g.ends(p)
	return p
}

// each is how many points of the sum a part has, whole steps.
func (g *groupTiles) each() int64 { return (g.sum + g.parts*g.step - 1) / (g.parts * g.step) * g.step }

// part adds the stage of the parts of the sums, and gives its number.
func (g *groupTiles) part(p *lower.Proposal, x, w int) int {
	t := g.groupTile
	st := NewGroupStage("part", g.r.Facts, sched.Ref{Stage: 3, Loop: AcrossGroups})
	var batch []sym.Expr
	for i, a := range g.batch {
		batch = append(batch, st.Region(a.Extent, sym.Var(BatchVar(i)), 1, a.Extent))
	}
	part := st.Axis(sym.Const(t.parts))
	row, column := g.whole(st, g.rows, DownGroups, t.rows()), g.whole(st, g.columns, AcrossGroups, t.columns())
	st.Combine, st.Reduce = g.Stage.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.each())}}
	at := func(of int, v sym.Expr) te.Expr {
		return g.copied(of, append(slices.Clone(batch), part, v, sym.Var("r0"))...)
	}
	factors := [2]te.Expr{at(x, row), at(w, column)}
	if g.X == g.Factors[1] {
		factors[0], factors[1] = factors[1], factors[0]
	}
	st.Values, st.Results = []te.Expr{te.Fn(ir.F32, "mul", factors[0], factors[1])}, []te.Expr{te.Acc{Type: ir.F32}}
	st.Sched.Tile = g.tile()
	lanes := g.row(t).Lanes
	down, across := g.arrangement()
	var all lower.LoopList
	all.Add(sched.Serial, productsVar, "r0", 0, sched.Exact)
	all.Add(sched.Item, partItems, VarName(part), 0, sched.Exact)
	all.Add(sched.Item, "g3m", VarName(row), 0, sched.Exact)
	all.Add(sched.Item, "g3n", VarName(column), 0, sched.Exact)
	all.Add(sched.Item, "g4m", VarName(row), down, sched.Exact)
	all.Add(sched.Item, "g4n", VarName(column), across, sched.Exact)
	all.Add(sched.Rows, vars.Row, VarName(row), t.tall, sched.Exact)
	all.Add(sched.Columns, vars.Vec, VarName(column), t.wide/lanes, sched.Exact)
	all.Add(sched.Lanes, vars.Lane, VarName(column), lanes, sched.Exact)
	g.sums(&all)
	st.Sched.Loops = all
	n := p.AddStage(&st.Stage, st.Sched)
	p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: n}, Parts: layout.PartsOf(layout.RowMajor, len(st.Axes)), Space: sched.Local})
	return n
}

// whole adds the axis of a run of which a group has so many points, also beyond the last one.
func (g *groupTiles) whole(st *GroupStage, r Run, groups string, size int64) sym.Expr {
	whole := sym.Scale(sym.CeilDiv(r.extent, sym.Const(size), g.env.Symbols), size)
	return st.Region(whole, sym.Scale(sym.Var(groups), size), size, r.extent)
}

// joins are the loops of the stage that joins parts: neighbouring items have neighbouring columns.
func (g *groupTiles) joins(batch []sym.Expr, row, column string) sched.Stage {
	t := g.groupTile
	s := sched.Stage{At: sched.Root}
	s.Splits = []sched.Split{{Axis: row, Outer: "g1m", Inner: "g2m", Size: t.rows()}, {Axis: column, Outer: "g1n", Inner: "g2n", Size: t.columns()}}
	across := min(t.columns(), t.items())
	down := min(t.rows(), t.items()/across)
	var all lower.LoopList
	for i, v := range batch {
		all.Add(sched.Group, BatchVar(i), VarName(v), 0, sched.Exact)
	}
	all.Add(sched.Group, DownGroups, "g1m", 0, sched.Exact)
	all.Add(sched.Group, AcrossGroups, "g1n", 0, sched.Exact)
	all.Add(sched.Serial, "g8m", "g2m", 0, sched.Exact)
	all.Add(sched.Serial, "g8n", "g2n", 0, sched.Exact)
	all.Add(sched.Item, "g9m", "g2m", down, sched.Exact)
	all.Add(sched.Item, "g9n", "g2n", across, sched.Exact)
	all.Add(sched.Serial, "g8t", "g1m", 1, lower.EdgeIf(!g.divides(g.rows, t.rows()), sched.RoundUp))
	all.Add(sched.Serial, "g8u", "g1n", 1, lower.EdgeIf(!g.divides(g.columns, t.columns()), sched.RoundUp))
	all.Add(sched.Serial, "g8r", "r0", 0, sched.Exact)
	s.Loops = all
	return s
}
