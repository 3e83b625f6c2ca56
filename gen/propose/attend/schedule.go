package attend

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/workgroup"
	"rules_dnn/gen/target/instr"
)

// Numbers of the stages of attention: copies of queries, keys and values, and what is made of a chunk of keys.
const (
	copiedQueries = iota
	copiedKeys
	chunkScores
	partMost
	runningMost
	chunkWeights
	partTotal
	runningTotal
	copiedValues
	runningResults
	finalResults
)

// chunksVar is the loop over chunks of keys.
const chunksVar = "g0c"

// least is where a running maximum begins: of finite numbers the least, so that keys that a mask leaves out, whose scores are minus infinity, have the
// weight 0 also before the first key that it does not.
func least() te.Expr { return te.Float(ir.F32, -0x1.fffffep127) }

// attentionStage is a stage that is made, with its first axes: the chunk, where it has one, the batch, and the queries.
type attentionStage struct {
	*workgroup.GroupStage
	first []sym.Expr
}

// schedule is the stages and where they are computed.
func (a *attention) schedule() *lower.Proposal {
	p := lower.NewProposal(a.env.Symbols)
	a.copy(p, copiedQueries, a.q, a.scores)
	a.copy(p, copiedKeys, a.k, a.scores)
	a.scored(p)
	a.maxima(p)
	a.weights(p)
	a.totals(p)
	a.copy(p, copiedValues, a.v, a.b.Stage)
	a.sums(p)
	a.results(p)
	workgroup.ReadOperands(p, a.b.Operands)
	return p
}

// start begins a stage of a chunk of keys, or, where it is computed before them, of a group, or of all results.
func (a *attention) start(n int, name string, s *te.Stage) *attentionStage {
	facts := sym.Facts{}
	maps.Copy(facts, a.env.Symbols)
	st := &attentionStage{GroupStage: workgroup.NewGroupStage(name, facts, sched.Ref{Stage: a.keeps, Loop: chunksVar})}
	switch n {
	case copiedQueries, runningResults:
		st.Sched.At = sched.Ref{Stage: a.keeps + 1, Loop: a.outer}
	case finalResults:
		st.Sched.At = sched.Root
	}
	switch n {
	case copiedQueries, finalResults:
	case runningResults:
		st.first = append(st.first, st.Axis(a.chunks()))
	default:
		st.first = append(st.first, st.Region(a.chunks(), sym.Var(chunksVar), 1, a.chunks()))
	}
	groups := 0
	for i, x := range s.Axes[:a.b.Depth] {
		switch {
		case i == a.query && (n == copiedKeys || n == copiedValues):
			st.Names[x.Var] = sym.Const(0) // which they do not read
			continue
		case i == a.query && n == finalResults:
			st.Names[x.Var] = st.Axis(x.Extent)
		case i == a.query:
			granule := a.granule
			if n == runningResults && a.last > 0 {
				granule = a.last
			}
			whole := sym.Scale(sym.CeilDiv(a.queries, sym.Const(granule), a.env.Symbols), granule)
			st.Names[x.Var] = st.Region(whole, sym.Scale(sym.Var(workgroup.DownGroups), a.rows), a.rows, a.queries)
		case x.Extent.Is(1):
			st.Names[x.Var] = sym.Const(0)
			continue
		case n == finalResults:
			st.Names[x.Var] = st.Axis(x.Extent)
			groups++
		default:
			st.Names[x.Var] = st.Region(x.Extent, sym.Var(workgroup.BatchVar(groups)), 1, x.Extent)
			groups++
		}
		st.first = append(st.first, st.Names[x.Var])
	}
	for _, x := range s.Axes[a.b.Depth:] {
		st.Names[x.Var] = sym.Const(0)
	}
	for _, x := range s.Reduce {
		st.Names[x.Var] = sym.Const(0)
	}
	return st
}

// chunks is how many chunks of keys there are.
func (a *attention) chunks() sym.Expr {
	return sym.CeilDiv(a.key.Extent, sym.Const(a.chunk), a.env.Symbols)
}

// row is the variable of a stage's queries.
func (st *attentionStage) row() string { return workgroup.VarName(st.first[len(st.first)-1]) }

// keys notes that there is no key beyond the last one, and gives the number of one of the chunk at hand.
func (a *attention) keys(st *attentionStage, within sym.Expr) sym.Expr {
	at := sym.Add(sym.Scale(st.first[0], a.chunk), within)
	st.Within(at, sym.Scale(a.chunks(), a.chunk), a.key.Extent)
	return at
}

// add adds a stage whose results lie somewhere, and gives the number.
func (a *attention) add(p *lower.Proposal, st *attentionStage, places ...sched.Value) {
	n := p.AddStage(&st.Stage, st.Sched)
	for part, x := range places {
		x.Of = te.Source{Stage: true, N: n, Part: part}
		p.Sched.Values = append(p.Sched.Values, x)
	}
}

// shared is a place in memory that items share; held is one in their registers, of tiles of so many rows and columns.
func shared(parts layout.Parts) sched.Value { return sched.Value{Parts: parts, Space: sched.Local} }

func held(rank int, tall, wide int64) sched.Value {
	parts := layout.PartsOf(layout.RowMajor, rank)
	return sched.Value{Parts: append(parts, layout.Part{Axis: rank - 2, Size: tall}, layout.Part{Axis: rank - 1, Size: wide}), Space: sched.Register}
}

// rowsLast is a place in which the last axis but one is the innermost, in memory banks of their own.
func rowsLast(rank int, pad int64) layout.Parts {
	parts := layout.PartsOf(layout.RowMajor, rank)
	parts[rank-2], parts[rank-1] = layout.Part{Axis: rank - 1}, layout.Part{Axis: rank - 2, Pad: pad}
	return parts
}

// copyOf is the stage that copies what a group reads of a factor, with zeros beyond it: of so many points, and of so many of a sum. along is whether neighbours
// in memory are neighbours along the sum.
func (a *attention) copyOf(n int, t *match.Term, s *te.Stage) (st *attentionStage, along bool) {
	st = a.start(n, "copy", s)
	sum := match.PointsOf(a.depth)
	sums := a.whole(sum)
	if n == copiedValues {
		sums = a.chunk
	}
	switch n {
	case copiedKeys:
		st.Names[a.key.Var] = a.keys(st, st.Axis(sym.Const(a.chunk)))
	case copiedValues:
		point := st.Axis(sym.Const(a.columns()))
		st.Names[a.column.Var] = point
		st.Within(point, sym.Const(a.columns()), a.column.Extent)
	}
	k, axes := st.Axis(sym.Const(sums)), a.depth
	if n == copiedValues {
		axes = s.Reduce
		st.Names[workgroup.Several(axes)[0].Var] = a.keys(st, k)
	} else {
		st.Within(k, sym.Const(sums), sym.Const(sum))
		workgroup.Run{Axes: axes}.Parts(k, st.Names, st.Facts)
	}
	l := st.Subst(t.Load).(te.Load)
	if len(st.There) > 0 {
		l.Guard, l.Default = slices.Concat(l.Guard, st.There), te.Number(l.Type, 0)
	}
	st.Results = []te.Expr{match.AsF32(l)}
	if a.halves {
		st.Results[0] = l
	}
	return st, a.alongSum(t, axes)
}

// copy adds the stage for items.
func (a *attention) copy(p *lower.Proposal, n int, t *match.Term, s *te.Stage) {
	st, along := a.copyOf(n, t, s)
	size := map[int]int64{copiedQueries: a.rows, copiedKeys: a.chunk, copiedValues: a.columns()}[n]
	sums, _ := st.Axes[len(st.Axes)-1].Extent.Const()
	st.Sched.Ahead = n != copiedQueries && a.ahead
	if a.halves {
		st.Sched.Loops = workgroup.CopyGroups(st.GroupStage, n, along, !along && a.squares(t), a.instruction().Group, size, sums, a.items)
		a.add(p, st, shared(a.groupedCopy(n, len(st.Axes))))
		return
	}
	loops, parts := workgroup.CopyLoops(st.GroupStage, n, along, false, size, sums, a.items)
	st.Sched.Loops = loops
	a.add(p, st, shared(parts))
}

// alongSum reports whether neighbours of a factor in memory are neighbours along a sum.
func (a *attention) alongSum(t *match.Term, sum []te.Axis) bool {
	v := a.b.Operands[t.Load.Source.N]
	order := layout.PartsOf(layout.RowMajor, len(v.Shape))
	if l := a.env.Layouts(v); l.Orders() {
		order = layout.PartsOf(l, len(v.Shape))
	}
	for _, part := range slices.Backward(order) {
		if e := t.Load.Index[part.Axis]; !known(e) {
			return match.UsesOneOf(e, sum)
		}
	}
	return false
}

func known(e sym.Expr) bool {
	_, is := e.Const()
	return is
}

// whole is so many points of a sum in whole steps.
func (a *attention) whole(sum int64) int64 { return (sum + a.step - 1) / a.step * a.step }

// columns is how many columns of results items have, also beyond the last one.
func (a *attention) columns() int64 {
	n, _ := a.column.Extent.Const()
	return (n + a.wide - 1) / a.wide * a.wide
}

// itemLoops adds loops over the items of a tile's rows and columns: those that run in step read few of both.
func (a *attention) itemLoops(all *lower.LoopList, n int, row, column string, rows, columns, tall, wide int64) {
	down, across := rows/tall, columns/wide
	near := min(workgroup.Evenly(across), max(1, a.device.SubGroup/4))
	far := min(workgroup.Evenly(down), max(1, a.device.SubGroup/near))
	of := func(what string) string { return fmt.Sprintf("%s_%d", what, n) }
	all.Add(sched.Item, of("g3m"), row, 0, sched.Exact)
	all.Add(sched.Item, of("g3n"), column, 0, sched.Exact)
	all.Add(sched.Item, of("g4m"), row, far, sched.Exact)
	all.Add(sched.Item, of("g4n"), column, near, sched.Exact)
}

// tileLoops adds those of a tile.
func (a *attention) tileLoops(all *lower.LoopList, n int, row, column string, tall, wide int64) {
	of := func(what string) string { return fmt.Sprintf("%s_%d", what, n) }
	tile := a.instruction()
	all.Add(sched.Rows, of("g7m"), row, tall, sched.Exact)
	all.Add(sched.Columns, of("g7v"), column, wide/tile.Lanes, sched.Exact)
	all.Add(sched.Lanes, of("g7n"), column, tile.Lanes, sched.Exact)
	all.Add(sched.Sum, of("g7k"), "r0", a.step/tile.Group, sched.Exact)
	if tile.Group > 1 {
		all.Add(sched.Dot, of("g7d"), "r0", tile.Group, sched.Exact)
	}
}

// instruction is an item's, or that of items together.
func (a *attention) instruction() *instr.Row {
	if a.halves {
		return a.env.Target.Together(a.v.Load.Type)
	}
	return a.env.Target.Tile(ir.F32)
}

// tile is what applies it.
func (a *attention) tile() *sched.Tile {
	row := a.instruction()
	return &sched.Tile{Row: row.Name, X: row.Broadcaster(0)}
}

// sum makes a stage the contraction of two factors.
func (st *attentionStage) sum(extent int64, x, w te.Expr) {
	st.Combine, st.Reduce = te.Sum(ir.F32), []te.Axis{{Var: "r0", Extent: sym.Const(extent)}}
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", x, w)}
}
