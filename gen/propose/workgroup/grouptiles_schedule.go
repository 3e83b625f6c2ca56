package workgroup

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/vars"
)

// Names of loops and parts of axes beside those of contractions.
const (
	DownGroups, AcrossGroups = "g0m", "g0n"
	productsVar              = "g0k"
	Quad                     = 4 // neighbouring rows of an item
)

// schedule is the stages and where they are computed: copies of both factors in each step of the sum, and the contraction.
func (g *groupTiles) schedule() *lower.Proposal {
	if g.parts > 1 {
		return g.apart()
	}
	p := lower.NewProposal(g.env.Symbols)
	x := g.copies(p, 0, g.X, g.rows, DownGroups, g.groupTile.rows())
	w := g.copies(p, 1, g.W, g.columns, AcrossGroups, g.groupTile.columns())
	st := NewGroupStage(g.Stage.Name, g.r.Facts, sched.Root)
	st.Combine, st.Reduce = g.Stage.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.each())}}
	batch, row, column := g.axes(st)
	at := func(of int, v sym.Expr) te.Expr {
		return g.copied(of, append(slices.Clone(batch), v, sym.Var("r0"))...)
	}
	factors := [2]te.Expr{at(x, row), at(w, column)}
	if g.X == g.Factors[1] {
		factors[0], factors[1] = factors[1], factors[0]
	}
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", factors[0], factors[1])}
	for _, e := range g.Stage.Results {
		st.Results = append(st.Results, st.Subst(e))
	}
	p.AddStage(&st.Stage, g.loops(batch, VarName(row), VarName(column)))
	g.ends(p)
	return p
}

// copied is an element of a copy.
func (g *groupTiles) copied(of int, at ...sym.Expr) te.Expr {
	if g.groupTile.halves {
		return match.AsF32(te.FromStage(of, g.X.Load.Type, at...))
	}
	return te.FromStage(of, ir.F32, at...)
}

// sums adds the loops over the products of a step.
func (g *groupTiles) sums(all *lower.LoopList) {
	row := g.row(g.groupTile)
	all.Add(sched.Sum, vars.K(0), "r0", g.step/row.Group, sched.Exact)
	if row.Group > 1 {
		all.Add(sched.Dot, vars.K(1), "r0", row.Group, sched.Exact)
	}
}

// ends says where the results lie, and gives the proposal the operands that its stages read.
func (g *groupTiles) ends(p *lower.Proposal) {
	n := len(p.Work.Stages) - 1
	if g.together {
		parts, axis := layout.Parts{}, 0
		for i, a := range g.Stage.Axes {
			switch {
			case i == g.columns.outer:
				parts = append(parts, layout.Part{Axis: len(p.Work.Stages[n].Axes) - 1})
			case a.Extent.Is(1) || i > g.rows.first && g.rows.has(i) || i > g.columns.first && g.columns.has(i):
			case i == g.columns.first:
				parts = append(parts, layout.Part{Axis: axis, Size: g.columns.inner()})
			default:
				parts = append(parts, layout.Part{Axis: axis})
				axis++
			}
		}
		for k := range p.Work.Stages[n].Results {
			p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: n, Part: k}, Parts: parts})
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
	ReadOperands(p, g.r.Operands, made[:]...)
}

// VarName is that of a variable.
func VarName(v sym.Expr) string {
	s, _ := v.AsVar()
	return s
}

// axes gives the contraction its own: of the batch, of all rows and of all columns.
func (g *groupTiles) axes(st *GroupStage) (batch []sym.Expr, row, column sym.Expr) {
	for i, a := range g.Stage.Axes {
		switch {
		case a.Extent.Is(1):
			st.Names[a.Var] = sym.Const(0)
		case g.rows.first == i:
			row = st.Axis(g.rows.extent)
			g.rows.Parts(row, st.Names, st.Facts)
		case g.columns.first == i:
			column = st.Axis(g.columns.extent)
			g.columns.Parts(column, st.Names, st.Facts)
		case g.rows.has(i) || g.columns.has(i):
		default:
			v := st.Axis(a.Extent)
			st.Names[a.Var], batch = v, append(batch, v)
		}
	}
	return batch, row, column
}

// loops are those of the contraction.
func (g *groupTiles) loops(batch []sym.Expr, row, column string) sched.Stage {
	t := g.groupTile
	tall := min(t.tall, Quad)
	if t.halves {
		tall = 1
	}
	s := sched.Stage{At: sched.Root, Tile: g.tile()}
	lanes := g.row(t).Lanes
	s.Splits = []sched.Split{{Axis: row, Outer: "g1m", Inner: "g2m", Size: t.down * tall}, {Axis: column, Outer: "g1n", Inner: "g2n", Size: t.across * lanes}}
	var all lower.LoopList
	for i, v := range batch {
		all.Add(sched.Group, BatchVar(i), VarName(v), 0, sched.Exact)
	}
	all.Add(sched.Group, DownGroups, "g1m", 0, sched.Exact)
	all.Add(sched.Group, AcrossGroups, "g1n", 0, sched.Exact)
	all.Add(sched.Serial, productsVar, "r0", 0, sched.Exact)
	down, across := g.arrangement()
	all.Add(sched.Item, "g3m", "g2m", 0, sched.Exact)
	all.Add(sched.Item, "g3n", "g2n", 0, sched.Exact)
	all.Add(sched.Item, "g4m", "g2m", down, sched.Exact)
	all.Add(sched.Item, "g4n", "g2n", across, sched.Exact)
	all.Add(sched.Rows, vars.Run, "g1m", t.tall/tall, lower.EdgeIf(!g.divides(g.rows, t.rows()), sched.RoundUp))
	if tall > 1 {
		all.Add(sched.Rows, vars.Row, "g2m", tall, sched.Exact)
	}
	all.Add(sched.Columns, vars.Vec, "g1n", t.wide/lanes, lower.EdgeIf(!g.divides(g.columns, t.columns()), sched.RoundUp))
	all.Add(sched.Lanes, vars.Lane, "g2n", lanes, sched.Exact)
	g.sums(&all)
	s.Loops = all
	return s
}

// tile is an item's instruction.
func (g *groupTiles) tile() *sched.Tile {
	row := g.row(g.groupTile)
	return &sched.Tile{Row: row.Name, X: row.Broadcaster(0)}
}

// BatchVar is the loop over an axis that both factors have.
func BatchVar(i int) string { return fmt.Sprintf("g5_%d", i) }

// copies adds the stage that copies what a group reads of a factor in a step, with zeros beyond it, and gives its number.
func (g *groupTiles) copies(p *lower.Proposal, n int, t *match.Term, r Run, groups string, size int64) int {
	st := NewGroupStage("copy", g.r.Facts, sched.Ref{Stage: 2, Loop: productsVar})
	st.Sched.Ahead = true // what the next step needs is fetched while items compute the one at hand
	for i, a := range g.batch {
		st.Names[a.Var] = st.Region(a.Extent, sym.Var(BatchVar(i)), 1, a.Extent)
	}
	for _, a := range g.Stage.Axes {
		if a.Extent.Is(1) {
			st.Names[a.Var] = sym.Const(0)
		}
	}
	part := sym.Const(0)
	if g.parts > 1 {
		part = st.Axis(sym.Const(g.parts))
	}
	point := g.whole(st, r, groups, size)
	r.Parts(point, st.Names, st.Facts)
	each := sym.Const(g.each())
	k := st.Region(each, sym.Scale(sym.Var(productsVar), g.step), g.step, each)
	k = sym.Add(sym.Mul(part, each), k)
	st.Within(k, sym.Scale(each, g.parts), sym.Const(g.sum))
	at := k
	if g.kept != nil {
		at = g.kept.point(st)
	}
	Run{Axes: g.Reduce}.Parts(at, st.Names, st.Facts)
	l := st.Subst(t.Load).(te.Load)
	packed := g.packed[n] != nil
	if packed {
		l.Source, l.Index = te.Source{N: madeSource - n}, nil
		for _, of := range g.packed[n].own {
			l.Index = append(l.Index, st.Names[of])
		}
		l.Index = append(l.Index, g.packed[n].index(k, point, st.Facts)...)
	}
	if len(st.There) > 0 {
		l.Guard, l.Default = slices.Concat(l.Guard, st.There), te.Number(l.Type, 0)
	}
	v := match.AsF32(l)
	if g.groupTile.halves {
		v = l
	}
	if g.kept != nil && !packed {
		v = g.kept.bind(st, v, k)
	}
	st.Results = []te.Expr{v}
	loops, parts := g.copyLoops(st, n, !packed && g.alongSum(t, r), size)
	if g.parts > 1 {
		loops = append(lower.LoopList{{Kind: sched.Item, Var: fmt.Sprintf("g6s%d", n), Axis: st.Axes[len(st.Axes)-3].Var}}, loops...)
	}
	st.Sched.Loops = loops
	stage := p.AddStage(&st.Stage, st.Sched)
	p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: stage}, Parts: parts, Space: sched.Local})
	return stage
}
