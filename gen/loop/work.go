package loop

import (
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// mostSteps is how many iterations Products looks at one by one.
const mostSteps = 1 << 14

// Products is how many products the micro-kernels of a kernel add up in all tasks together: what is
// computed, which differs from what the network asks for where edges are padded, or an algorithm
// needs fewer. False where that depends on more than symbols.
func (k *Kernel) Products() (sym.Expr, bool) {
	return k.ProductsOf(func(*MicroKernel) bool { return true })
}

// ProductsOf is Products of the micro-kernels that counts holds for.
func (k *Kernel) ProductsOf(counts func(*MicroKernel) bool) (sym.Expr, bool) {
	c := &counter{facts: k.Facts, steps: mostSteps, counts: counts}
	return c.axes(k.Grid, k.Body, map[string]sym.Expr{})
}

// counter counts products; at are the values of the variables that decide how many there are.
type counter struct {
	facts  sym.Facts
	steps  int
	counts func(*MicroKernel) bool
}

// axes counts the body for all points of the axes.
func (c *counter) axes(axes []te.Axis, body []Stmt, at map[string]sym.Expr) (sym.Expr, bool) {
	if len(axes) == 0 {
		return c.body(body, at)
	}
	inner := func() (sym.Expr, bool) { return c.axes(axes[1:], body, at) }
	return c.loop(axes[0].Var, axes[0].Extent, body, at, inner)
}

func (c *counter) body(body []Stmt, at map[string]sym.Expr) (sym.Expr, bool) {
	total, known := sym.Const(0), true
	for _, s := range body {
		n, ok := sym.Const(0), true
		switch x := s.(type) {
		case For:
			inner := func() (sym.Expr, bool) { return c.body(x.Body, at) }
			n, ok = c.loop(x.Var, x.Extent, x.Body, at, inner)
		case If:
			n, ok = c.branch(x, at)
		case Index:
			at[x.Var] = x.Value.Subst(at, c.facts)
		case Tile:
			if !c.counts(x.Micro) {
				break
			}
			n = sym.Const(x.Micro.FMAs() * x.Micro.Lanes() * x.Micro.Instr.Group)
		}
		total, known = sym.Add(total, n), known && ok
	}
	return total, known
}

// loop multiplies where all iterations are alike, and else looks at each.
func (c *counter) loop(v string, extent sym.Expr, body []Stmt, at map[string]sym.Expr, inner func() (sym.Expr, bool)) (sym.Expr, bool) {
	if !tiled(body) {
		return sym.Const(0), true
	}
	extent = extent.Subst(at, c.facts)
	if !decides(body, map[string]bool{v: true}) {
		n, ok := inner()
		return sym.Mul(extent, n), ok
	}
	trips, constant := extent.Const()
	total := sym.Const(0)
	for i := int64(0); i < trips; i++ {
		if c.steps--; c.steps < 0 {
			return total, false
		}
		at[v] = sym.Const(i)
		n, ok := inner()
		if !ok {
			return total, false
		}
		total = sym.Add(total, n)
	}
	delete(at, v)
	return total, constant
}

func (c *counter) branch(x If, at map[string]sym.Expr) (sym.Expr, bool) {
	if !tiled(x.Then) && !tiled(x.Else) {
		return sym.Const(0), true
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

func tiled(body []Stmt) bool {
	found := false
	Tiles(body, func(Tile) { found = true })
	return found
}

// decides tells whether how many tiles the body calls depends on one of the variables. Those that
// the body makes of them are added.
func decides(body []Stmt, vars map[string]bool) bool {
	for _, s := range body {
		switch x := s.(type) {
		case Index:
			if mentions(x.Value, vars) {
				vars[x.Var] = true
			}
		case For:
			if tiled(x.Body) && (mentions(x.Extent, vars) || decides(x.Body, vars)) {
				return true
			}
		case If:
			if !tiled(x.Then) && !tiled(x.Else) {
				continue
			}
			for _, w := range x.Cond {
				if mentions(w.E, vars) || mentions(w.Lo, vars) || mentions(w.Hi, vars) {
					return true
				}
			}
			if decides(x.Then, vars) || decides(x.Else, vars) {
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
