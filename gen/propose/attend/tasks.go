package attend

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/workgroup"
	"rules_dnn/gen/target/instr"
)

// taskAttention is attention that the tasks of a processor compute: some queries each, whose scores of a chunk of keys stay in its nearest caches. Lanes of
// scores are queries, so that maxima and sums are those of vectors, and keys are read as they lie; lanes of results are columns, as the values lie.
type taskAttention struct {
	attention
	instr *instr.Row
	// scoreTile has rows of keys, and resultTile of queries.
	scoreTile, resultTile micro.Tile
}

// What is tried: registers of queries, and keys of a chunk.
var (
	taskRegisters = []int64{1, 2, 3, 4}
	taskKeys      = []int64{32, 48, 64, 96, 128, 192}
)

// mostTaskColumns is how many registers of columns a tile of results has at most, and mostTaskRows how many rows any has.
const (
	mostTaskColumns = 4
	mostTaskRows    = 12
)

// taskedAttention proposes schedules of tasks, and follows them.
func taskedAttention(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if !lower.AnyOrder(b, env.Layouts) || lower.ReadsImages(b, env.Layouts) || !env.Target.TilesFillScratch() {
		return nil, nil
	}
	found := recognised(&attention{env: env, b: b, outer: workgroup.DownGroups})
	if found == nil {
		return nil, nil
	}
	return proposedTasks(Anchor, found.taskTiles(), b, env)
}

// proposedTasks are the kernels of what is tried, or of the one that is wanted.
func proposedTasks[T interface {
	name() string
	schedule() *lower.Proposal
}](anchor string, tried []T, b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	var out []*lower.Lowered
	for _, t := range tried {
		if env.Only != "" && lower.Unhashed(env.Only) != t.name() {
			continue
		}
		l, err := env.Proposed(anchor, micro.Tile{}, t.schedule(), b)
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", b.Label(), err)
		}
		l.Name = t.name() + lower.DigestMark + l.Schedule.Digest()
		out = append(out, l)
	}
	return out, nil
}

func (a *taskAttention) name() string {
	return fmt.Sprintf("%s %d queries, %d keys, %dx%d and %dx%d", Anchor, a.rows, a.chunk, a.scoreTile.Rows, a.scoreTile.Vectors, a.resultTile.Rows, a.resultTile.Vectors)
}

// taskTiles are those that are tried.
func (a *attention) taskTiles() []*taskAttention {
	var out []*taskAttention
	row := a.env.Target.Tile(ir.F32)
	keys, known := a.key.Extent.Const()
	chunks := taskKeys
	if known && keys <= slices.Max(taskKeys) && !slices.Contains(taskKeys, keys) {
		chunks = append(slices.Clone(taskKeys), keys) // of which nothing is carried
	}
	for _, wide := range taskRegisters {
		for _, chunk := range chunks {
			t := &taskAttention{attention: *a, instr: row}
			t.rows, t.chunk, t.wide, t.step = wide*row.Lanes, chunk, row.Lanes, 1
			t.granule = t.rows
			if wide > 1 && micro.Usual(a.queries) <= t.rows-row.Lanes || chunk > slices.Min(chunks) && micro.Usual(a.key.Extent) <= chunk/2 {
				continue
			}
			t.scoreTile = t.tileOf(wide, chunk)
			t.resultTile = t.tileOf(evenlyWide(t.columns()/row.Lanes, mostTaskColumns), t.rows)
			if n := t.resultTile.Rows; n < t.rows && t.rows%n == 0 && t.ragged() {
				t.last = n
			}
			out = append(out, t)
		}
	}
	return out
}

// evenlyWide is the most registers up to so many that divide a number of them.
func evenlyWide(n, most int64) int64 {
	for w := min(n, most); w > 1; w-- {
		if n%w == 0 {
			return w
		}
	}
	return 1
}

// fewTaskRows is how many rows a tile has at least, if it has several columns.
const fewTaskRows = 3

// tileOf is the tile of so many columns, or of fewer, that fits, whose rows divide a number of rows, if some that are more than half of those that fit do.
func (a *taskAttention) tileOf(vectors, of int64) micro.Tile {
	rows := func() int64 {
		n := int64(1)
		for n < min(mostTaskRows, of) && a.instr.Registers(a.instr.Broadcaster(0), n+1, vectors) <= a.env.Target.Registers(a.instr) {
			n++
		}
		return n
	}
	most := rows()
	for vectors > 1 && most < min(fewTaskRows, of) {
		vectors = evenlyWide(vectors, vectors-1)
		most = rows()
	}
	for n := most; 2*n > most; n-- {
		if of%n == 0 {
			return micro.Tile{Rows: n, Vectors: vectors}
		}
	}
	return micro.Tile{Rows: most, Vectors: vectors}
}

// schedule is the stages and where they are computed.
func (a *taskAttention) schedule() *lower.Proposal {
	p := lower.NewProposal(a.env.Symbols)
	a.copied(p, copiedQueries, a.q, a.scores, true)
	a.copied(p, copiedKeys, a.k, a.scores, false)

	st, key := a.scoresOf()
	st.Sched.Tile = &sched.Tile{Row: a.instr.Name, X: a.instr.Broadcaster(0)}
	a.tiled(st, chunkScores, workgroup.VarName(key), st.row(), a.scoreTile, a.chunk)
	a.add(p, st, inWorker(rowsLast(len(st.Axes), 0)))

	st, own := a.reduced(p, partMost, chunkScores, runningMost, a.most)
	a.grown(p, st, own, sched.Worker)

	st, key = a.weightsOf()
	st.add(sched.Serial, numbered("g8s", chunkWeights), workgroup.VarName(key), 0, sched.Exact)
	st.add(sched.Vector, numbered("g8f", chunkWeights), st.row(), 0, sched.Exact)
	a.add(p, st, inWorker(rowsLast(len(st.Axes), 0)))

	st, own = a.reduced(p, partTotal, chunkWeights, runningTotal, a.total)
	a.summed(p, st, own, sched.Worker)

	a.copied(p, copiedValues, a.v, a.b.Stage, true)
	st, column := a.sumsOf()
	st.Sched.Tile = &sched.Tile{Row: a.instr.Name, X: a.instr.Broadcaster(0)}
	st.add(sched.Serial, chunksVar, workgroup.VarName(st.first[0]), 0, sched.Exact)
	a.tiled(st, runningResults, st.row(), workgroup.VarName(column), a.resultTile, a.rows)
	if a.last > 0 { // the last task has tiles of queries that are there
		down := slices.IndexFunc(st.Sched.Loops, func(l sched.Loop) bool { return l.Var == numbered("g3m", runningResults) })
		st.Sched.Loops[down].Size, st.Sched.Loops[down].Edge = a.rows/a.last, sched.Clip
	}
	kept := inWorker(layout.PartsOf(layout.RowMajor, len(st.Axes)))
	kept.Fold = sched.Fold{Axis: 0, Points: 1}
	a.add(p, st, kept)
	a.ends(p, a.resultsOf)
	return p
}

// inWorker is a place in a task's memory.
func inWorker(parts layout.Parts) sched.Value { return sched.Value{Parts: parts, Space: sched.Worker} }

// copied adds the stage that copies what a task reads of a factor: points last, where they are lanes, or neighbours in memory.
func (a *taskAttention) copied(p *lower.Proposal, n int, t *match.Term, s *te.Stage, lanes bool) {
	st, along := a.copyOf(n, t, s)
	rank := len(st.Axes)
	slow, fast, parts := st.Axes[rank-2].Var, st.Axes[rank-1].Var, layout.PartsOf(layout.RowMajor, rank)
	if lanes || !along {
		slow, fast, parts = fast, slow, rowsLast(rank, 0)
	}
	st.add(sched.Serial, numbered("g8s", n), slow, 0, sched.Exact)
	st.add(sched.Vector, numbered("g8f", n), fast, 0, sched.Exact)
	a.add(p, st, inWorker(parts))
}

// add adds a loop.
func (st *attentionStage) add(k sched.Kind, name, axis string, size int64, e sched.Edge) {
	st.Sched.Loops = append(st.Sched.Loops, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
}

// numbered is the name of a loop of a stage.
func numbered(what string, n int) string { return fmt.Sprintf("%s_%d", what, n) }

// tiled adds the loops over a tile's rows, of which there are so many, its columns and its sum.
func (a *taskAttention) tiled(all *attentionStage, n int, row, column string, t micro.Tile, rows int64) {
	all.add(sched.Serial, numbered("g3n", n), column, 0, sched.Exact)
	all.add(sched.Serial, numbered("g3m", n), row, 0, sched.Exact)
	all.add(sched.Rows, numbered("g7m", n), row, t.Rows, lower.EdgeIf(rows%t.Rows != 0, sched.Peel))
	all.add(sched.Columns, numbered("g7v", n), column, t.Vectors, sched.Exact)
	all.add(sched.Lanes, numbered("g7n", n), column, a.instr.Lanes, sched.Exact)
	all.add(sched.Sum, numbered("g7k", n), "r0", 0, sched.Exact)
}

// reduced adds the stage that reduces a chunk of each query, and begins that of what is carried on; own is what there is of the chunk.
func (a *taskAttention) reduced(p *lower.Proposal, part, from, next int, s *te.Stage) (st *attentionStage, own te.Expr) {
	st = a.start(part, "part", s)
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: a.chunk - 1}
	st.Combine, st.Reduce = s.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(a.chunk)}}
	st.Values = []te.Expr{st.read(from, 0, sym.Var("r0"))}
	st.Results = []te.Expr{te.Acc{Type: ir.F32}}
	st.add(sched.Serial, numbered("g8r", part), "r0", 0, sched.Exact)
	st.add(sched.Vector, numbered("g8f", part), st.row(), 0, sched.Exact)
	a.add(p, st, inWorker(layout.PartsOf(layout.RowMajor, len(st.Axes))))
	st = a.start(next, s.Name, s)
	st.add(sched.Vector, numbered("g8f", next), st.row(), 0, sched.Exact)
	return st, st.read(part, 0)
}

// ends adds the dominant stage, and says how the block's values lie.
func (a *taskAttention) ends(p *lower.Proposal, dominant func() (*attentionStage, sym.Expr)) {
	st, column := dominant()
	row := st.row()
	for i, v := range st.first[:len(st.first)-1] {
		st.add(sched.Task, workgroup.BatchVar(i), workgroup.VarName(v), 0, sched.Exact)
	}
	st.add(sched.Task, workgroup.DownGroups, row, 0, sched.Exact)
	st.add(sched.Serial, numbered("g8m", finalResults), row, a.rows, lower.EdgeIf(a.ragged(), sched.Clip))
	st.add(sched.Vector, numbered("g8n", finalResults), workgroup.VarName(column), 0, sched.Exact)
	n := p.AddStage(&st.Stage, st.Sched)
	workgroup.ReadOperands(p, a.b.Operands)
	for i, v := range p.Work.Operands {
		if l := a.env.Layouts(v); l != layout.RowMajor {
			p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{N: i}, Parts: layout.PartsOf(l, len(v.Shape))})
		}
	}
	for i, v := range a.b.Results {
		if l := a.env.Layouts(v); l != layout.RowMajor {
			p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: n, Part: i}, Parts: a.withoutPoints(layout.PartsOf(l, len(v.Shape)))})
		}
	}
}

// ragged reports whether the last task may have fewer queries than others.
func (a *taskAttention) ragged() bool {
	return !sym.Mod(a.queries, sym.Const(a.rows), a.env.Symbols).Is(0)
}

// withoutPoints is an order of the axes of the dominant stage, of which those of one point are none of the kernel's.
func (a *taskAttention) withoutPoints(parts layout.Parts) layout.Parts {
	at, n := map[int]int{}, 0
	for i, x := range a.b.Stage.Axes {
		if !x.Extent.Is(1) || i == a.query {
			at[i] = n
			n++
		}
	}
	var out layout.Parts
	for _, x := range parts {
		if axis, has := at[x.Axis]; has {
			x.Axis = axis
			out = append(out, x)
		}
	}
	return out
}
