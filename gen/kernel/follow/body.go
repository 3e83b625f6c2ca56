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
)

// accumulators are where the sums of a reduction are: variables, or arrays over the loops of results within it.
type accumulators struct {
	names []string       // of variables
	bufs  []*loop.Buffer // of arrays
	index sym.Expr
	// before is the array of sums to which those in bufs are added, or nil.
	before *loop.Buffer
}

// read returns sum k in the type of the stage's values.
func (a *accumulators) read(c *stage, k int) te.Expr {
	if a.bufs == nil {
		return loop.Ref{Name: a.names[k], Type: c.te.Values[k].DType()}
	}
	sum := a.sum(k)
	if t := c.te.Values[k].DType(); sum.DType() != t { // the instruction adds in f16
		return te.Fn(t, "cast", sum)
	}
	return sum
}

// sum returns the sum of array k in the array's type.
func (a *accumulators) sum(k int) te.Expr {
	last := loop.Mem{Buf: a.bufs[k], Index: a.index}
	if a.before == nil {
		return last
	}
	return te.Fn(last.Buf.Type, "add", loop.Mem{Buf: a.before, Index: a.index}, last)
}

func (a *accumulators) write(k int, v te.Expr) loop.Stmt {
	if a.bufs == nil {
		return loop.Set{Name: a.names[k], Value: v}
	}
	return loop.Store{Buf: a.bufs[k], Index: a.index, Value: v}
}

// accumulating reports whether a loop of the reduction is open.
func (c *stage) accumulating() bool { return c.acc != nil }

// reduction is the loops from i on, the first of the reduction, and what the stage stores then.
func (f *follower) reduction(c *stage, i int) ([]loop.Stmt, error) {
	a := &accumulators{index: sym.Const(0)}
	var inner []int // loops of results within the reduction's
	size := sym.Const(1)
	for k := i; k < len(c.sched.Loops); k++ {
		if !c.reduces(k) {
			l := c.sched.Loops[k]
			inner = append(inner, k)
			most := f.facts[l.Var].Hi + 1
			size, a.index = sym.Scale(size, most), sym.Add(sym.Scale(a.index, most), sym.Var(l.Var))
		}
	}
	var out, first []loop.Stmt
	for k, v := range c.te.Values {
		name := fmt.Sprintf("acc%d_%d", c.n, k)
		if inner == nil {
			a.names = append(a.names, name)
			out = append(out, loop.Def{Name: name, Init: c.te.Combine.Init[k]})
			continue
		}
		if c.sched.Sums == sched.Worker {
			a.bufs = append(a.bufs, f.partialSums(c, k, size))
		} else {
			a.bufs = append(a.bufs, &loop.Buffer{Name: name, Type: v.DType(), Write: true, Local: true, Size: size})
			out = append(out, loop.Alloc{Buf: a.bufs[k]})
		}
		first = append(first, a.write(k, c.te.Combine.Init[k]))
	}
	begin, err := f.nest(c, inner, func() ([]loop.Stmt, error) { return first, nil })
	if err != nil {
		return nil, err
	}
	c.acc = a
	body, err := f.loop(c, i, func() ([]loop.Stmt, error) { return f.inside(c, i) })
	c.acc = nil
	if err != nil {
		return nil, err
	}
	end, err := f.nest(c, inner, func() ([]loop.Stmt, error) { return f.store(c, a) })
	return slices.Concat(out, begin, body, end), err
}

// partialSums are the accumulators of a value in the worker's memory: the same for all code that sums the stage.
func (f *follower) partialSums(c *stage, k int, size sym.Expr) *loop.Buffer {
	if k == len(c.partial) {
		b := f.scratch(c.te.Values[k].DType(), size)
		c.partial = append(c.partial, b)
	}
	return c.partial[k]
}

// scratch is a buffer of the worker's memory.
func (f *follower) scratch(t ir.DType, size sym.Expr) *loop.Buffer {
	b := &loop.Buffer{Name: "scratch", Type: t, Write: true, Size: size}
	if n := len(f.k.Scratch); n > 0 {
		b.Name = fmt.Sprintf("scratch_%d", n)
	}
	f.k.Scratch = append(f.k.Scratch, b)
	return b
}

// nest is some loops around a body.
func (f *follower) nest(c *stage, loops []int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	if len(loops) == 0 {
		return body()
	}
	return f.loop(c, loops[0], func() ([]loop.Stmt, error) { return f.nest(c, loops[1:], body) })
}

// accumulate joins the values of a point of the reduction into its accumulators.
func (f *follower) accumulate(c *stage) []loop.Stmt {
	var out []loop.Stmt
	exact := c.facts
	c.facts = f.beyond(c)
	defer func() { c.facts = exact }()
	in := make([]te.Expr, len(c.te.Values))
	for k, v := range c.te.Values {
		hoisted, e := loop.HoistLets(f.flatten(c, v))
		out = append(out, hoisted...)
		in[k] = e
		if len(in) > 1 {
			name := fmt.Sprintf("in%d_%d", c.n, k)
			out = append(out, loop.Def{Name: name, Init: e})
			in[k] = loop.Ref{Name: name, Type: e.DType()}
		}
	}
	var set []loop.Stmt
	for k, j := range c.te.Combine.Join {
		name := fmt.Sprintf("new%d_%d", c.n, k)
		out = append(out, loop.Def{Name: name, Init: te.Map(j, func(e te.Expr) te.Expr {
			switch x := e.(type) {
			case te.Acc:
				return c.acc.read(c, x.N)
			case te.In:
				return in[x.N]
			}
			return e
		})})
		set = append(set, c.acc.write(k, loop.Ref{Name: name, Type: c.te.Values[k].DType()}))
	}
	return append(out, set...)
}

// store is what the stage does at a point: its results, from accumulators if it has a reduction.
func (f *follower) store(c *stage, a *accumulators) ([]loop.Stmt, error) {
	if c.acc != nil {
		return f.accumulate(c), nil
	}
	if a == nil && c.te.Combine != nil { // of no axis
		return f.reduced(c)
	}
	var out []loop.Stmt
	for k, r := range c.te.Results {
		e := te.Map(f.flatten(c, r), func(x te.Expr) te.Expr {
			if y, ok := x.(te.Acc); ok {
				return a.read(c, y.N)
			}
			return x
		})
		hoisted, e := loop.HoistLets(e)
		out = append(append(out, hoisted...), f.put(c, c.out[k], e))
	}
	return f.inRange(c, out), nil
}

// put stores an element at the point of the loops.
func (f *follower) put(c *stage, v *stored, e te.Expr) loop.Stmt {
	at := f.position(c, v, nil)
	if v.Claim > 0 && c.sched.Tile == nil {
		c.claims = append(c.claims, loop.Mem{Buf: v.buf, Index: sym.Add(at, sym.Const(v.Claim))})
	}
	return loop.Store{Buf: v.buf, Index: at, Value: e}
}

// claimed asks for the lines of what an innermost loop is going to store.
func (f *follower) claimed(c *stage, name string) []loop.Stmt {
	var out []loop.Stmt
	for _, m := range c.claims {
		out = append(out, loop.Claim{Buf: m.Buf, Index: m.Index.Subst(map[string]sym.Expr{name: sym.Const(0)}, f.facts)})
	}
	c.claims = nil
	return out
}

// fetched asks for the lines of what later iterations read and store of values that are fetched ahead, by the statements of an innermost loop: where
// only an iteration itself knows the place, as that of an index which it reads, nothing is. Tiles fetch the X of the next one themselves.
func (f *follower) fetched(name string, body []loop.Stmt) []loop.Stmt {
	outer := func(s loop.Stmt) bool {
		switch s.(type) {
		case loop.For, loop.Tile:
			return true
		}
		return false
	}
	if len(f.ahead) == 0 || loop.Any(body, outer) {
		return nil
	}
	var out []loop.Stmt
	seen, inside := map[string]bool{}, loop.Integers(body)
	fetch := func(b *loop.Buffer, at sym.Expr) {
		ahead, ok := f.ahead[b]
		if slices.ContainsFunc(inside, at.Uses) {
			return
		}
		at = sym.Add(at, sym.Const(ahead)).Subst(map[string]sym.Expr{name: sym.Const(0)}, f.facts)
		if key := b.Name + " " + at.String(); ok && !seen[key] {
			seen[key] = true
			out = append(out, loop.Claim{Buf: b, Index: at, Later: true})
		}
	}
	loop.Accesses(body, fetch)
	return out
}

// reduced is a reduction whose axes have one point each, and no loops.
func (f *follower) reduced(c *stage) ([]loop.Stmt, error) {
	a := &accumulators{}
	var out []loop.Stmt
	for k := range c.te.Values {
		a.names = append(a.names, fmt.Sprintf("acc%d_%d", c.n, k))
		out = append(out, loop.Def{Name: a.names[k], Init: c.te.Combine.Init[k]})
	}
	c.acc = a
	out = append(out, f.accumulate(c)...)
	c.acc = nil
	stored, err := f.store(c, a)
	return append(out, stored...), err
}

// inRange stores where the point is one of the stage's, and zeros where only storage goes on.
func (f *follower) inRange(c *stage, body []loop.Stmt) []loop.Stmt {
	var cond []te.Within
	var over []sched.Span
	for _, p := range c.spans {
		if p.Reduce || c.whole[p.Name] {
			continue
		}
		at, extent := f.reached(c, p)
		if !sym.AtLeast(sym.Sub(extent, at), 1, f.facts) && c.roundsUp(p) {
			cond, over = append(cond, te.Within{E: at, Lo: sym.Const(0), Hi: extent}), append(over, p)
		}
	}
	if cond == nil {
		return body
	}
	var zeros []loop.Stmt
	for _, v := range c.out {
		zeros = append(zeros, f.zero(c, v, over)...)
	}
	return []loop.Stmt{loop.If{Cond: cond, Then: body, Else: zeros}}
}

// reached is the point of a span's axis, and how many points the axis has: whole parts of a split one may go on beyond it.
func (f *follower) reached(c *stage, p sched.Span) (at, extent sym.Expr) {
	if x := c.sched.Parted(p); x != nil {
		return c.coords[x.Axis].Subst(c.fixed, f.facts), p.Axes[0].Extent
	}
	return c.point(p, f.facts), p.Extent
}

// zero stores a zero at a point that is beyond some of the spans, where storage goes on as far.
func (f *follower) zero(c *stage, v *stored, over []sched.Span) []loop.Stmt {
	var there []te.Within
	pads := false
	for _, p := range over {
		reach := c.reach(v, p)
		pads = pads || reach > 0
		at, extent := f.reached(c, p)
		if reach == 0 {
			there = append(there, te.Within{E: at, Lo: sym.Const(0), Hi: extent})
		} else if c.rounded(p)*p.Step > reach {
			there = append(there, te.Within{E: at, Lo: sym.Const(0), Hi: sym.Const(reach)})
		}
	}
	store := []loop.Stmt{loop.Store{Buf: v.buf, Index: f.position(c, v, nil), Value: te.Number(v.buf.Type, 0)}}
	switch {
	case !pads:
		return nil
	case there != nil:
		return []loop.Stmt{loop.If{Cond: there, Then: store}}
	}
	return store
}

// reach is how far storage of a value goes on along a span; 0: no further than the span.
func (c *stage) reach(v *stored, p sched.Span) int64 {
	name, extent := p.Name, p.Extent
	if x := c.sched.Parted(p); x != nil {
		name, extent = x.Axis, p.Axes[0].Extent
	}
	d := slices.IndexFunc(c.te.Axes, func(a te.Axis) bool { return a.Var == name })
	if n, known := extent.Const(); d >= 0 && known {
		if reach := v.Parts.Reach(d, n); reach > n {
			return reach
		}
	}
	return 0
}

// roundsUp reports whether loops of the span go on beyond it.
func (c *stage) roundsUp(p sched.Span) bool {
	return slices.ContainsFunc(p.Loops, func(i int) bool { return c.sched.Loops[i].Edge == sched.RoundUp })
}

// beyond are the ranges of points that are computed, also of those that are not stored.
func (f *follower) beyond(c *stage) sym.Facts {
	out := maps.Clone(c.facts)
	for _, p := range c.spans {
		if c.roundsUp(p) {
			r := out[p.Name]
			out[p.Name] = sym.Range{Lo: r.Lo, Hi: r.Hi + c.sched.Within(p.Loops[0])*max(c.sched.Loops[p.Loops[0]].Size, 1)}
		}
	}
	return out
}
