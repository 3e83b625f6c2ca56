package attend

import (
	"fmt"

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
)

// longProduct is a contraction of floats whose sum has as many points as only the run knows, as that of weights and values over tokens: register tiles add up
// a chunk of so many points, of which the last one has zeros behind its own, and a task carries results of its rows from one chunk to the next. That is what
// attention does with the values of its keys, whose stages these are, without what scales them.
type longProduct struct {
	taskAttention
	x *match.Term
}

// LongAnchor begins the names of these kernels.
const LongAnchor = "long product"

// Numbers of the stages of a long product.
const (
	longRows = iota
	longColumns
	longResults
)

// What is tried: rows of a task, and points of a chunk.
var (
	longTaskRows = []int64{12, 24, 48, 96}
	longChunks   = []int64{64, 128, 256}
)

// LongProduct proposes schedules of tasks for such a contraction, and follows them; none where the block is none.
func LongProduct(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if env.Fusing || !env.Target.TilesFillScratch() || len(b.Placed) > 0 || !lower.AnyOrder(b, env.Layouts) || lower.ReadsImages(b, env.Layouts) {
		return nil, nil
	}
	found := longProductOf(b, env)
	if found == nil {
		return nil, nil
	}
	return proposedTasks(LongAnchor, found.tiles(), b, env)
}

// longProductOf recognises one: the last axis is of columns, whose number is known, and the one before it, axes of one point aside, of rows.
func longProductOf(b *block.Block, env *lower.Env) *longProduct {
	s, row := b.Stage, env.Target.Tile(ir.F32)
	l, r, ok := match.Multiplied(s)
	sum := workgroup.Several(s.Reduce)
	if !ok || s.Update != nil || row == nil || s.Values[0].DType() != ir.F32 || len(s.Axes) < 2 || len(sum) != 1 || match.Static(sum) {
		return nil
	}
	if least, _ := sum[0].Extent.Bounds(env.Symbols); least < 1 {
		return nil // without a point there is no last chunk
	}
	m, _ := match.Factored(s, b.Operands, nil, l, r)
	if m == nil || !plainFactor(m.Factors[0]) || !plainFactor(m.Factors[1]) {
		return nil
	}
	cut := *b
	cut.Depth = len(s.Axes) - 1
	at := &longProduct{taskAttention: taskAttention{instr: row, attention: attention{env: env, b: &cut, outer: workgroup.DownGroups, y: s, key: sum[0], keeps: longResults}}}
	at.column, at.query = s.Axes[cut.Depth], -1
	at.x, at.v = m.Factors[0], m.Factors[1]
	if at.x.Uses(at.column.Var) {
		at.x, at.v = at.v, at.x
	}
	for i, a := range s.Axes[:cut.Depth] {
		if !a.Extent.Is(1) {
			at.query = i
		}
	}
	_, known := at.column.Extent.Const()
	if !known || at.query < 0 {
		return nil
	}
	rows := s.Axes[at.query].Var
	if at.x.Uses(at.column.Var) || at.v.Uses(rows) || !at.x.Uses(rows) || !at.v.Uses(at.column.Var) || !at.x.Uses(sum[0].Var) || !at.v.Uses(sum[0].Var) {
		return nil
	}
	at.queries = s.Axes[at.query].Extent
	return at
}

func (l *longProduct) name() string {
	return fmt.Sprintf("%s %d rows, %d points, %dx%d", LongAnchor, l.rows, l.chunk, l.resultTile.Rows, l.resultTile.Vectors)
}

// tiles are those that are tried: what a task reads of a chunk, and its results, are to stay in the second-level cache.
func (l *longProduct) tiles() []*longProduct {
	var out []*longProduct
	for _, rows := range longTaskRows {
		for _, chunk := range longChunks {
			t := *l
			t.rows, t.chunk, t.wide, t.step = rows, chunk, t.instr.Lanes, 1
			few := rows > longTaskRows[0] && micro.Usual(t.queries) <= rows/2 || chunk > longChunks[0] && micro.Usual(t.key.Extent) <= chunk/2
			if few || 4*(chunk*(rows+t.columns())+rows*t.columns()) > t.env.Target.L2/2 {
				continue
			}
			t.resultTile = t.tileOf(evenlyWide(t.columns()/t.wide, mostTaskColumns), rows)
			if t.granule = t.resultTile.Rows; rows%t.granule != 0 {
				continue
			}
			out = append(out, &t)
		}
	}
	return out
}

// schedule is the stages and where they are computed.
func (l *longProduct) schedule() *lower.Proposal {
	p := lower.NewProposal(l.env.Symbols)
	l.copiedRows(p)
	l.copied(p, copiedValues, l.v, l.b.Stage, true)

	st := l.start(runningResults, l.y.Name, l.y)
	column := st.Axis(sym.Const(l.columns()))
	st.Facts["r0"] = sym.Range{Lo: 0, Hi: l.chunk - 1}
	without := st.first[:len(st.first)-1]
	st.sum(l.chunk, st.read(longRows, 0, sym.Var("r0")), te.FromStage(longColumns, ir.F32, append(without[:len(without):len(without)], column, sym.Var("r0"))...))
	st.Results = []te.Expr{te.Acc{Type: ir.F32}}
	if !l.chunks().Is(1) {
		st.Results = []te.Expr{te.Fn(ir.F32, "add", l.before(st, longResults, te.Float(ir.F32, 0), column), te.Acc{Type: ir.F32})}
	}
	st.Sched.Tile = &sched.Tile{Row: l.instr.Name, X: l.instr.Broadcaster(0)}
	st.add(sched.Serial, chunksVar, workgroup.VarName(st.first[0]), 0, sched.Exact)
	of := func(what string) string { return numbered(what, runningResults) }
	st.add(sched.Serial, of("g3n"), workgroup.VarName(column), 0, sched.Exact)
	st.add(sched.Serial, of("g3m"), st.row(), l.rows/l.granule, sched.Clip)
	st.add(sched.Rows, of("g7m"), st.row(), l.granule, sched.Exact)
	st.add(sched.Columns, of("g7v"), workgroup.VarName(column), l.resultTile.Vectors, sched.Exact)
	st.add(sched.Lanes, of("g7n"), workgroup.VarName(column), l.instr.Lanes, sched.Exact)
	st.add(sched.Sum, of("g7k"), "r0", 0, sched.Exact)
	kept := inWorker(layout.PartsOf(layout.RowMajor, len(st.Axes)))
	kept.Fold = sched.Fold{Axis: 0, Points: 1}
	l.add(p, st, kept)
	l.ends(p, l.dominant)
	return p
}

// copiedRows adds the stage that copies a chunk of a task's rows, with zeros behind the last point and the last row.
func (l *longProduct) copiedRows(p *lower.Proposal) {
	st := l.start(chunkWeights, "copy", l.y)
	k := st.Axis(sym.Const(l.chunk))
	st.Names[l.key.Var] = l.keys(st, k)
	load := st.Subst(l.x.Load).(te.Load)
	if len(st.There) > 0 {
		load.Guard, load.Default = append(load.Guard[:len(load.Guard):len(load.Guard)], st.There...), te.Number(load.Type, 0)
	}
	st.Results = []te.Expr{match.AsF32(load)}
	parts := layout.PartsOf(layout.RowMajor, len(st.Axes))
	if l.alongSum(l.x, []te.Axis{l.key}) {
		st.add(sched.Serial, numbered("g8s", longRows), st.row(), l.rows, sched.Clip)
		st.add(sched.Serial, numbered("g8f", longRows), workgroup.VarName(k), 0, sched.Exact) // not Vector: what is there is copied without conditions
	} else {
		parts = rowsLast(len(st.Axes), 0)
		st.add(sched.Serial, numbered("g8f", longRows), workgroup.VarName(k), 0, sched.Exact)
		st.add(sched.Vector, numbered("g8s", longRows), st.row(), 0, sched.Exact)
	}
	l.add(p, st, inWorker(parts))
}

// dominant is what is there after the last chunk, and its axis of columns.
func (l *longProduct) dominant() (st *attentionStage, column sym.Expr) {
	st = l.start(finalResults, l.y.Name, l.y)
	column = st.Axis(l.column.Extent)
	st.Names[l.column.Var] = column
	last := append([]sym.Expr{sym.Sub(l.chunks(), sym.Const(1))}, st.first...)
	sum := te.FromStage(longResults, ir.F32, append(last, column)...)
	for _, e := range l.y.Results {
		st.Results = append(st.Results, te.Map(st.Subst(e), func(e te.Expr) te.Expr {
			if _, is := e.(te.Acc); is {
				return sum
			}
			return e
		}))
	}
	return st, column
}
