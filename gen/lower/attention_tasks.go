package lower

import (
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// taskAttention is attention that the tasks of a processor compute: some queries each, whose scores of a chunk of keys stay in its nearest caches. Lanes of
// scores are queries, so that maxima and sums are those of vectors, and keys are read as they lie; lanes of results are columns, as the values lie.
type taskAttention struct {
	attention
	instr *instr.Row
	// scoreTile has rows of keys, and resultTile of queries.
	scoreTile, resultTile tile
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
func taskedAttention(b *block.Block, env *Env) ([]*Lowered, error) {
	if !anyOrder(b, env.Layouts) || readsImages(b, env.Layouts) || !env.Target.TilesFillScratch() {
		return nil, nil
	}
	found := recognised(&attention{env: env, b: b, outer: downGroups})
	if found == nil {
		return nil, nil
	}
	var out []*Lowered
	for _, t := range found.taskTiles() {
		if env.Only != "" && Unhashed(env.Only) != t.name() {
			continue
		}
		l, err := env.proposed(attentionAnchor, tile{}, t.schedule(), b)
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", b.Label(), err)
		}
		l.Name = t.name() + digestMark + l.Schedule.Digest()
		out = append(out, l)
	}
	return out, nil
}

func (a *taskAttention) name() string {
	return fmt.Sprintf("%s %d queries, %d keys, %dx%d and %dx%d", attentionAnchor, a.rows, a.chunk, a.scoreTile.rows, a.scoreTile.vectors, a.resultTile.rows, a.resultTile.vectors)
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
			if wide > 1 && usual(a.queries) <= t.rows-row.Lanes || chunk > slices.Min(chunks) && usual(a.key.Extent) <= chunk/2 {
				continue
			}
			t.scoreTile = t.tileOf(wide, chunk)
			t.resultTile = t.tileOf(evenlyWide(t.columns()/row.Lanes, mostTaskColumns), t.rows)
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
func (a *taskAttention) tileOf(vectors, of int64) tile {
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
			return tile{n, vectors}
		}
	}
	return tile{most, vectors}
}

// schedule is the stages and where they are computed.
func (a *taskAttention) schedule() *proposal {
	p := newProposal(a.env.Symbols)
	a.copied(p, copiedQueries, a.q, a.scores, true)
	a.copied(p, copiedKeys, a.k, a.scores, false)

	st, key := a.scoresOf()
	st.sched.Tile = &sched.Tile{Row: a.instr.Name, X: a.instr.Broadcaster(0)}
	a.tiled(st, chunkScores, name(key), st.row(), a.scoreTile, a.chunk)
	a.add(p, st, inWorker(rowsLast(len(st.Axes), 0)))

	st, own := a.reduced(p, partMost, chunkScores, runningMost, a.most)
	a.grown(p, st, own, sched.Worker)

	st, key = a.weightsOf()
	st.add(sched.Serial, numbered("g8s", chunkWeights), name(key), 0, sched.Exact)
	st.add(sched.Vector, numbered("g8f", chunkWeights), st.row(), 0, sched.Exact)
	a.add(p, st, inWorker(rowsLast(len(st.Axes), 0)))

	st, own = a.reduced(p, partTotal, chunkWeights, runningTotal, a.total)
	a.summed(p, st, own, sched.Worker)

	a.copied(p, copiedValues, a.v, a.b.Stage, true)
	st, column := a.sumsOf()
	st.sched.Tile = &sched.Tile{Row: a.instr.Name, X: a.instr.Broadcaster(0)}
	st.add(sched.Serial, chunksVar, name(st.first[0]), 0, sched.Exact)
	a.tiled(st, runningResults, st.row(), name(column), a.resultTile, a.rows)
	kept := inWorker(layout.PartsOf(layout.RowMajor, len(st.Axes)))
	kept.Fold = sched.Fold{Axis: 0, Points: 1}
	a.add(p, st, kept)
	a.ends(p, a.resultsOf)
	return p
}

// inWorker is a place in a task's memory.
func inWorker(parts layout.Parts) sched.Value { return sched.Value{Parts: parts, Space: sched.Worker} }

// copied adds the stage that copies what a task reads of a factor: points last, where they are lanes, or neighbours in memory.
func (a *taskAttention) copied(p *proposal, n int, t *term, s *te.Stage, lanes bool) {
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
	st.sched.Loops = append(st.sched.Loops, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
}

// numbered is the name of a loop of a stage.
func numbered(what string, n int) string { return fmt.Sprintf("%s_%d", what, n) }

// tiled adds the loops over a tile's rows, of which there are so many, its columns and its sum.
func (a *taskAttention) tiled(all *attentionStage, n int, row, column string, t tile, rows int64) {
	all.add(sched.Serial, numbered("g3n", n), column, 0, sched.Exact)
	all.add(sched.Serial, numbered("g3m", n), row, 0, sched.Exact)
	all.add(sched.Rows, numbered("g7m", n), row, t.rows, edge(rows%t.rows != 0, sched.Peel))
	all.add(sched.Columns, numbered("g7v", n), column, t.vectors, sched.Exact)
	all.add(sched.Lanes, numbered("g7n", n), column, a.instr.Lanes, sched.Exact)
	all.add(sched.Sum, numbered("g7k", n), "r0", 0, sched.Exact)
}

// reduced adds the stage that reduces a chunk of each query, and begins that of what is carried on; own is what there is of the chunk.
func (a *taskAttention) reduced(p *proposal, part, from, next int, s *te.Stage) (st *attentionStage, own te.Expr) {
	st = a.start(part, "part", s)
	st.facts["r0"] = sym.Range{Lo: 0, Hi: a.chunk - 1}
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
func (a *taskAttention) ends(p *proposal, dominant func() (*attentionStage, sym.Expr)) {
	st, column := dominant()
	row := st.row()
	for i, v := range st.first[:len(st.first)-1] {
		st.add(sched.Task, batchVar(i), name(v), 0, sched.Exact)
	}
	ragged := !sym.Mod(a.queries, sym.Const(a.rows), a.env.Symbols).Is(0)
	st.add(sched.Task, downGroups, row, 0, sched.Exact)
	st.add(sched.Serial, numbered("g8m", finalResults), row, a.rows, edge(ragged, sched.Clip))
	st.add(sched.Vector, numbered("g8n", finalResults), name(column), 0, sched.Exact)
	n := p.addStage(&st.Stage, st.sched)
	readOperands(p, a.b.Operands)
	for i, v := range p.work.Operands {
		if l := a.env.Layouts(v); l != layout.RowMajor {
			p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{N: i}, Parts: layout.PartsOf(l, len(v.Shape))})
		}
	}
	for i, v := range a.b.Results {
		if l := a.env.Layouts(v); l != layout.RowMajor {
			p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: n, Part: i}, Parts: a.withoutPoints(layout.PartsOf(l, len(v.Shape)))})
		}
	}
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
