// Package follow makes kernels of stages and a schedule of them. It decides nothing: loops, tiles and memory are the
// schedule's.
package follow

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// Kernel follows a schedule. Its buffers are the operands of the work, then the results of the last stage.
func Kernel(w *sched.Work, s *sched.Schedule, t *target.Target) (*loop.Kernel, error) {
	if err := s.Verify(w, t); err != nil {
		return nil, err
	}
	return Unverified(w, s, t)
}

// Unverified follows a schedule that is verified where its kernel is chosen, of many.
func Unverified(w *sched.Work, s *sched.Schedule, t *target.Target) (*loop.Kernel, error) {
	f, err := start(w, s, t, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range f.at {
		f.enter(c)
	}
	body, err := f.stage(len(w.Stages) - 1)
	if err != nil {
		return nil, err
	}
	if body, err = f.fetchAhead(body); err != nil {
		return nil, err
	}
	f.k.Body, f.k.Facts = f.fetchNext(append(f.allocs, body...)), f.facts
	used := map[string]bool{}
	loop.Exprs(f.k.Statements(), func(e sym.Expr) { e.Vars(used) })
	for v := range used {
		if _, ok := w.Facts[v]; ok {
			f.k.Syms = append(f.k.Syms, v)
		}
	}
	slices.Sort(f.k.Syms)
	return f.k, nil
}

// start finds the loops of all stages, or, where tiles alone are of interest, of those that they need.
func start(w *sched.Work, s *sched.Schedule, t *target.Target, needed []need) (*follower, error) {
	f := &follower{w: w, s: s, t: t, tiles: needed != nil, k: &loop.Kernel{Anchor: "schedule"}, facts: maps.Clone(w.Facts), ahead: map[*loop.Buffer]int64{}, next: map[*loop.MicroKernel]int64{}}
	if f.facts == nil {
		f.facts = sym.Facts{}
	}
	nonzeros := make([]*sched.Nonzeros, len(w.Stages))
	for n := range w.Stages {
		var err error
		if nonzeros[n], err = s.Nonzeros(w, n); err != nil {
			return nil, fmt.Errorf("stage %d: %w", n, err)
		}
	}
	for i, v := range w.Operands {
		x := s.Place(w, te.Source{N: i})
		b := &loop.Buffer{Name: fmt.Sprintf("a%d", i), Type: v.Type, Size: f.elements(x, v.Shape), Const: v.Const != nil}
		f.in = append(f.in, &stored{Value: x, buf: b, shape: v.Shape})
		f.fetches(x, b)
		k := slices.IndexFunc(nonzeros, func(z *sched.Nonzeros) bool { return z != nil && z.Operand == i })
		if k >= 0 {
			f.encode(i, nonzeros[k])
		} else {
			f.k.Buffers = append(f.k.Buffers, b)
		}
	}
	f.at = make([]*stage, len(w.Stages))
	for n := len(w.Stages) - 1; n >= 0; n-- { // a stage is placed at loops of later ones
		c := &stage{n: n, te: w.Stages[n], sched: &s.Stages[n], stored: nonzeros[n]}
		f.at[n] = c
		if needed != nil && needed[n] == nothing {
			continue
		}
		var err error
		if c.spans, err = c.sched.Spans(c.te); err != nil {
			return nil, fmt.Errorf("stage %d: %w", n, err)
		}
		for i := range c.spans {
			c.spans[i].First = f.first(c.sched, c.spans[i])
		}
		c.rest, c.fixed = map[int]sym.Expr{}, map[string]sym.Expr{}
		f.ranges(c)
	}
	return f, nil
}

// follower is the state of making a kernel.
type follower struct {
	w      *sched.Work
	s      *sched.Schedule
	t      *target.Target
	k      *loop.Kernel
	tiles  bool // nothing but micro-kernels is of interest
	facts  sym.Facts
	in     []*stored
	at     []*stage
	allocs []loop.Stmt
	lets   int                         // integers that expressions have bound so far
	shared int                         // values that iterations of loops share, so far
	ahead  map[*loop.Buffer]int64      // of values that are fetched, by how many elements
	next   map[*loop.MicroKernel]int64 // how many elements of the next W calls share, by their micro-kernels
}

// stored is where a value lies.
type stored struct {
	sched.Value
	buf   *loop.Buffer
	shape ir.Shape
	enc   *encoded // or nil
}

// stage is one that is being computed.
type stage struct {
	n     int
	te    *te.Stage
	sched *sched.Stage
	row   *instr.Row // of its tile, or nil
	spans []sched.Span
	// logical are its axes in variables that stand for points of spans, of which facts are the ranges: what is certain of all
	// points that are computed is found there, before loops take their place.
	logical map[string]sym.Expr
	coords  map[string]sym.Expr // in the variables of loops
	facts   sym.Facts
	first   []sym.Expr // of what is stored of each axis
	out     []*stored  // by result
	// rest is the extent of a loop in the code for the part of an axis that fills no iteration, and fixed what variables are there, or
	// everywhere.
	rest  map[int]sym.Expr
	fixed map[string]sym.Expr
	acc   *accumulators // while loops of the reduction are open
	sums  *loop.Buffer  // of its tile
	total *loop.Buffer  // of its blocks' sums (blocks.go)
	// partial are the accumulators that lie in the worker's memory, of each value.
	partial []*loop.Buffer
	// whole are spans that a tile has all points of, and single a tile of one row.
	whole  map[string]bool
	single bool
	// stored is the constant of which loops walk what is stored, or nil.
	stored *sched.Nonzeros
	inside bool                   // all that is read meets its guard
	claims []loop.Mem             // what the statements at hand store of values whose lines are claimed
	mems   map[*sym.Expr]loop.Mem // where loads read, by their indices, of code that is made twice; or nil
	parts  map[string]sym.Expr    // points of joined parts, which have variables of their own
}

// ranges notes those of the stage's loops.
func (f *follower) ranges(c *stage) {
	if c.sched.Tile != nil {
		c.row = instr.Lookup(c.sched.Tile.Row)
	}
	for i, l := range c.sched.Loops {
		_, hi := f.extent(c, i).Bounds(f.facts)
		if c.splits(i) { // the part has code of its own, where the variable is fixed
			_, most := sym.FloorDiv(c.span(i).Extent, sym.Const(c.sched.Within(i)), f.facts).Bounds(f.facts)
			hi = min(hi, most)
		}
		f.facts[l.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		if l.Kind == sched.Columns && hi <= 1 { // in quotients and remainders a variable would have no step
			c.fixed[l.Var] = sym.Const(0)
		}
	}
	if c.stored != nil {
		filters, _ := c.stored.Filter.Extent.Const()
		f.facts[filterName(c.sched.Loops[c.stored.Filters])] = sym.Range{Lo: 0, Hi: max(c.stored.Stored(filters), 1) - 1}
	}
}

// enter prepares a stage: its points, its buffers.
func (f *follower) enter(c *stage) {
	f.points(c)
	f.memory(c)
}

// memory finds where what a stage stores lies.
func (f *follower) memory(c *stage) {
	c.first = make([]sym.Expr, len(c.te.Axes))
	for _, p := range c.spans {
		if i := slices.IndexFunc(c.te.Axes, func(a te.Axis) bool { return a.Var == p.Axes[0].Var }); i >= 0 && len(p.Axes) == 1 && !p.Reduce {
			begin := sym.Const(0)
			if p.Name != p.Axes[0].Var && p.Step == 1 { // once, with the inner part
				begin = c.sched.Begin(p.Axes[0].Var)
			}
			c.first[i] = sym.Add(c.first[i], p.First, begin)
		}
	}
	last := c.n == len(f.w.Stages)-1
	for part, r := range c.te.Results {
		x := f.s.Place(f.w, te.Source{Stage: true, N: c.n, Part: part})
		shape := c.sched.Shape(c.te, x.Fold)
		b := &loop.Buffer{Name: fmt.Sprintf("s%d_%d", c.n, part), Type: r.DType(), Write: true, Local: x.Space == sched.Register, Size: f.elements(x, shape)}
		switch {
		case last:
			b.Name = fmt.Sprintf("y%d", part)
			f.k.Buffers = append(f.k.Buffers, b)
		case b.Local:
			f.allocs = append(f.allocs, loop.Alloc{Buf: b})
		case x.Space == sched.Local:
			f.k.Shared = append(f.k.Shared, b)
		default:
			if b.Name = "scratch"; len(f.k.Scratch) > 0 {
				b.Name = fmt.Sprintf("scratch_%d", len(f.k.Scratch))
			}
			f.k.Scratch = append(f.k.Scratch, b)
		}
		c.out = append(c.out, &stored{Value: x, buf: b, shape: shape})
		f.fetches(x, b)
	}
}

// fetches notes whether a value is fetched ahead.
func (f *follower) fetches(v sched.Value, b *loop.Buffer) {
	if v.Fetch > 0 {
		f.ahead[b] = v.Fetch
	}
}

// stage computes a stage at the loop where it is placed.
func (f *follower) stage(n int) ([]loop.Stmt, error) {
	c := f.at[n]
	out, err := f.conditional(c, func() ([]loop.Stmt, error) { return f.loops(c, 0) })
	if err != nil {
		return nil, fmt.Errorf("stage %d: %w", n, err)
	}
	return append(out, c.margins()...), nil
}

// margins stores zeros after the last element, which lanes of tiles read.
func (c *stage) margins() []loop.Stmt {
	var out []loop.Stmt
	for _, v := range c.out {
		for i := range v.Margin.After {
			at := sym.Sub(v.buf.Size, sym.Const(v.Margin.After-i))
			out = append(out, loop.Store{Buf: v.buf, Index: at, Value: te.Number(v.buf.Type, 0)})
		}
	}
	return out
}

// placed computes what is placed at a loop.
func (f *follower) placed(at sched.Ref) ([]loop.Stmt, error) {
	var out []loop.Stmt
	for n := range f.s.Stages {
		if f.s.Stages[n].At == at {
			body, err := f.stage(n)
			if err != nil {
				return nil, err
			}
			out = append(out, body...)
		}
	}
	return out, nil
}
