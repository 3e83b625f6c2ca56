package run

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/kernel/loop"
)

// block compiles statements in a scope of their own.
func (c *compiler) block(body []loop.Stmt) []action {
	c.open()
	defer c.close()
	return c.list(body)
}

func (c *compiler) list(body []loop.Stmt) []action {
	out := make([]action, len(body))
	for i, s := range body {
		out[i] = c.stmt(s)
	}
	return out
}

// stmt compiles a statement to code that marks where it is and then runs.
func (c *compiler) stmt(s loop.Stmt) action {
	w := c.mark(s)
	run := c.compile(s, w)
	c.frame.at = w
	c.locate(w, s)
	f := c.frame
	return func() {
		f.at = w
		run()
	}
}

func (c *compiler) compile(s loop.Stmt, w *where) action {
	switch x := s.(type) {
	case loop.For:
		return c.loop(x, w)
	case loop.Index:
		return c.bindIndex(x)
	case loop.Bind:
		return c.bind(x)
	case loop.Def:
		return c.def(x)
	case loop.Set:
		return c.set(x)
	case loop.Alloc:
		return c.alloc(x)
	case loop.Store:
		return c.store(x)
	case loop.If:
		return c.branch(x, w)
	case loop.Claim:
		return func() {}
	case loop.Tile:
		return c.tile(x)
	case loop.Call:
		return c.opaque(x)
	}
	c.frame.fail("a statement of type %T", s)
	return nil
}

func runAll(body []action) {
	for _, a := range body {
		a()
	}
}

// bindIndex binds a variable. Where lanes differ, and not in steps, each has its value.
func (c *compiler) bindIndex(x loop.Index) action {
	value, f := c.index(x.Value), c.frame
	slot, known := c.declare(x.Var), c.fact(x.Var)
	if !value.uniform() {
		c.varying[slot] = value.along
	}
	if value.scattered {
		f.lanes[slot] = make([]int64, c.width)
		return func() {
			value.fill(f.lanes[slot], f.lo, f.hi)
			for _, v := range f.lanes[slot][f.lo:f.hi] {
				known.check(v, v)
			}
		}
	}
	return func() {
		v := value.base()
		f.v[slot] = v
		a, b := v+value.step*int64(f.lo), v+value.step*int64(f.hi-1)
		known.check(min(a, b), max(a, b))
	}
}

// bind binds a variable to a loaded integer, in each lane.
func (c *compiler) bind(x loop.Bind) action {
	if t := x.Value.DType(); t.IsFloat() {
		c.frame.fail("an index of type %s", t)
	}
	value, low, high, f := c.expr(x.Value, x.Value.DType()), c.index(x.Lo), c.index(x.Hi), c.frame
	slot, known := c.declare(x.Var), c.fact(x.Var)
	if c.width == 1 {
		return func() {
			v := f.bounded(value.eval(0, 1).I64[0], low.base(), high.base())
			f.v[slot] = v
			known.check(v, v)
		}
	}
	c.varying[slot] = along{scattered: true}
	f.lanes[slot] = make([]int64, c.width)
	return func() {
		got := value.eval(f.lo, f.hi).I64
		for i := f.lo; i < f.hi; i++ {
			v := f.bounded(got[i], low.at(i), high.at(i))
			f.lanes[slot][i] = v
			known.check(v, v)
		}
	}
}

// bounded is v within [lo, hi]; that it was not is what the run fails with.
func (f *frame) bounded(v, lo, hi int64) int64 {
	f.bad = f.bad || v < lo || v > hi
	return min(max(v, lo), hi)
}

func (c *compiler) def(x loop.Def) action {
	t := x.Init.DType()
	init := c.expr(x.Init, t)
	v := &variable{t: t, vec: c.vec(t), width: c.width}
	c.name(x.Name, v)
	return c.assign(v, init)
}

func (c *compiler) set(x loop.Set) action {
	v, ok := c.lookup(x.Name).(*variable)
	if !ok {
		c.frame.fail("no variable %q is defined here", x.Name)
	}
	if v.width != c.width {
		c.frame.fail("a vector loop assigns to %q, which is defined outside of it", x.Name)
	}
	return c.assign(v, c.expr(x.Value, v.t))
}

func (c *compiler) assign(v *variable, value node) action {
	f := c.frame
	return func() { copyVec(&v.vec, value.eval(f.lo, f.hi), f.lo, f.hi) }
}

// alloc declares a local array. Lanes share it.
func (c *compiler) alloc(x loop.Alloc) action {
	n, ok := x.Buf.Size.Const()
	if !ok || n < 0 || n > 1<<24 {
		c.frame.fail("a local array of size %s", x.Buf.Size)
	}
	t := x.Buf.Type
	if x.Buf.Widened() {
		t = local(t)
	}
	if t.Kind() == ir.KindNone {
		c.frame.fail("a local array of type %s", t)
	}
	m := &memory{name: x.Buf.Name, kind: array, size: n, frame: c.frame, mark: make([]int32, n)}
	m.Buffer = elems.View(t, make([]byte, n*int64(t.Size())))
	c.name(x.Buf.Name, m)
	c.memories[x.Buf] = m
	return func() { m.stamp++ }
}

func (c *compiler) store(x loop.Store) action {
	m, at, f := c.memory(x.Buf), c.place(x.Buf, x.Index, x.Texel), c.frame
	value, vectors := c.expr(x.Value, x.Buf.Type), c.vectors
	return func() {
		at.check(f.lo, f.hi)
		at.checkStore(vectors)
		v := value.eval(f.lo, f.hi)
		if at.scattered {
			for i := f.lo; i < f.hi; i++ {
				m.store(v, at.at(i), 0, i, i+1)
			}
			return
		}
		off, step := at.line(f.lo)
		if step == 0 && f.hi-f.lo > 1 {
			f.fail("%d lanes write element %d of %s", f.hi-f.lo, off, m.name)
		}
		m.store(v, off, step, f.lo, f.hi)
	}
}

// branch runs the arms for the lanes that take them. In a loop that the kernel itself runs in
// vectors, which have no masks, all lanes must take the same arm.
func (c *compiler) branch(x loop.If, w *where) action {
	cond, f := c.condition(x.Cond), c.frame
	then, other := c.block(x.Then), c.block(x.Else)
	vectors := c.vectors
	return func() {
		lo, hi := f.lo, f.hi
		cond.runs(lo, hi, func(truth bool, a, b int) {
			f.at = w
			if vectors && b-a < hi-lo {
				f.fail("lanes %d to %d differ from others in the condition", a, b-1)
			}
			f.lo, f.hi = a, b
			if truth {
				runAll(then)
			} else {
				runAll(other)
			}
		})
		f.lo, f.hi = lo, hi
	}
}
