// Package tidy rewrites the loops of finished kernels: conditions leave them, and what quantizes becomes one function.
package tidy

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Borders cuts loops whose points ask whether they are within a range that the compiler knows in three: the points before it, those within, which
// need not ask, and those after. So lines are copied whose ends are padding.
func Borders(body []loop.Stmt, f sym.Facts) []loop.Stmt {
	b := &borders{facts: f, taken: map[string]bool{}}
	loop.Walk(body, func(s loop.Stmt) bool {
		if x, ok := s.(loop.For); ok {
			b.taken[x.Var] = true
		}
		return true
	})
	return b.stmts(body)
}

type borders struct {
	facts sym.Facts
	taken map[string]bool // names of loops
}

func (b *borders) stmts(body []loop.Stmt) []loop.Stmt {
	var out []loop.Stmt
	for _, s := range body {
		if x, ok := s.(loop.For); ok && x.Lanes == 0 && !x.Items {
			if parts := b.parts(x); parts != nil {
				out = append(out, parts...)
				continue
			}
		}
		out = append(out, loop.WithInner(s, b.stmts))
	}
	return out
}

// parts are the three loops, of which some may have no points; nil where the loop asks for no such range.
func (b *borders) parts(x loop.For) []loop.Stmt {
	n, known := x.Extent.Const()
	if !known || len(x.Body) != 1 {
		return nil
	}
	c, ok := x.Body[0].(loop.If)
	if !ok {
		return nil
	}
	from, to := int64(0), n
	others := slices.DeleteFunc(slices.Clone(c.Cond), func(w te.Within) bool {
		lo, hi, ok := b.within(w, x.Var)
		if ok {
			from, to = max(from, lo), min(to, hi)
		}
		return ok
	})
	if len(others) == len(c.Cond) || from >= to {
		return nil
	}
	inside := c.Then
	if len(others) > 0 {
		inside = []loop.Stmt{loop.If{Cond: others, Then: c.Then, Else: c.Else}}
	}
	return slices.Concat(b.points(x, 0, from, c.Else), b.points(x, from, to, inside), b.points(x, to, n, c.Else))
}

// within is the range of points at which a condition on a loop's variable alone, in single steps, holds.
func (b *borders) within(w te.Within, v string) (from, to int64, ok bool) {
	lo, known := w.Lo.Const()
	hi, both := w.Hi.Const()
	step, linear := sym.Coefficient(w.E, v, b.facts)
	first, alone := w.E.Subst(map[string]sym.Expr{v: sym.Const(0)}, b.facts).Const()
	return lo - first, hi - first, known && both && linear && alone && step.Is(1)
}

// points are a loop over some of the points.
func (b *borders) points(x loop.For, from, to int64, body []loop.Stmt) []loop.Stmt {
	switch {
	case from >= to || len(body) == 0:
		return nil
	case from == 0:
		return []loop.Stmt{loop.For{Var: x.Var, Extent: sym.Const(to), Body: body}}
	}
	name := b.name()
	at := loop.Index{Var: x.Var, Value: sym.Add(sym.Var(name), sym.Const(from))}
	return []loop.Stmt{loop.For{Var: name, Extent: sym.Const(to - from), Body: append([]loop.Stmt{at}, body...)}}
}

// name is one of a loop that packs, which no other loop has.
func (b *borders) name() string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("q%d", i); !b.taken[name] {
			b.taken[name] = true
			return name
		}
	}
}
