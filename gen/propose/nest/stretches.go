package nest

import (
	"maps"
	"slices"
	"sort"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Indices of what is padded, clamped, mirrored or joined take turns along an axis: the lesser of two, what holds under conditions, a remainder. Of the innermost axis
// the stretches between the points at which such choices turn run in loops of their own, in which indices are linear, so that most of the axis runs in vectors.

// mostTurns is how many such points an axis has at most.
const mostTurns = 6

// stretches computes the axes in such loops; nil where that gains nothing.
func (n *Nest) stretches(axes []te.Axis) []loop.Stmt {
	last := len(axes) - 1
	if n.cut || n.lanes == 1 || n.Combiner != nil || n.phase.Var != "" || n.stride > 1 || last < 0 || len(n.within) > 0 || n.target.WorkItems() || n.onImages() || n.binds() {
		return nil
	}
	extent, known := axes[last].Extent.Const()
	if !known || extent < n.lanes || n.vectorises(axes[last], 1) {
		return nil
	}
	points := n.turns(axes[last].Var, extent)
	if len(points) > mostTurns || !n.mayWrite(int64(len(points))+1) {
		return nil
	}
	var body []loop.Stmt
	from, vectors := int64(0), false
	for _, to := range append(points, extent) {
		part, fast := n.stretch(axes[last], from, to)
		body, vectors, from = append(body, part...), vectors || fast, to
	}
	if !vectors {
		return nil
	}
	return Loops(axes[:last], body)
}

// binds reports whether a result binds integers that it loads: those would be bound twice.
func (n *Nest) binds() bool {
	found := false
	for _, r := range n.Results {
		te.Walk(r, func(e te.Expr) {
			_, is := e.(te.Let)
			found = found || is
		})
	}
	return found
}

// stretch computes the points [from, to) of an axis, and reports whether most of them run in vectors.
func (n *Nest) stretch(a te.Axis, from, to int64) (body []loop.Stmt, vectors bool) {
	if to-from == 1 {
		return n.with(a.Var, sym.Const(from)).point(), false
	}
	s := n.between(a, from, to)
	if vectors = s.vectorises(s.Axes[0], 1); !vectors {
		for _, width := range s.divisors(a.Var) {
			whole := to - (to-from)%width
			if whole-from < 2*width || width > n.lanes {
				continue
			}
			if p := n.between(a, from, whole).split(0, width); p != nil && p.inPhases(0, width) {
				body = p.elements(p.Axes, nil)
				n.widen(p)
				if whole < to {
					rest, _ := n.stretch(a, whole, to)
					body = append(body, rest...)
				}
				return body, true
			}
		}
	}
	n.widen(s)
	return s.elements(s.Axes, nil), vectors
}

// between is the nest of the points [from, to) of an axis, which is its only one.
func (n *Nest) between(a te.Axis, from, to int64) *Nest {
	part := te.Axis{Var: a.Var, Extent: sym.Const(to - from)}
	s := *n
	s.cut, s.Facts = true, maps.Clone(n.Facts)
	s.AddRanges([]te.Axis{part})
	out := s.with(a.Var, sym.Add(sym.Var(a.Var), sym.Const(from)))
	out.Axes = []te.Axis{part}
	return out
}

// widen makes room for the values of another nest's variables.
func (n *Nest) widen(s *Nest) {
	for v, r := range s.Facts {
		if old, known := n.Facts[v]; known {
			r = sym.Range{Lo: min(old.Lo, r.Lo), Hi: max(old.Hi, r.Hi)}
		}
		n.Facts[v] = r
	}
}

// turns are the points of an axis at which choices of indices turn, in order.
func (n *Nest) turns(v string, extent int64) []int64 {
	t := &turns{v: v, extent: extent, facts: n.Facts, at: map[int64]bool{}}
	for _, r := range n.Results {
		loop.ExprIndices(r, func(e sym.Expr) { t.plain(e) })
		te.Walk(r, func(e te.Expr) {
			if x, ok := e.(te.Select); ok {
				for _, w := range x.Cond {
					t.turn(sym.Sub(w.E, w.Lo))
					t.turn(sym.Sub(w.E, w.Hi))
				}
			}
		})
	}
	points := slices.Collect(maps.Keys(t.at))
	sort.Slice(points, func(i, j int) bool { return points[i] < points[j] })
	return points
}

// turns finds where choices of indices turn along an axis of so many points. Wherever they do, code is right; where they do and no point is found, it has the
// choice.
type turns struct {
	v      string
	extent int64
	facts  sym.Facts
	at     map[int64]bool
}

// plain is an index without its choices: with what there is along most of the axis.
func (t *turns) plain(e sym.Expr) sym.Expr {
	if !e.Uses(t.v) {
		return e
	}
	terms, c := e.Terms()
	sum := []sym.Expr{sym.Const(c)}
	for _, x := range terms {
		p := sym.Const(x.Coef)
		for _, a := range x.Atoms {
			p = sym.Mul(p, t.atom(a))
		}
		sum = append(sum, p)
	}
	return sym.Add(sum...)
}

func (t *turns) atom(a *sym.Atom) sym.Expr {
	if a.Kind == sym.AtomVar || !sym.FromAtom(a).Uses(t.v) {
		return sym.FromAtom(a)
	}
	p, q := t.plain(a.A), t.plain(a.B)
	switch a.Kind {
	case sym.AtomMin, sym.AtomMax:
		if t.growth(p) < t.growth(q) {
			p, q = q, p
		}
		if a.Kind == sym.AtomMax { // where both are equal, what grows more goes on
			t.turn(sym.Sub(p, q))
		} else {
			t.turn(sym.Sub(q, p))
		}
		return p
	case sym.AtomDiv:
		t.wraps(p, q)
		return sym.FloorDiv(p, q, t.facts)
	}
	t.wraps(p, q)
	return sym.Mod(p, q, t.facts)
}

// value is what an expression is at a point of the axis, if that depends on nothing else.
func (t *turns) value(e sym.Expr, at int64) (int64, bool) {
	return e.Subst(map[string]sym.Expr{t.v: sym.Const(at)}, t.facts).Const()
}

// growth is how much an expression gains along the axis, as far as that depends on nothing else.
func (t *turns) growth(e sym.Expr) int64 {
	first := e.Subst(map[string]sym.Expr{t.v: sym.Const(0)}, t.facts)
	gain, _ := sym.Sub(e.Subst(map[string]sym.Expr{t.v: sym.Const(t.extent - 1)}, t.facts), first).Const()
	return gain
}

// turn notes where an expression of one direction becomes negative, or ends to be.
func (t *turns) turn(e sym.Expr) {
	if len(t.at) > mostTurns || !e.Uses(t.v) {
		return
	}
	first, ok1 := t.value(e, 0)
	last, ok2 := t.value(e, t.extent-1)
	if !ok1 || !ok2 || (first < 0) == (last < 0) {
		return
	}
	before, behind := int64(0), t.extent-1
	for behind-before > 1 {
		middle := before + (behind-before)/2
		if x, _ := t.value(e, middle); (x < 0) == (first < 0) {
			before = middle
		} else {
			behind = middle
		}
	}
	t.at[behind] = true
}

// wraps notes where a quotient by a constant becomes another one, if it has few.
func (t *turns) wraps(e, by sym.Expr) {
	first, ok1 := t.value(sym.FloorDiv(e, by, t.facts), 0)
	last, ok2 := t.value(sym.FloorDiv(e, by, t.facts), t.extent-1)
	if !ok1 || !ok2 || last < first || last-first > mostTurns/2 {
		return
	}
	for k := first + 1; k <= last; k++ {
		t.turn(sym.Sub(e, sym.Scale(by, k)))
	}
}
