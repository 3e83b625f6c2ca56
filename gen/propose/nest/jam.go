package nest

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Integers that are loaded to tell what an element is read from, as the places of a GridSample, are often the same for all points of an axis, as for its channels.
// The innermost loop then computes some of these points for each place that it has loaded and checked.

// jammed is how many points those are at most.
const jammed = 4

// jam makes points of an axis on which no bound integer depends phases of the innermost one, on which some do.
func (n *Nest) jam() {
	last := len(n.Axes) - 1
	if n.Combiner != nil || n.target.WorkItems() || last < 1 || n.phase.Var != "" || n.together > 0 || len(n.within) > 0 || n.onImages() || !n.bindsBy(n.Axes[last].Var) {
		return
	}
	for i := last - 1; i >= 0; i-- {
		if n.bindsBy(n.Axes[i].Var) {
			continue
		}
		for width := int64(jammed); width > 1; width-- {
			if s := n.split(i, width); s != nil && n.mayWrite(width) {
				s.phase, s.Axes = s.Axes[i+1], slices.Concat(s.Axes[:i+1], s.Axes[i+2:])
				*n = *s
				return
			}
		}
	}
}

// bindsBy reports whether a bound integer depends on a variable.
func (n *Nest) bindsBy(v string) bool {
	used := false
	for _, r := range n.Results {
		binds, _ := loop.HoistLets(r)
		loop.Exprs(binds, func(e sym.Expr) { used = used || e.Uses(v) })
	}
	return used
}

// unbound is the nest without its integers, behind the statements that bind them, where these are the same in all phases.
func (n *Nest) unbound() ([]loop.Stmt, *Nest) {
	if n.bindsBy(n.phase.Var) {
		return nil, n
	}
	return n.withoutBinds()
}

// withoutBinds is the nest without its integers, behind the statements that bind them.
func (n *Nest) withoutBinds() ([]loop.Stmt, *Nest) {
	var body []loop.Stmt
	s := *n
	s.Results = make([]te.Expr, len(n.Results))
	for i, r := range n.Results {
		binds, e := loop.HoistLets(r)
		body, s.Results[i] = append(body, binds...), e
	}
	return body, &s
}

// lifted computes the axes with integers bound outside of the innermost ones on which none depends, as rows that a Gather names are read: these run in vectors
// then, and an index is checked once for all of them. It is nil where that moves nothing.
func (n *Nest) lifted(axes []te.Axis) []loop.Stmt {
	kept := len(axes)
	for kept > 0 && n.lifts(axes[kept-1]) {
		kept--
	}
	if kept == len(axes) {
		return nil
	}
	binds, s := n.withoutBinds()
	return Loops(axes[:kept], append(binds, s.run(axes[kept:])...))
}

// lifts reports whether integers are bound outside of an axis: it has points, so that each is checked as it was before, and what is padding depends on
// none of the variables that they do.
func (n *Nest) lifts(a te.Axis) bool {
	if n.Combiner != nil || n.target.WorkItems() || n.onImages() || !n.binds() || n.bindsBy(a.Var) || !sym.AtLeast(a.Extent, 1, n.Facts) {
		return false
	}
	used := map[string]bool{}
	for _, w := range n.within {
		w.E.Vars(used)
	}
	for v := range used {
		if n.bindsBy(v) {
			return false
		}
	}
	return true
}
