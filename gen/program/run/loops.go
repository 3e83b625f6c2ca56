package run

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// chunk is the most iterations that run as one vector.
const chunk = 256

// loop compiles a loop: as vectors where its iterations do not depend on each other; as tracked
// vectors where the kernel says that it runs in vectors; else one iteration after the other.
func (c *compiler) loop(x loop.For, w *where) action {
	switch {
	case x.Items:
		return c.items(x, w)
	case c.width > 1 && x.Lanes > 0:
		c.frame.fail("a vector loop in a vector loop")
	case c.width > 1:
	case c.independent(x) && (x.Lanes > 0 || !c.betterInside(x)):
		return c.vectorLoop(x, w, chunk, false)
	case x.Lanes > 1:
		return c.tracked(x, w)
	}
	return c.serial(x, w, func() {})
}

// extent is the compiled number of iterations, one for all lanes.
func (c *compiler) extent(x loop.For) *form {
	n := c.index(x.Extent)
	if !n.uniform() {
		c.frame.fail("lanes differ in the number of iterations")
	}
	return n
}

// serial runs one iteration after the other, and next after each.
func (c *compiler) serial(x loop.For, w *where, next action) action {
	n, f := c.extent(x), c.frame
	c.open()
	slot, known := c.declare(x.Var), c.fact(x.Var)
	body := c.block(x.Body)
	c.close()
	return func() {
		extent := n.base()
		known.check(0, max(extent, 1)-1)
		for i := int64(0); i < extent; i++ {
			f.v[slot] = i
			runAll(body)
			next()
		}
		f.at = w
	}
}

// vectorLoop runs up to width iterations at a time; those that fill no vector run, where told so, one by one.
func (c *compiler) vectorLoop(x loop.For, w *where, width int, serialRest bool) action {
	n, f := c.extent(x), c.frame
	vectors := x.Lanes > 0
	c.open()
	slot, known := c.declare(x.Var), c.fact(x.Var)
	c.width, c.vectors, c.varying = width, vectors, map[int]along{slot: {step: 1}}
	body := c.block(x.Body)
	c.width, c.vectors, c.varying = 1, false, nil
	c.close()
	return func() {
		extent := n.base()
		known.check(0, max(extent, 1)-1)
		for i := int64(0); i < extent; i += int64(f.hi) {
			f.v[slot], f.lo, f.hi = i, 0, int(min(int64(width), extent-i))
			if serialRest && f.hi < width {
				f.hi = 1
			}
			f.step++
			runAll(body)
		}
		f.lo, f.hi, f.at = 0, 1, w
	}
}

// tracked runs a vector loop step by step and follows what the lanes read and write.
func (c *compiler) tracked(x loop.For, w *where) action {
	run := c.vectorLoop(x, w, int(x.Lanes), true)
	var written []*memory
	stores(x.Body, func(b *loop.Buffer) {
		if m := c.memories[b]; m != nil {
			written = append(written, m)
		}
	})
	return func() {
		for _, m := range written {
			if m.lane == nil {
				m.lane = make([]access, m.size)
			}
			m.tracked = true
		}
		run()
		for _, m := range written {
			m.tracked = false
		}
	}
}

// stores calls f for the buffer of every store of the statements.
func stores(body []loop.Stmt, f func(*loop.Buffer)) {
	loop.Walk(body, func(s loop.Stmt) bool {
		if x, ok := s.(loop.Store); ok {
			f(x.Buf)
		}
		return true
	})
}

// betterInside reports whether an inner loop is to run as vectors rather than this one.
func (c *compiler) betterInside(x loop.For) bool {
	return loop.Any(x.Body, func(s loop.Stmt) bool {
		in, ok := s.(loop.For)
		if !ok {
			return false
		}
		n, constant := in.Extent.Const()
		return (!constant || n >= 8) && c.independent(in)
	})
}

// independent reports whether the loop's iterations can run side by side: they assign to no variable
// from outside, and what they store to they touch at one index, which differs from iteration to iteration.
func (c *compiler) independent(x loop.For) bool {
	d := &dependence{lane: x.Var, fixed: map[string]sym.Expr{}, inner: map[string]bool{}, vary: map[string]bool{x.Var: true},
		defined: map[string]bool{}, at: map[*loop.Buffer]sym.Expr{}, symbols: map[string]sym.Expr{}, ok: true}
	for name, v := range c.symbols {
		d.symbols[name] = sym.Const(v)
	}
	stores(x.Body, func(b *loop.Buffer) { d.at[b] = sym.Expr{} })
	d.first = map[*loop.Buffer]bool{}
	d.stmts(x.Body, true)
	return d.ok
}

// dependence looks for what one iteration may have from another.
type dependence struct {
	lane    string
	symbols map[string]sym.Expr
	fixed   map[string]sym.Expr // variables with one value in an iteration, by those from outside
	inner   map[string]bool     // other variables of the body
	vary    map[string]bool     // variables that differ between iterations
	defined map[string]bool
	at      map[*loop.Buffer]sym.Expr // the one index of each buffer that is stored to
	first   map[*loop.Buffer]bool
	ok      bool
}

func (d *dependence) stmts(body []loop.Stmt, top bool) {
	for _, s := range body {
		d.stmt(s, top)
	}
}

func (d *dependence) stmt(s loop.Stmt, top bool) {
	switch x := s.(type) {
	case loop.For:
		d.ok = d.ok && x.Lanes == 0 && !d.varies(x.Extent)
		d.inner[x.Var] = true
		d.stmts(x.Body, false)
	case loop.Index:
		if d.varies(x.Value) {
			d.vary[x.Var] = true
		}
		if top {
			d.fixed[x.Var] = d.outside(x.Value)
		}
		d.inner[x.Var] = true
	case loop.Bind:
		d.loads(x.Value)
		d.inner[x.Var], d.vary[x.Var] = true, true
	case loop.Def:
		d.loads(x.Init)
		d.defined[x.Name] = true
	case loop.Set:
		d.loads(x.Value)
		d.ok = d.ok && d.defined[x.Name]
	case loop.Store:
		d.loads(x.Value)
		d.touch(x.Buf, x.Index, x.Texel)
	case loop.If:
		d.stmts(x.Then, false)
		d.stmts(x.Else, false)
	default:
		d.ok = false
	}
}

func (d *dependence) varies(e sym.Expr) bool {
	used := map[string]bool{}
	e.Vars(used)
	for v := range used {
		if d.vary[v] {
			return true
		}
	}
	return false
}

func (d *dependence) outside(e sym.Expr) sym.Expr {
	return e.Subst(d.fixed, nil).Subst(d.symbols, nil)
}

func (d *dependence) loads(e te.Expr) {
	te.Walk(e, func(x te.Expr) {
		if m, ok := x.(loop.Mem); ok {
			d.touch(m.Buf, m.Index, m.Texel)
		}
	})
}

// touch notes a load or store of a buffer that the loop stores to.
func (d *dependence) touch(b *loop.Buffer, index sym.Expr, t loop.Texel) {
	old, stored := d.at[b]
	if !stored {
		return
	}
	if b.Image != nil && (d.varies(t.X) || d.varies(t.Y)) {
		d.ok = false // rather one texel after the other
		return
	}
	e := d.outside(index)
	if !d.first[b] {
		d.first[b], d.at[b], old = true, e, e
	}
	d.ok = d.ok && e.Equal(old)
	used := map[string]bool{}
	e.Vars(used)
	for v := range used {
		d.ok = d.ok && !d.inner[v]
	}
	k, linear := sym.Coefficient(e, d.lane, nil)
	n, constant := k.Const()
	d.ok = d.ok && linear && constant && n != 0
}
