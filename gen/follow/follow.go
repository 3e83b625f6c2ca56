// Package follow makes kernels of stages and a schedule of them. It decides nothing: loops, tiles and memory are the
// schedule's.
package follow

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// Kernel follows a schedule. Its buffers are the operands of the work, then the results of the last stage.
func Kernel(w *sched.Work, s *sched.Schedule, t *target.Target) (*loop.Kernel, error) {
	if err := s.Verify(w, t); err != nil {
		return nil, err
	}
	f := &follower{w: w, s: s, k: &loop.Kernel{Anchor: "schedule"}, facts: maps.Clone(w.Facts)}
	if f.facts == nil {
		f.facts = sym.Facts{}
	}
	for i, v := range w.Operands {
		x := s.Place(w, te.Source{N: i})
		b := &loop.Buffer{Name: fmt.Sprintf("a%d", i), Type: v.Type, Size: x.Parts.Elements(v.Shape), Const: v.Const != nil}
		f.in = append(f.in, &stored{Value: x, buf: b, shape: v.Shape})
		if err := f.operand(i); err != nil {
			return nil, err
		}
	}
	for n := range w.Stages {
		if err := f.enter(n); err != nil {
			return nil, fmt.Errorf("stage %d: %w", n, err)
		}
	}
	body, err := f.stage(len(w.Stages) - 1)
	if err != nil {
		return nil, err
	}
	f.k.Body, f.k.Facts = append(f.allocs, body...), f.facts
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

// operand adds the buffer of an operand, or those of one that is encoded.
func (f *follower) operand(i int) error {
	for n := range f.w.Stages {
		z, err := f.s.Nonzeros(f.w, n)
		if err != nil {
			return err
		}
		if z != nil && z.Operand == i {
			f.encode(i, z)
			return nil
		}
	}
	f.k.Buffers = append(f.k.Buffers, f.in[i].buf)
	return nil
}

// follower is the state of making a kernel.
type follower struct {
	w      *sched.Work
	s      *sched.Schedule
	k      *loop.Kernel
	facts  sym.Facts
	in     []*stored
	at     []*stage
	allocs []loop.Stmt
	lets   int // integers that expressions have bound so far
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
	n      int
	te     *te.Stage
	sched  *sched.Stage
	row    *instr.Row // of its tile, or nil
	spans  []sched.Span
	coords map[string]sym.Expr
	first  []sym.Expr // of what is stored of each axis
	out    []*stored  // by result
	// rest is the extent of a loop in the code for the part of an axis that fills no iteration.
	rest map[int]sym.Expr
	acc  *accumulators // while loops of the reduction are open
	// whole are spans that a tile has all points of, and single a tile of one row.
	whole  map[string]bool
	single bool
	// stored is the constant of which loops walk what is stored, or nil.
	stored *sched.Nonzeros
}

// enter prepares a stage: its loops' ranges, its buffers.
func (f *follower) enter(n int) error {
	st, sc := f.w.Stages[n], &f.s.Stages[n]
	spans, err := sc.Spans(st)
	if err != nil {
		return err
	}
	c := &stage{n: n, te: st, sched: sc, spans: spans, rest: map[int]sym.Expr{}}
	if sc.Tile != nil {
		c.row = instr.Lookup(sc.Tile.Row)
	}
	for i, l := range sc.Loops {
		_, hi := f.extent(c, i).Bounds(f.facts)
		f.facts[l.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	}
	c.coords = sc.Coordinates(spans, f.facts)
	if c.stored, err = f.s.Nonzeros(f.w, n); err != nil {
		return err
	}
	if c.stored != nil {
		l := sc.Loops[c.stored.Filters]
		c.coords[c.stored.Filter.Var], f.facts[filterName(l)] = sym.Var(filterName(l)), f.facts[l.Var]
	}
	for _, a := range st.Axes {
		i := slices.IndexFunc(spans, func(p sched.Span) bool { return p.Name == a.Var })
		first := sym.Const(0)
		if i >= 0 {
			first = spans[i].First
		}
		c.first = append(c.first, first)
	}
	last := n == len(f.w.Stages)-1
	for part, r := range st.Results {
		x := f.s.Place(f.w, te.Source{Stage: true, N: n, Part: part})
		shape := sc.Shape(st, x.Fold)
		b := &loop.Buffer{Name: fmt.Sprintf("s%d_%d", n, part), Type: r.DType(), Write: true, Local: x.Space == sched.Register, Size: x.Parts.Elements(shape)}
		switch {
		case last:
			b.Name = fmt.Sprintf("y%d", part)
			f.k.Buffers = append(f.k.Buffers, b)
		case b.Local:
			f.allocs = append(f.allocs, loop.Alloc{Buf: b})
		case x.Space == sched.Local:
			f.k.Shared = append(f.k.Shared, b)
		default:
			f.k.Scratch = append(f.k.Scratch, b)
		}
		c.out = append(c.out, &stored{Value: x, buf: b, shape: shape})
	}
	f.at = append(f.at, c)
	return nil
}

// stage computes a stage at the loop where it is placed.
func (f *follower) stage(n int) ([]loop.Stmt, error) {
	out, err := f.loops(f.at[n], 0)
	if err != nil {
		return nil, fmt.Errorf("stage %d: %w", n, err)
	}
	return out, nil
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

// loops are the stage's from number i on.
func (f *follower) loops(c *stage, i int) ([]loop.Stmt, error) {
	switch {
	case i == len(c.sched.Loops):
		return f.store(c, nil)
	case c.sched.Loops[i].Kind.Tile():
		return f.tile(c, i)
	case c.reduces(i) && !c.accumulating():
		return f.reduction(c, i)
	}
	return f.loop(c, i, func() ([]loop.Stmt, error) { return f.inside(c, i) })
}

// inside is the body of loop i.
func (f *follower) inside(c *stage, i int) ([]loop.Stmt, error) {
	out, err := f.placed(sched.Ref{Stage: c.n, Loop: c.sched.Loops[i].Var})
	if err != nil {
		return nil, err
	}
	body, err := f.loops(c, i+1)
	return append(out, body...), err
}

// extent is how often loop i runs, in the variables of the loops around.
func (f *follower) extent(c *stage, i int) sym.Expr {
	if e, ok := c.rest[i]; ok {
		return e
	}
	l, within := c.sched.Loops[i], c.sched.Within(i)
	p := c.span(i)
	if l.Size == 0 {
		return sym.CeilDiv(p.Extent, sym.Const(within), f.facts)
	}
	if l.Edge != sched.Clip {
		return sym.Const(l.Size)
	}
	return sym.Min(sym.Const(l.Size), sym.CeilDiv(f.left(c, i), sym.Const(within), f.facts), f.facts)
}

// left is how many points of its span are left where loop i begins.
func (f *follower) left(c *stage, i int) sym.Expr {
	p := *c.span(i)
	p.Loops = p.Loops[:slices.Index(p.Loops, i)]
	return sym.Sub(p.Extent, c.sched.Point(p))
}

func (c *stage) span(i int) *sched.Span {
	for k := range c.spans {
		if slices.Contains(c.spans[k].Loops, i) {
			return &c.spans[k]
		}
	}
	panic("loop without a span")
}

func (c *stage) reduces(i int) bool { return c.span(i).Reduce }

// loop runs a body for the iterations of loop i.
func (f *follower) loop(c *stage, i int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l := c.sched.Loops[i]
	if _, cut := c.rest[i]; l.Edge == sched.Peel && !cut {
		return f.peeled(c, i, body)
	}
	if k := c.peels(i); k > 0 && l.Kind != sched.Task && l.Kind != sched.Group && l.Kind != sched.Item {
		return f.split(c, i, k, body)
	}
	return f.iterate(c, i, body)
}

// peels is the loop whose edge is peeled off loop i, which walks the rest of its span; 0 where there is none.
func (c *stage) peels(i int) int {
	for k := i + 1; k < len(c.sched.Loops) && c.sched.Loops[i].Size == 0; k++ {
		if c.sched.Loops[k].Axis == c.sched.Loops[i].Axis {
			if c.sched.Loops[k].Edge == sched.Peel {
				return k
			}
			return 0
		}
	}
	return 0
}

// split is the iterations of loop i that have all points of loop k, and then the one that has a part of them.
func (f *follower) split(c *stage, i, k int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	n, whole := c.span(i).Extent, sym.Const(c.sched.Within(i))
	full, rest := sym.FloorDiv(n, whole, f.facts), sym.Mod(n, whole, f.facts)
	defer func() {
		delete(c.rest, i)
		delete(c.rest, k)
	}()
	var out []loop.Stmt
	if !full.Is(0) {
		c.rest[i], c.rest[k] = full, sym.Const(c.sched.Loops[k].Size)
		all, err := body()
		out = []loop.Stmt{loop.For{Var: c.sched.Loops[i].Var, Extent: full, Body: all}}
		if err != nil || rest.Is(0) {
			return out, err
		}
	}
	c.rest[k] = sym.CeilDiv(rest, sym.Const(c.sched.Within(k)), f.facts)
	part, err := body()
	part = append([]loop.Stmt{loop.Index{Var: c.sched.Loops[i].Var, Value: full}}, part...)
	if !sym.AtLeast(rest, 1, f.facts) {
		part = []loop.Stmt{loop.If{Cond: []te.Within{{E: rest, Lo: sym.Const(1), Hi: whole}}, Then: part}}
	}
	return append(out, part...), err
}

func (f *follower) iterate(c *stage, i int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l, n := c.sched.Loops[i], f.extent(c, i)
	if l.Stored && c.reduces(i) {
		return f.kernels(c, body)
	}
	inner, err := body()
	if err != nil {
		return nil, err
	}
	if l.Stored {
		inner = f.filter(c, inner)
	}
	switch {
	case l.Kind == sched.Task || l.Kind == sched.Group:
		f.k.Grid = append([]te.Axis{{Var: l.Var, Extent: n}}, f.k.Grid...)
		return inner, nil
	case n.Is(1) && l.Kind != sched.Item:
		return append([]loop.Stmt{loop.Index{Var: l.Var, Value: sym.Const(0)}}, inner...), nil
	}
	return []loop.Stmt{loop.For{Var: l.Var, Extent: n, Body: inner, Items: l.Kind == sched.Item}}, nil
}

// peeled is code for a whole iteration of the loops around, and code of its own for the part that the last one has.
func (f *follower) peeled(c *stage, i int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l, within, left := c.sched.Loops[i], c.sched.Within(i), f.left(c, i)
	whole := l.Size * within
	if sym.AtLeast(left, whole, f.facts) {
		return f.iterate(c, i, body)
	}
	then, err := f.iterate(c, i, body)
	if err != nil {
		return nil, err
	}
	c.rest[i] = sym.CeilDiv(left, sym.Const(within), f.facts)
	if n, ok := c.span(i).Extent.Const(); ok {
		c.rest[i] = sym.Const((n%whole + within - 1) / within)
	}
	otherwise, err := f.iterate(c, i, body)
	delete(c.rest, i)
	return []loop.Stmt{loop.If{Cond: []te.Within{{E: left, Lo: sym.Const(whole), Hi: sym.Add(c.span(i).Extent, sym.Const(1))}}, Then: then, Else: otherwise}}, err
}
