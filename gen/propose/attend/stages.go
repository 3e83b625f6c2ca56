package attend

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/workgroup"
)

// read loads what another stage has, at the same chunk, batch and queries.
func (st *attentionStage) read(of, part int, rest ...sym.Expr) te.Load {
	l := te.FromStage(of, ir.F32, slices.Concat(st.first, rest)...)
	l.Source.Part = part
	return l
}

// before loads what a stage itself has had of the chunk before, or what stands in for that of the first one.
func (a *attention) before(st *attentionStage, of int, otherwise te.Expr, rest ...sym.Expr) te.Load {
	l := st.read(of, 0, rest...)
	l.Index[0] = sym.Sub(st.first[0], sym.Const(1))
	l.Guard, l.Default = []te.Within{{E: l.Index[0], Lo: sym.Const(0), Hi: a.chunks()}}, otherwise
	return l
}

// scoresOf is the stage of the scores of a chunk of keys, and what they become, and its axis of keys: those of keys that are not there are no numbers that
// count.
func (a *attention) scoresOf() (st *attentionStage, within sym.Expr) {
	st = a.start(chunkScores, a.scores.Name, a.scores)
	within = st.Axis(sym.Const(a.chunk))
	st.Names[a.key.Var] = a.keys(st, within)
	query := a.factor(copiedQueries, append(slices.Clone(st.first[1:]), sym.Var("r0"))...)
	without := slices.Clone(st.first[:len(st.first)-1])
	key := a.factor(copiedKeys, append(without, within, sym.Var("r0"))...)
	depth := a.whole(match.PointsOf(a.depth))
	if st.Facts["r0"] = (sym.Range{Lo: 0, Hi: depth - 1}); a.queryFirst {
		st.sum(depth, query, key)
	} else {
		st.sum(depth, key, query)
	}
	score := st.Subst(a.score)
	if there := a.counted(st); len(there) > 0 {
		score = te.Select{Cond: there, Then: score, Else: te.Lowest(ir.F32)}
	}
	st.Results = []te.Expr{score}
	return st, within
}

// counted are the conditions under which a score of a stage counts: of queries that are not there none is stored, and a task's need no condition where
// scores become what is the same for all queries.
func (a *attention) counted(st *attentionStage) []te.Within {
	row, own := st.row(), a.device != nil
	te.Walk(a.score, func(e te.Expr) {
		switch x := e.(type) {
		case te.Load:
			own = own || match.Uses(x, a.scores.Axes[a.query].Var)
		case te.Index:
			own = own || x.E.Uses(a.scores.Axes[a.query].Var)
		case te.Select, te.Let:
			own = true
		}
	})
	return slices.DeleteFunc(slices.Clone(st.There), func(w te.Within) bool { return !own && w.E.Equal(sym.Var(row)) })
}

// scored adds the scores of a chunk of keys.
func (a *attention) scored(p *lower.Proposal) {
	st, within := a.scoresOf()
	st.Sched.Tile = a.tile()
	var loops lower.LoopList
	loops.Add(sched.Serial, "g8k_2", "r0", 0, sched.Exact) // of one iteration, too: sums are items' own within loops of the reduction
	a.itemLoops(&loops, chunkScores, st.row(), workgroup.VarName(within), a.rows, a.chunk, a.tallScores, a.wideScores)
	a.tileLoops(&loops, chunkScores, st.row(), workgroup.VarName(within), a.tallScores, a.wideScores)
	st.Sched.Loops = loops
	a.add(p, st, held(len(st.Axes), a.tallScores, a.wideScores))
}

// part adds what each item reduces of its part of a row of scores, or of weights.
func (a *attention) part(p *lower.Proposal, n, of, part int, s *te.Stage) {
	st := a.start(n, "part", s)
	share := st.Axis(sym.Const(a.chunk / a.wideScores))
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: a.wideScores - 1}
	st.Combine, st.Reduce = s.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(a.wideScores)}}
	st.Values = []te.Expr{st.read(of, part, sym.Add(sym.Scale(share, a.wideScores), sym.Var("r0")))}
	st.Results = []te.Expr{te.Acc{Type: ir.F32}}
	var loops lower.LoopList
	a.itemLoops(&loops, n, st.row(), workgroup.VarName(share), a.rows, a.chunk, a.tallScores, a.wideScores)
	loops.Add(sched.Serial, fmt.Sprintf("g8m_%d", n), st.row(), a.tallScores, sched.Exact)
	loops.Add(sched.Serial, fmt.Sprintf("g8r_%d", n), "r0", 0, sched.Exact)
	st.Sched.Loops = loops
	a.add(p, st, shared(workgroup.BankedParts(len(st.Axes), a.rows)))
}

// joined begins a stage that joins what items have of each row.
func (a *attention) joined(n, from int, s *te.Stage) *attentionStage {
	st := a.start(n, s.Name, s)
	parts := a.chunk / a.wideScores
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: parts - 1}
	st.Combine, st.Reduce = s.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(parts)}}
	st.Values = []te.Expr{st.read(from, 0, sym.Var("r0"))}
	var loops lower.LoopList
	loops.Add(sched.Item, fmt.Sprintf("g4m_%d", n), st.row(), 0, sched.Exact)
	loops.Add(sched.Serial, fmt.Sprintf("g8r_%d", n), "r0", 0, sched.Exact)
	st.Sched.Loops = loops
	return st
}

// maxima adds the running maximum, and what sums and results of chunks before are scaled with where it has grown.
func (a *attention) maxima(p *lower.Proposal) {
	a.part(p, partMost, chunkScores, 0, a.most)
	a.grown(p, a.joined(runningMost, partMost, a.most), te.Acc{Type: ir.F32}, sched.Local)
}

// grown adds the stage of the running maximum, whose maximum of a chunk is given.
func (a *attention) grown(p *lower.Proposal, st *attentionStage, own te.Expr, space sched.Space) {
	rows := sched.Value{Parts: layout.PartsOf(layout.RowMajor, len(st.Axes)), Space: space}
	kept := rows
	kept.Fold = sched.Fold{Axis: 0, Points: 2}
	if a.chunks().Is(1) { // nothing is carried
		st.Results = []te.Expr{te.Fn(ir.F32, "max_number", own, least())}
		a.add(p, st, kept)
		return
	}
	before := a.before(st, runningMost, least())
	now := te.Map(a.most.Combine.Join[0], func(e te.Expr) te.Expr {
		switch e.(type) {
		case te.In:
			return before
		case te.Acc:
			return own
		}
		return e
	})
	st.Results = []te.Expr{now, te.Fn(ir.F32, "exp", te.Fn(ir.F32, "sub", before, now))}
	a.add(p, st, kept, rows)
}

// weightsOf is the stage of the weights of a chunk of keys, and its axis of keys.
func (a *attention) weightsOf() (st *attentionStage, key sym.Expr) {
	st = a.start(chunkWeights, "weights", a.scores)
	key = st.Axis(sym.Const(a.chunk))
	st.Results = []te.Expr{te.Fn(ir.F32, "exp", te.Fn(ir.F32, "sub", st.read(chunkScores, 0, key), st.read(runningMost, 0)))}
	return st, key
}

// weights adds those of a chunk of keys, in memory for the results, and in registers for their sum.
func (a *attention) weights(p *lower.Proposal) {
	st, key := a.weightsOf()
	st.Results = append(st.Results, st.Results[0])
	places := shared(rowsLast(len(st.Axes), workgroup.LocalPad))
	if a.halves {
		st.Results[0] = te.Fn(a.v.Load.Type, "cast", st.Results[0])
		places = shared(a.groupedRows(len(st.Axes)))
	}
	var loops lower.LoopList
	a.itemLoops(&loops, chunkWeights, st.row(), workgroup.VarName(key), a.rows, a.chunk, a.tallScores, a.wideScores)
	loops.Add(sched.Serial, "g8n_5", workgroup.VarName(key), a.wideScores, sched.Exact)
	loops.Add(sched.Serial, "g8m_5", st.row(), a.tallScores, sched.Exact)
	st.Sched.Loops = loops
	a.add(p, st, places, held(len(st.Axes), a.tallScores, a.wideScores))
}

// totals adds the running sum of weights.
func (a *attention) totals(p *lower.Proposal) {
	a.part(p, partTotal, chunkWeights, 1, a.total)
	st := a.joined(runningTotal, partTotal, a.total)
	a.summed(p, st, te.Acc{Type: ir.F32}, sched.Local)
}

// summed adds the stage of the running sum, whose sum of a chunk is given.
func (a *attention) summed(p *lower.Proposal, st *attentionStage, own te.Expr, space sched.Space) {
	st.Results = []te.Expr{a.carried(st, runningTotal, own)}
	a.add(p, st, sched.Value{Parts: layout.PartsOf(layout.RowMajor, len(st.Axes)), Space: space, Fold: sched.Fold{Axis: 0, Points: 1}})
}

// carried is a sum of a chunk and what was there of those before, scaled.
func (a *attention) carried(st *attentionStage, n int, own te.Expr, rest ...sym.Expr) te.Expr {
	if a.chunks().Is(1) {
		return own
	}
	scaled := te.Fn(ir.F32, "mul", a.before(st, n, te.Float(ir.F32, 0), rest...), st.read(runningMost, 1))
	return te.Fn(ir.F32, "add", own, scaled)
}

// sumsOf is the stage of the running results, and its axis of columns.
func (a *attention) sumsOf() (st *attentionStage, column sym.Expr) {
	st = a.start(runningResults, a.y.Name, a.y)
	column = st.Axis(sym.Const(a.columns()))
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: a.chunk - 1}
	without := slices.Clone(st.first[:len(st.first)-1])
	st.sum(a.chunk, a.factor(chunkWeights, slices.Concat(st.first, []sym.Expr{sym.Var("r0")})...), a.factor(copiedValues, append(without, column, sym.Var("r0"))...))
	st.Results = []te.Expr{a.carried(st, runningResults, te.Acc{Type: ir.F32}, column)}
	return st, column
}

// sums adds the running results.
func (a *attention) sums(p *lower.Proposal) {
	st, column := a.sumsOf()
	st.Sched.Tile = a.tile()
	var loops lower.LoopList
	loops.Add(sched.Serial, chunksVar, workgroup.VarName(st.first[0]), 0, sched.Exact)
	loops.Add(sched.Serial, "g8k_9", "r0", 0, sched.Exact)
	a.itemLoops(&loops, runningResults, st.row(), workgroup.VarName(column), a.rows, a.columns(), a.tall, a.wide)
	a.tileLoops(&loops, runningResults, st.row(), workgroup.VarName(column), a.tall, a.wide)
	st.Sched.Loops = loops
	kept := held(len(st.Axes), a.tall, a.wide)
	kept.Fold = sched.Fold{Axis: 0, Points: 1}
	a.add(p, st, kept)
}

// resultsOf is the dominant stage: what is there after the last chunk, divided by the sum of the weights; and its axis of columns.
func (a *attention) resultsOf() (st *attentionStage, column sym.Expr) {
	st = a.start(finalResults, a.y.Name, a.y)
	column = st.Axis(a.column.Extent)
	st.Names[a.column.Var] = column
	y := a.normalised(st, column)
	for _, e := range a.y.Results {
		st.Results = append(st.Results, te.Map(st.Subst(e), func(e te.Expr) te.Expr {
			if _, is := e.(te.Acc); is {
				return y
			}
			return e
		}))
	}
	return st, column
}

// results adds the dominant stage.
func (a *attention) results(p *lower.Proposal) {
	st, column := a.resultsOf()
	row := st.row()
	st.Sched.Splits = []sched.Split{{Axis: row, Outer: "g1m", Inner: "g2m", Size: a.rows}, {Axis: workgroup.VarName(column), Outer: "g1n", Inner: "g2n", Size: a.columns()}}
	var loops lower.LoopList
	for i, v := range st.first[:len(st.first)-1] {
		loops.Add(sched.Group, workgroup.BatchVar(i), workgroup.VarName(v), 0, sched.Exact)
	}
	loops.Add(sched.Group, workgroup.DownGroups, "g1m", 0, sched.Exact)
	loops.Add(sched.Group, workgroup.AcrossGroups, "g1n", 0, sched.Exact)
	a.itemLoops(&loops, finalResults, "g2m", "g2n", a.rows, a.columns(), a.tall, a.wide)
	loops.Add(sched.Serial, "g8m_10", "g2m", a.tall, sched.Exact)
	loops.Add(sched.Serial, "g8n_10", "g2n", a.wide, sched.Exact)
	ragged := !sym.Mod(a.queries, sym.Const(a.rows), a.env.Symbols).Is(0)
	n, _ := a.column.Extent.Const()
	loops.Add(sched.Serial, "g8t", "g1m", 1, lower.EdgeIf(ragged, sched.RoundUp))
	loops.Add(sched.Serial, "g8u", "g1n", 1, lower.EdgeIf(n%a.columns() != 0, sched.RoundUp))
	loops.Add(sched.Serial, "g8z", "g1m", 1, sched.Exact) // the innermost loop has no edge: all that is beyond one is asked for
	st.Sched.Loops = loops
	p.AddStage(&st.Stage, st.Sched)
}

// normalised is a result, divided by the sum of its row's weights. Where no key counts the running sum is 0, as all weights are that it adds, and theirs are
// no numbers in a softmax that does not ask for that; the running result is what zeros make of the values.
func (a *attention) normalised(st *attentionStage, column sym.Expr) te.Expr {
	last := sym.Sub(a.chunks(), sym.Const(1))
	end := func(of int, rest ...sym.Expr) te.Expr {
		return te.FromStage(of, ir.F32, slices.Concat([]sym.Expr{last}, st.first, rest)...)
	}
	fn, zero := "mul", te.Float(ir.F32, 0)
	if a.divides {
		fn = "div"
	}
	empty := te.Fn(ir.Bool, "eq", end(runningTotal), zero)
	total := st.Subst(a.total.Results[0])
	infinite := te.Text(total) == te.Text(te.Fn(ir.F32, "div", te.Float(ir.F32, 1), te.Acc{Type: ir.F32}))
	total = te.Map(total, func(e te.Expr) te.Expr {
		if _, is := e.(te.Acc); !is {
			return e
		}
		return end(runningTotal)
	})
	if !a.counts && !(a.divides && isSum(a.total)) && !(infinite && !a.divides) {
		total = te.Fn(ir.F32, "select", empty, te.Float(ir.F32, math.NaN()), total)
	}
	y := te.Fn(ir.F32, fn, end(runningResults, column), total)
	if a.numbers {
		none := te.Fn(ir.F32, "select", empty, end(runningResults, column), zero)
		y = te.Fn(ir.F32, "select", te.Fn(ir.Bool, "isnan", te.Fn(ir.F32, fn, zero, total)), none, y)
	}
	return y
}
