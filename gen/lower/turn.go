package lower

import (
	"slices"

	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// turned is how many neighbours a line of the cache has: a nest that walks an operand across them loads each line for one
// of them, and again for the next.
const turned = 16

// turn computes a nest that walks an operand across its lines in squares of as many points of the innermost axis as of the
// axis that walks along the lines: a transpose, or a layout whose channels lie together made one where they do not.
func (n *nest) turn() {
	last := len(n.axes) - 1
	if n.lanes == 1 || n.target.WorkItems() || n.combiner != nil || last < 1 || n.together > 0 || len(n.within) > 0 || n.onImages() {
		return
	}
	whole := *n
	if whole.vectorises(n.axes[last], 1) || !n.across(n.axes[last].Var) {
		return
	}
	inner := n.split(last, turned)
	if inner == nil || inner.axes[last].Extent.Is(1) {
		return
	}
	for i := last - 1; i >= 0; i-- {
		s := inner.split(i, turned)
		if s == nil || !s.walksLines(s.axes[i+1].Var, s.axes[last+2].Var) {
			continue
		}
		axes := slices.Concat(s.axes[:i+1], s.axes[i+2:last+2], []te.Axis{s.axes[i+1]}, s.axes[last+2:])
		*n = *s
		n.axes, n.together = axes, 2
		return
	}
}

// across reports whether some operand's neighbours along the axis lie on different lines, always as far apart.
func (n *nest) across(v string) bool {
	found, regular := false, true
	n.operands(func(at sym.Expr) {
		c, linear := sym.Coefficient(at, v, n.facts)
		step, known := c.Const()
		regular = regular && linear && known
		found = found || step >= turned
	})
	return found && regular
}

// walksLines reports whether what an axis walks across lines, the other walks along them.
func (n *nest) walksLines(along, across string) bool {
	all := true
	n.operands(func(at sym.Expr) {
		c, _ := sym.Coefficient(at, across, n.facts)
		if step, _ := c.Const(); step < turned {
			return
		}
		one, linear := sym.Coefficient(at, along, n.facts)
		all = all && linear && one.Is(1)
	})
	return all
}

// operands calls f for each place that the results read.
func (n *nest) operands(f func(sym.Expr)) {
	for _, r := range n.results {
		te.Walk(r, func(e te.Expr) {
			if m, ok := e.(loop.Mem); ok {
				f(m.Index)
			}
		})
	}
}
