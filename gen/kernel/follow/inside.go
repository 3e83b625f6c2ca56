package follow

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// conditional is code without conditions where all that a stage reads meets its guards, and code with them elsewhere, if the
// schedule asks for both.
func (f *follower) conditional(c *stage, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	if !c.sched.Inside {
		return body()
	}
	cond, ok := f.guards(c)
	if !ok {
		return body()
	}
	if !slices.ContainsFunc(c.sched.Loops, func(l sched.Loop) bool { return l.Edge == sched.Peel }) { // whose variables are fixed in some code
		c.mems = map[*sym.Expr]loop.Mem{}
	}
	c.inside = true
	then, err := body()
	c.inside = false
	if err != nil || len(cond) == 0 {
		return then, err
	}
	otherwise, err := body()
	return []loop.Stmt{loop.If{Cond: cond, Then: then, Else: otherwise}}, err
}

// box is an index that goes from low to high over the points of a stage, all of which are to lie within bounds.
type box struct{ low, high, lo, hi sym.Expr }

// guards are the conditions that hold where those of all points do; false where an index does not go upwards or downwards by constant steps.
func (f *follower) guards(c *stage) (cond []te.Within, ok bool) {
	ok = true
	var boxes []box
	seen := map[*sym.Expr]bool{} // copies of one load share its index
	for _, e := range slices.Concat(c.te.Values, c.te.Results) {
		te.Walk(e, func(e te.Expr) {
			l, isLoad := e.(te.Load)
			if !isLoad || !ok || len(l.Index) == 0 || seen[&l.Index[0]] {
				return
			}
			seen[&l.Index[0]] = true
			l = te.SubstIndices(l, c.logical, c.facts).(te.Load)
			for _, w := range uncertain(f.needed(l, c.facts), c.facts) {
				var b box
				if b, ok = f.box(c, w); ok {
					boxes = add(boxes, b)
				}
			}
		})
	}
	for _, b := range boxes {
		cond = append(cond, te.Within{E: b.low, Lo: b.lo, Hi: sym.Sub(b.hi, sym.Sub(b.high, b.low))})
	}
	return uncertain(cond, f.facts), ok
}

// add adds a box, to one of the same bounds that is a constant number of points away.
func add(boxes []box, b box) []box {
	for i, o := range boxes {
		low, ok := sym.Sub(b.low, o.low).Const()
		high, ok2 := sym.Sub(b.high, o.high).Const()
		if !ok || !ok2 || !o.lo.Equal(b.lo) || !o.hi.Equal(b.hi) {
			continue
		}
		if low < 0 {
			boxes[i].low = b.low
		}
		if high > 0 {
			boxes[i].high = b.high
		}
		return boxes
	}
	return append(boxes, b)
}

// box is that of a condition, over all points of the stage's loops.
func (f *follower) box(c *stage, w te.Within) (b box, ok bool) {
	low, high := map[string]sym.Expr{}, map[string]sym.Expr{}
	for _, p := range c.spans {
		if !slices.ContainsFunc([]sym.Expr{w.E, w.Lo, w.Hi}, func(e sym.Expr) bool { return usesSpan(p, e) }) {
			continue
		}
		k, linear := sym.Coefficient(w.E, p.Name, c.facts)
		step, known := k.Const()
		if !linear || !known || len(p.Axes) > 1 || c.roundsUp(p) || usesSpan(p, w.Lo) || usesSpan(p, w.Hi) {
			return b, false
		}
		low[p.Name], high[p.Name] = p.First, sym.Sub(sym.Add(p.First, p.Extent), sym.Const(1))
		if step < 0 {
			low[p.Name], high[p.Name] = high[p.Name], low[p.Name]
		}
	}
	return box{f.place(c, w.E.Subst(low, c.facts)), f.place(c, w.E.Subst(high, c.facts)), f.place(c, w.Lo), f.place(c, w.Hi)}, true
}

// usesSpan reports whether an index uses a span's point, or a joined axis of it.
func usesSpan(p sched.Span, e sym.Expr) bool {
	return e.Uses(p.Name) || len(p.Axes) > 1 && slices.ContainsFunc(p.Axes, func(a te.Axis) bool { return e.Uses(a.Var) })
}
