package product

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/match"
)

// window is an axis of the result and one of the reduction that a factor reads at stride * axis + dilation * tap: windows that overlap, so that
// they are packed once, along what both walk.
type window struct {
	axis, tap        te.Axis
	stride, dilation int64
}

// span is how far n points of the axis and all taps reach.
func (w window) span(n sym.Expr) sym.Expr {
	taps, _ := w.tap.Extent.Const()
	return sym.Add(sym.Scale(sym.Sub(n, sym.Const(1)), w.stride), sym.Const((taps-1)*w.dilation+1))
}

// at is where a tap reads.
func (w window) at() sym.Expr {
	return sym.Add(sym.Scale(sym.Var(w.axis.Var), w.stride), sym.Scale(sym.Var(w.tap.Var), w.dilation))
}

// findWindows finds the windows of W.
func (p *product) findWindows() {
	p.windows = nil
	taken := map[string]bool{}
	for _, r := range p.Reduce {
		if w, ok := p.window(p.W, r); ok && !taken[w.axis.Var] {
			taken[w.axis.Var] = true
			p.windows = append(p.windows, w)
		}
	}
}

// overlap is how many windows read an element that is packed once.
func (p *product) overlap() int64 {
	out := int64(1)
	for _, w := range p.windows {
		n, _ := w.tap.Extent.Const()
		out *= max(1, n/w.stride)
	}
	return out
}

// findGroup finds the axis of the sum of which the instruction takes neighbours, if it does: where channels are last, the one along which X has
// neighbours; else the longest of those that are no window's, or the last one.
func (p *product) findGroup() {
	if p.instr.Group == 1 {
		return
	}
	if p.group = p.besideX(); p.group != "" {
		return
	}
	longest := int64(0)
	for _, r := range p.Reduce {
		shared := slices.ContainsFunc(p.windows, func(w window) bool { return w.tap.Var == r.Var })
		if n, _ := r.Extent.Const(); n > longest && !shared {
			longest, p.group = n, r.Var
		}
	}
	if p.group == "" {
		p.group = p.windows[len(p.windows)-1].tap.Var
		p.windows = p.windows[:len(p.windows)-1]
	}
}

// window finds the axis with which a tap walks a factor, in windows that overlap; those along the lanes of an instruction are one element apart.
func (p *product) window(t *match.Term, tap te.Axis) (window, bool) {
	l := t.Load
	for _, e := range l.Index {
		if !e.Uses(tap.Var) {
			continue
		}
		for _, a := range p.Stage.Axes {
			if !e.Uses(a.Var) {
				continue
			}
			s, d := coefficient(e, a.Var, p.Facts), coefficient(e, tap.Var, p.Facts)
			w := window{a, tap, s, d}
			n, _ := tap.Extent.Const()
			if s > 0 && d > 0 && (n-1)*d+1 > s && (s == 1 || a.Var != p.column.Var || p.instr == nil) && p.shares(t, w) {
				return w, true
			}
		}
		return window{}, false
	}
	return window{}, false
}

// shares reports whether all that a factor's load says of a window's axes, it says of what they walk together.
func (p *product) shares(t *match.Term, w window) bool {
	if t.Zero != nil && match.ExprUses(t.Zero, w.axis.Var) {
		return false
	}
	l := t.Load
	es := slices.Clone(l.Index)
	for _, g := range l.Guard {
		if g.Lo.Uses(w.axis.Var) || g.Lo.Uses(w.tap.Var) || g.Hi.Uses(w.axis.Var) || g.Hi.Uses(w.tap.Var) {
			return false
		}
		es = append(es, g.E)
	}
	return !slices.ContainsFunc(es, func(e sym.Expr) bool {
		_, ok := w.along(e, sym.Const(0), p.Facts)
		return !ok
	})
}

// along is an index with what the window's axes walk together in their place.
func (w window) along(e, at sym.Expr, f sym.Facts) (sym.Expr, bool) {
	if !e.Uses(w.axis.Var) && !e.Uses(w.tap.Var) {
		return e, true
	}
	s, d := coefficient(e, w.axis.Var, f), coefficient(e, w.tap.Var, f)
	if s == 0 || s%w.stride != 0 || s*w.dilation != d*w.stride {
		return e, false
	}
	rest := e.Subst(map[string]sym.Expr{w.axis.Var: sym.Const(0), w.tap.Var: sym.Const(0)}, f)
	return sym.Add(rest, sym.Scale(at, s/w.stride)), true
}

// coefficient is a constant one; 0 where there is none.
func coefficient(e sym.Expr, v string, f sym.Facts) int64 {
	c, ok := sym.Coefficient(e, v, f)
	n, known := c.Const()
	if !ok || !known {
		return 0
	}
	return n
}
