package tidy

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Wholes asks conditions of each point of a loop once for all of them: where they hold at the first point and at the last one, a loop without them
// runs, in vectors if it can, or as compilers find them; else that with them. So packing asks of columns of which the last group has too few. Loops over
// floats alone stay as they are.
func Wholes(body []loop.Stmt, f sym.Facts) []loop.Stmt {
	out := make([]loop.Stmt, len(body))
	for i, s := range body {
		if x, ok := s.(loop.For); ok && x.Lanes == 0 && !x.Items && !x.Floats() {
			if both := wholes(x, f); both != nil {
				out[i] = *both
				continue
			}
		}
		out[i] = loop.WithInner(s, func(inner []loop.Stmt) []loop.Stmt { return Wholes(inner, f) })
	}
	return out
}

// wholes are a loop of a constant number of points without its conditions and with them; nil where it has none that move with it.
func wholes(x loop.For, f sym.Facts) *loop.If {
	n, known := x.Extent.Const()
	if !known || n < 2 {
		return nil
	}
	w := &whole{v: x.Var, n: n, facts: f}
	plain := x
	if plain.Body = w.stmts(x.Body); len(w.ends) == 0 || len(w.ends) > mostEnds {
		return nil
	}
	return &loop.If{Cond: w.ends, Then: []loop.Stmt{plain}, Else: []loop.Stmt{x}}
}

// mostEnds is how many conditions are asked at most of a loop: each of it is two.
const mostEnds = 8

// whole is a loop of n points over v, and what holds at its first and last points if its conditions hold at all of them.
type whole struct {
	v     string
	n     int64
	inner []string // variables of the statements within
	facts sym.Facts
	ends  []te.Within
}

// stmts are the loop's statements without its conditions.
func (w *whole) stmts(body []loop.Stmt) []loop.Stmt {
	var out []loop.Stmt
	for _, s := range body {
		switch x := s.(type) {
		case loop.For:
			w.inner = append(w.inner, x.Var)
			x.Body = w.stmts(x.Body)
			out = append(out, x)
			continue
		case loop.Index:
			w.inner = append(w.inner, x.Var)
		case loop.Bind:
			w.inner = append(w.inner, x.Var)
		case loop.Def:
			x.Init = te.Map(x.Init, w.chosen)
			s = x
		case loop.Set:
			x.Value = te.Map(x.Value, w.chosen)
			s = x
		case loop.Store:
			x.Value = te.Map(x.Value, w.chosen)
			s = x
		case loop.If:
			if x.Cond = w.others(x.Cond); len(x.Cond) == 0 {
				out = append(out, w.stmts(x.Then)...)
				continue
			}
			s = x
		}
		out = append(out, s)
	}
	return out
}

// chosen is what a choice is where the loop's conditions hold.
func (w *whole) chosen(e te.Expr) te.Expr {
	c, ok := e.(te.Select)
	if !ok {
		return e
	}
	if c.Cond = w.others(c.Cond); len(c.Cond) == 0 {
		return c.Then
	}
	return c
}

// others are the conditions that do not move with the loop's variable alone, by constant steps, so that they hold between points at which they do.
func (w *whole) others(cond []te.Within) []te.Within {
	var out []te.Within
	for _, c := range cond {
		k, linear := sym.Coefficient(c.E, w.v, w.facts)
		if _, known := k.Const(); !linear || !known || k.Is(0) || c.Lo.Uses(w.v) || c.Hi.Uses(w.v) || w.varies(c) {
			out = append(out, c)
			continue
		}
		for _, at := range []int64{0, w.n - 1} {
			w.end(te.Within{E: c.E.Subst(map[string]sym.Expr{w.v: sym.Const(at)}, w.facts), Lo: c.Lo, Hi: c.Hi})
		}
	}
	return out
}

// end notes what holds at one of the ends, once.
func (w *whole) end(c te.Within) {
	same := func(o te.Within) bool { return o.E.Equal(c.E) && o.Lo.Equal(c.Lo) && o.Hi.Equal(c.Hi) }
	if !slices.ContainsFunc(w.ends, same) {
		w.ends = append(w.ends, c)
	}
}

// varies reports whether a condition has a variable of a statement within.
func (w *whole) varies(c te.Within) bool {
	return slices.ContainsFunc(w.inner, func(v string) bool { return c.E.Uses(v) || c.Lo.Uses(v) || c.Hi.Uses(v) })
}
