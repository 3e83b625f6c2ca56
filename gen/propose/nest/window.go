package nest

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/match"
)

// bound is the part of a reduction axis where all guards hold: [lo, lo+n).
type bound struct{ lo, n sym.Expr }

func (b bound) uses(v string) bool { return b.lo.Uses(v) || b.n.Uses(v) }

// trim turns guards into bounds of the reduction's loops, where what stands in for a guarded
// element is neutral: a window of a pool then meets no condition inside. It returns the
// statements that compute the bounds.
func (n *Nest) trim() []loop.Stmt {
	n.trimmed = map[string]bound{}
	if !n.windows {
		return nil
	}
	loaded := n.loadedBounds()
	s, ok := n.guardedWindow()
	if !ok {
		return loaded
	}
	var left []te.Within
	for _, w := range s.Cond {
		if !n.trimBy(w) {
			left = append(left, w)
		}
	}
	if len(n.trimmed) == 0 {
		return loaded
	}
	n.trims, n.Values[0] = true, s.Then
	if len(left) > 0 {
		n.Values[0] = te.Select{Cond: left, Then: s.Then, Else: s.Else}
	}
	return append(loaded, n.bounds()...)
}

// loadedBounds takes the integers out of the value that its guard compares with, if no loop of the reduction changes them, and returns the
// statements that bind them: bounds of a region that a tensor holds are then read once, and trim makes bounds of loops of them.
// It changes nothing if the value is no such guard.
func (n *Nest) loadedBounds() []loop.Stmt {
	if n.Combiner == nil || len(n.Values) != 1 {
		return nil
	}
	var out []loop.Stmt
	var bound []te.Axis
	e := n.Values[0]
	for x, ok := e.(te.Let); ok; x, ok = e.(te.Let) {
		if n.moves(x.Value) {
			return nil
		}
		before, value := loop.HoistLets(x.Value)
		out = append(append(out, before...), loop.Bind{Var: x.Var, Value: value, Lo: x.Lo, Hi: x.Hi, Known: x.Known})
		bound, e = append(bound, te.Axis{Var: x.Var}), x.Body
	}
	s, ok := e.(te.Select)
	if !ok || !neutral(n.Combiner, s.Else) || !slices.ContainsFunc(s.Cond, func(w te.Within) bool { return usesAny(bound, w.Lo, w.Hi) }) {
		return nil
	}
	n.Values[0], n.loaded = e, true
	return out
}

// moves reports whether a value depends on a point of the reduction.
func (n *Nest) moves(value te.Expr) bool {
	found := false
	loop.ExprIndices(value, func(e sym.Expr) { found = found || usesAny(n.Reduce, e) })
	return found
}

func neutral(c *te.Combiner, e te.Expr) bool {
	x, ok1 := e.(te.Const)
	y, ok2 := c.Init[0].(te.Const)
	return ok1 && ok2 && x == y && match.Reorders[c.Name]
}

// walks is the only axis of the reduction that a condition moves with, and by how much; false where there is none, or it goes backwards.
func (n *Nest) walks(w te.Within) (axis te.Axis, step int64, ok bool) {
	for _, r := range n.Reduce {
		c, linear := sym.Coefficient(w.E, r.Var, n.Facts)
		k, isConst := c.Const()
		switch {
		case !linear || !isConst:
			return axis, 0, false
		case k == 0:
		case axis.Var != "" || k < 0:
			return axis, 0, false
		default:
			axis, step = r, k
		}
	}
	return axis, step, axis.Var != ""
}

// trimBy narrows the axis that the condition is linear in.
func (n *Nest) trimBy(w te.Within) bool {
	r, step, ok := n.walks(w)
	if !ok {
		return false
	}
	axis, extent := r.Var, r.Extent
	if _, twice := n.trimmed[axis]; twice {
		return false
	}
	rest := w.E.Subst(map[string]sym.Expr{axis: sym.Const(0)}, n.Facts)
	by := sym.Const(step)
	// Padding may be more than the window is long: the first point within is none of it.
	lo := sym.Min(extent, sym.Max(sym.Const(0), sym.CeilDiv(sym.Sub(w.Lo, rest), by, n.Facts), n.Facts), n.Facts)
	hi := sym.Min(extent, sym.CeilDiv(sym.Sub(w.Hi, rest), by, n.Facts), n.Facts)
	n.trimmed[axis] = bound{lo: lo, n: sym.Max(sym.Const(0), sym.Sub(hi, lo), n.Facts)}
	return true
}

// bounds defines the bounds as variables, and makes the values start from them.
func (n *Nest) bounds() []loop.Stmt {
	var out []loop.Stmt
	m := map[string]sym.Expr{}
	for i, r := range n.Reduce {
		b, ok := n.trimmed[r.Var]
		if !ok {
			continue
		}
		first, count := r.Var+"_first"+n.tag, r.Var+"_count"+n.tag
		out = append(out, loop.Index{Var: first, Value: b.lo}, loop.Index{Var: count, Value: b.n})
		n.AddRanges([]te.Axis{{Var: first, Extent: sym.Add(r.Extent, sym.Const(1))}, {Var: count, Extent: sym.Add(r.Extent, sym.Const(1))}})
		m[r.Var] = sym.Add(sym.Var(first), sym.Var(r.Var))
		n.Reduce[i].Extent = sym.Var(count)
	}
	n.Values[0] = loop.SubstIndices(n.Values[0], m, n.Facts)
	return out
}

// reduceLoops runs the body for each point of the reduction.
func (n *Nest) reduceLoops(body []loop.Stmt) []loop.Stmt {
	if len(n.fills) == 0 {
		return Loops(n.Reduce, body)
	}
	last := len(n.Reduce) - 1
	return Loops(n.Reduce[:last], append(append([]loop.Stmt{}, n.fills...), Loops(n.Reduce[last:], body)...))
}
