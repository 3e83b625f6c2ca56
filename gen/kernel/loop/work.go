package loop

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// mostSteps is how many iterations Products looks at one by one.
const mostSteps = 1 << 14

// Products is how many products the micro-kernels of a kernel, and statements like theirs, add up in all tasks together: what is
// computed, which differs from what the network asks for where edges are padded, or an algorithm
// needs fewer. False where that depends on more than symbols.
func (k *Kernel) Products() (sym.Expr, bool) {
	tiles, ok1 := k.ProductsOf(func(*MicroKernel) bool { return true })
	others, ok2 := k.count(func(s Stmt) int64 {
		if MultiplyAdds(s) {
			return 1
		}
		return 0
	})
	return sym.Add(tiles, others), ok1 && ok2
}

// MultiplyAdds reports whether a statement adds a product of two variables to a third one, as micro-kernels do.
func MultiplyAdds(s Stmt) bool {
	set, ok := s.(Set)
	if !ok || set.Value.DType() != ir.F32 {
		return false
	}
	sum, ok := set.Value.(te.Call)
	if !ok || sum.Fn != "add" {
		return false
	}
	to, isRef := sum.Args[0].(Ref)
	mul, isCall := sum.Args[1].(te.Call)
	return isRef && to.Name == set.Name && isCall && mul.Fn == "mul" && !slices.ContainsFunc(mul.Args, func(a te.Expr) bool {
		_, isRef := a.(Ref)
		return !isRef
	})
}

// ProductsOf is Products of the micro-kernels that counts holds for.
func (k *Kernel) ProductsOf(counts func(*MicroKernel) bool) (sym.Expr, bool) {
	return k.count(func(s Stmt) int64 {
		if x, ok := s.(Tile); ok && counts(x.Micro) {
			return x.Micro.FMAs() * x.Micro.Lanes() * x.Micro.Instr.Group
		}
		return 0
	})
}

// stores is how often all tasks together store into a buffer.
func (k *Kernel) stores(b *Buffer) (sym.Expr, bool) {
	return k.count(func(s Stmt) int64 {
		if x, ok := s.(Store); ok && x.Buf == b {
			return 1
		}
		return 0
	})
}

// count adds up what statements without others in them count as, as often as they run in all tasks.
func (k *Kernel) count(one func(Stmt) int64) (sym.Expr, bool) {
	c := &counter{facts: k.Facts, steps: mostSteps, one: one}
	return c.axes(k.Grid, k.Body, map[string]sym.Expr{})
}

// counter counts; at, of its methods, are the values of the variables that decide how often statements run.
type counter struct {
	facts sym.Facts
	steps int
	one   func(Stmt) int64
}

// axes counts the body for all points of the axes.
func (c *counter) axes(axes []te.Axis, body []Stmt, at map[string]sym.Expr) (sym.Expr, bool) {
	if len(axes) == 0 {
		return c.body(body, at)
	}
	inner := func(body []Stmt) (sym.Expr, bool) { return c.axes(axes[1:], body, at) }
	return c.loop(axes[0].Var, axes[0].Extent, body, at, inner)
}

func (c *counter) body(body []Stmt, at map[string]sym.Expr) (sym.Expr, bool) {
	total, known := sym.Const(0), true
	for _, s := range body {
		n, ok := sym.Const(0), true
		switch x := s.(type) {
		case For:
			inner := func(body []Stmt) (sym.Expr, bool) { return c.body(body, at) }
			n, ok = c.loop(x.Var, x.Extent, x.Body, at, inner)
		case If:
			n, ok = c.branch(x, at)
		case Index:
			at[x.Var] = x.Value.Subst(at, c.facts)
		default:
			n = sym.Const(c.one(s))
		}
		total, known = sym.Add(total, n), known && ok
	}
	return total, known
}

// loop multiplies where all iterations are alike, and else looks at each; inner counts the body of one.
func (c *counter) loop(v string, extent sym.Expr, body []Stmt, at map[string]sym.Expr, inner func([]Stmt) (sym.Expr, bool)) (sym.Expr, bool) {
	if !c.counts(body) {
		return sym.Const(0), true
	}
	extent = extent.Subst(at, c.facts)
	if !c.decides(body, map[string]bool{v: true}) {
		n, ok := inner(body)
		return sym.Mul(extent, n), ok
	}
	trips, constant := extent.Const()
	if joint, ok := c.joined(v, extent, body); ok && !constant && !c.decides(joint, map[string]bool{v: true}) {
		return inner(joint)
	}
	total := sym.Const(0)
	for i := int64(0); i < trips; i++ {
		if c.steps--; c.steps < 0 {
			return total, false
		}
		at[v] = sym.Const(i)
		n, ok := inner(body)
		if !ok {
			return total, false
		}
		total = sym.Add(total, n)
	}
	delete(at, v)
	return total, constant
}

func (c *counter) branch(x If, at map[string]sym.Expr) (sym.Expr, bool) {
	if n, ok := c.alike(x); ok {
		return n.Subst(at, c.facts), true
	}
	for _, w := range x.Cond {
		e, lo, hi := w.E.Subst(at, c.facts), w.Lo.Subst(at, c.facts), w.Hi.Subst(at, c.facts)
		value, ok := e.Const()
		from, ok1 := lo.Const()
		to, ok2 := hi.Const()
		if !ok || !ok1 || !ok2 {
			return sym.Const(0), false
		}
		if value < from || value >= to {
			return c.body(x.Else, at)
		}
	}
	return c.body(x.Then, at)
}

// fewSteps is how many iterations alike looks at.
const fewSteps = 64

// alike counts either branch, if both count alike, in the variables around them.
func (c *counter) alike(x If) (sym.Expr, bool) {
	few := &counter{c.facts, fewSteps, c.one}
	n, ok := few.body(x.Then, map[string]sym.Expr{})
	if !ok {
		return n, false
	}
	m, ok := few.body(x.Else, map[string]sym.Expr{})
	return n, ok && n.Equal(m)
}

// counts reports whether anything in the body does.
func (c *counter) counts(body []Stmt) bool {
	return Any(body, func(s Stmt) bool { return c.one(s) != 0 })
}

// decides reports whether how much the body counts depends on one of the variables. Those that
// the body makes of them are added.
func (c *counter) decides(body []Stmt, vars map[string]bool) bool {
	for _, s := range body {
		switch x := s.(type) {
		case Index:
			if mentions(x.Value, vars) {
				vars[x.Var] = true
			}
		case For:
			if c.counts(x.Body) && (mentions(x.Extent, vars) || c.decides(x.Body, vars)) {
				return true
			}
		case If:
			if n, ok := c.alike(x); ok {
				if mentions(n, vars) {
					return true
				}
				continue
			}
			for _, w := range x.Cond {
				if mentions(w.E, vars) || mentions(w.Lo, vars) || mentions(w.Hi, vars) {
					return true
				}
			}
			if c.decides(x.Then, vars) || c.decides(x.Else, vars) {
				return true
			}
		}
	}
	return false
}

func mentions(e sym.Expr, names map[string]bool) bool {
	used := map[string]bool{}
	e.Vars(used)
	for n := range used {
		if names[n] {
			return true
		}
	}
	return false
}
