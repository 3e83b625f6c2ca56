package lower

import (
	"slices"

	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// withWholes asks a condition of each point of a loop once for all of them: where it holds at the first point and at the last one, a loop without it
// runs, in vectors if it can, or as compilers find them; else that with it. So packing asks of columns of which the last group has too few. Loops over
// floats alone stay as they are.
func withWholes(body []loop.Stmt, f sym.Facts) []loop.Stmt {
	return loop.Map(body, func(s loop.Stmt) loop.Stmt {
		x, ok := s.(loop.For)
		if !ok || x.Lanes > 0 || x.Items || len(x.Body) != 1 || x.Floats() {
			return s
		}
		n, known := x.Extent.Const()
		if !known || n < 2 {
			return s
		}
		w := &whole{v: x.Var, n: n, facts: f}
		plain := x
		if plain.Body = w.stmt(x.Body[0]); len(w.ends) == 0 {
			return s
		}
		return loop.If{Cond: w.ends, Then: []loop.Stmt{plain}, Else: []loop.Stmt{x}}
	})
}

// whole is a loop of n points over v, and what holds at its first and last points if its conditions hold at all of them.
type whole struct {
	v     string
	inner []string // variables of loops within
	n     int64
	facts sym.Facts
	ends  []te.Within
}

// stmt is the loop's only statement without its conditions.
func (w *whole) stmt(s loop.Stmt) []loop.Stmt {
	switch x := s.(type) {
	case loop.For:
		if len(x.Body) == 1 {
			w.inner = append(w.inner, x.Var)
			x.Body = w.stmt(x.Body[0])
		}
		return []loop.Stmt{x}
	case loop.If:
		if x.Cond = w.others(x.Cond); len(x.Cond) == 0 {
			return x.Then
		}
		return []loop.Stmt{x}
	case loop.Store:
		if c, ok := x.Value.(te.Select); ok {
			x.Value = c.Then
			if c.Cond = w.others(c.Cond); len(c.Cond) > 0 {
				x.Value = c
			}
		}
		return []loop.Stmt{x}
	}
	return []loop.Stmt{s}
}

// others are the conditions that the loop's variable is not in. In others it is linear, so that they hold between points at which they do.
func (w *whole) others(cond []te.Within) []te.Within {
	var out []te.Within
	for _, c := range cond {
		k, linear := sym.Coefficient(c.E, w.v, w.facts)
		if _, known := k.Const(); !linear || !known || k.Is(0) || c.Lo.Uses(w.v) || c.Hi.Uses(w.v) || w.varies(c) {
			out = append(out, c)
			continue
		}
		for _, at := range []int64{0, w.n - 1} {
			end := c.E.Subst(map[string]sym.Expr{w.v: sym.Const(at)}, w.facts)
			w.ends = append(w.ends, te.Within{E: end, Lo: c.Lo, Hi: c.Hi})
		}
	}
	return out
}

// varies reports whether a condition has a variable of a loop within.
func (w *whole) varies(c te.Within) bool {
	return slices.ContainsFunc(w.inner, func(v string) bool { return c.E.Uses(v) || c.Lo.Uses(v) || c.Hi.Uses(v) })
}
