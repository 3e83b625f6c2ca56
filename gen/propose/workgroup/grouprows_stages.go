package workgroup

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// Parts of the dominant stage's axes: groups' rows and their items', points that items take in turn and the items'.
const rowParts, rowItems, pointParts, pointItems = "g1n", "g2n", "g1k", "g2k"

// loopName is that of a loop of the stage that is made next.
func (g *groupRows) loopName(what string) string {
	return fmt.Sprintf("%s_%d", what, len(g.p.Work.Stages))
}

// add adds a stage whose results the items of a group share, and gives its number.
func (g *groupRows) add(st *rowStage) int {
	n := g.p.AddStage(&st.Stage, st.Sched)
	g.p.Sched.Values = append(g.p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: n}, Parts: BankedParts(len(st.Axes), g.rows), Space: sched.Local})
	return n
}

// inside gives an expression a value beyond what the block has.
func (st *rowStage) inside(e, otherwise te.Expr) te.Expr {
	if len(st.There) == 0 {
		return e
	}
	return te.Select{Cond: st.There, Then: e, Else: otherwise}
}

// partial is what each item of a row reduces.
func (g *groupRows) partial(s *te.Stage) int {
	st := g.start(s, false)
	n := match.PointsOf(s.Reduce)
	each := (n + g.parts - 1) / g.parts
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: each - 1}
	share := st.Axis(sym.Const(g.parts))
	k := sym.Add(sym.Scale(sym.Var("r0"), g.parts), share)
	for _, a := range s.Reduce {
		st.Names[a.Var] = sym.Const(0)
	}
	Run{Axes: Several(s.Reduce)}.Parts(k, st.Names, st.Facts)
	st.Within(k, sym.Const(each*g.parts), sym.Const(n))
	v := g.expr(st, s.Values[0])
	st.Combine, st.Reduce = s.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(each)}}
	st.Values, st.Results = []te.Expr{st.inside(v, s.Combine.Init[0])}, []te.Expr{te.Acc{Type: v.DType()}}
	var loops lower.LoopList
	loops.Add(sched.Item, g.loopName("g7n"), st.rowVar, 0, sched.Exact)
	loops.Add(sched.Item, g.loopName("g7s"), VarName(share), 0, sched.Exact)
	loops.Add(sched.Serial, g.loopName("g7r"), "r0", 0, sched.Exact)
	st.Sched.Loops = loops
	return g.add(st)
}

// fewer joins what the items of a row have, until an item can join the rest.
func (g *groupRows) fewer(s *te.Stage, from int, parts int64) (int, int64) {
	if parts <= maxAlone {
		return from, parts
	}
	left := fewerOf(parts)
	st := g.start(s, false)
	share := st.Axis(sym.Const(left))
	st.joined(s, from, parts/left, sym.Add(sym.Scale(sym.Var("r0"), left), share))
	st.Results = []te.Expr{te.Acc{Type: s.Values[0].DType()}}
	var loops lower.LoopList
	loops.Add(sched.Item, g.loopName("g7n"), st.rowVar, 0, sched.Exact)
	loops.Add(sched.Item, g.loopName("g7s"), VarName(share), 0, sched.Exact)
	loops.Add(sched.Serial, g.loopName("g7r"), "r0", 0, sched.Exact)
	st.Sched.Loops = loops
	return g.add(st), left
}

// joined reduces so many of what items have, each at an index.
func (st *rowStage) joined(s *te.Stage, from int, parts int64, at sym.Expr) {
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: parts - 1}
	st.Combine, st.Reduce = s.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(parts)}}
	st.Values = []te.Expr{te.FromStage(from, s.Values[0].DType(), append(slices.Clone(st.common), at)...)}
}

// reduced is what a stage reduces of each row.
func (g *groupRows) reduced(s *te.Stage) int {
	from, parts := g.fewer(s, g.partial(s), g.parts)
	st := g.start(s, false)
	st.joined(s, from, parts, sym.Var("r0"))
	r := g.expr(st, s.Results[0])
	st.Results = []te.Expr{st.inside(r, te.Number(r.DType(), 0))}
	var loops lower.LoopList
	loops.Add(sched.Item, g.loopName("g7n"), st.rowVar, 0, sched.Exact)
	loops.Add(sched.Serial, g.loopName("g7r"), "r0", 0, sched.Exact)
	st.Sched.Loops = loops
	return g.add(st)
}

// single is what a stage makes of what is reduced of each row.
func (g *groupRows) single(s *te.Stage) int {
	st := g.start(s, false)
	r := g.expr(st, s.Results[0])
	st.Results = []te.Expr{st.inside(r, te.Number(r.DType(), 0))}
	var loops lower.LoopList
	loops.Add(sched.Item, g.loopName("g7n"), st.rowVar, 0, sched.Exact)
	st.Sched.Loops = loops
	return g.add(st)
}

// last adds the dominant stage, whose rows are split: a group has some, of which each item has one.
func (g *groupRows) last(st *rowStage, loops lower.LoopList) {
	st.Sched.Splits = append(st.Sched.Splits, sched.Split{Axis: st.rowVar, Outer: rowParts, Inner: rowItems, Size: g.rows})
	st.Sched.Loops = loops
	g.p.AddStage(&st.Stage, st.Sched)
}

// ragged is the edge of a loop over whole parts of an extent.
func (g *groupRows) ragged(extent sym.Expr, size int64) sched.Edge {
	return lower.EdgeIf(!sym.Mod(extent, sym.Const(size), g.env.Symbols).Is(0), sched.RoundUp)
}

// reducedLast is the dominant stage where it reduces.
func (g *groupRows) reducedLast() {
	s := g.b.Stage
	from, parts := g.fewer(s, g.partial(s), g.parts)
	st := g.start(s, true)
	st.joined(s, from, parts, sym.Var("r0"))
	for _, r := range s.Results {
		st.Results = append(st.Results, g.expr(st, r))
	}
	loops := slices.Clone(g.groups)
	loops.Add(sched.Item, "g4n", rowItems, 0, sched.Exact)
	loops.Add(sched.Serial, "g8t", rowParts, 1, g.ragged(s.Axes[g.row].Extent, g.rows))
	loops.Add(sched.Serial, "g8r", "r0", 0, sched.Exact)
	g.last(st, loops)
}

// dominant is the dominant stage where it reduces nothing: each item computes some points of a row.
func (g *groupRows) dominant() {
	s := g.b.Stage
	st := g.start(s, true)
	loops := slices.Clone(g.groups)
	loops.Add(sched.Item, "g4n", rowItems, 0, sched.Exact)
	if g.points > 1 {
		k := st.Axis(sym.Const(g.points))
		Run{Axes: g.own}.Parts(k, st.Names, st.Facts)
		st.Sched.Splits = []sched.Split{{Axis: VarName(k), Outer: pointParts, Inner: pointItems, Size: g.parts}}
		loops.Add(sched.Item, "g4k", pointItems, 0, sched.Exact)
		loops.Add(sched.Serial, "g8k", pointParts, 0, sched.Exact)
		loops.Add(sched.Serial, "g8v", pointParts, 1, g.ragged(sym.Const(g.points), g.parts))
	}
	loops.Add(sched.Serial, "g8t", rowParts, 1, g.ragged(s.Axes[g.row].Extent, g.rows))
	loops.Add(sched.Serial, "g8z", rowParts, 1, sched.Exact) // the innermost loop has no edge: all that is beyond one is asked for
	for _, r := range s.Results {
		st.Results = append(st.Results, g.expr(st, r))
	}
	g.last(st, loops)
}
