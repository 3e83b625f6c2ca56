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
	if n.turnVectors() {
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

// squareRows is how many elements of a line a task that turns them takes at least, if it can.
const squareRows = 64

// turnVectors computes as many points of the innermost axis as vectors have lanes, or fewer where it is shorter, for a vector along lines: of them, in registers,
// rows become columns. The last group of points overlaps the one before where they do not come to the axis.
func (n *nest) turnVectors() bool {
	last := len(n.axes) - 1
	points, known := n.axes[last].Extent.Const()
	if !known || points < 2 || len(n.out) != 1 || n.square() == 0 {
		return false
	}
	if points < n.square() && n.out[0].Type.Size() == 1 {
		return false
	}
	for i := last - 1; i >= 0; i-- {
		for _, width := range []int64{0, n.square()} {
			s := n
			if width > 0 {
				s = n.split(i, width)
			}
			if s != nil && s.turnAlong(i+len(s.axes)-len(n.axes), points) {
				*n = *s
				return true
			}
		}
	}
	return false
}

// square is how many rows of as many results are turned at a time; 0 where they are of another size.
func (n *nest) square() int64 {
	switch n.out[0].Type.Size() {
	case 1:
		return loop.TurnedBytes
	case 4:
		return n.lanes
	}
	return 0
}

// turnAlong does that for the lines along an axis.
func (n *nest) turnAlong(line int, points int64) bool {
	last := len(n.axes) - 1
	c, linear := sym.Coefficient(n.at.Index, n.axes[line].Var, n.facts)
	stride, known := c.Const()
	if extent, _ := n.axes[line].Extent.Const(); !linear || !known || stride < points || extent < n.square() || !n.mayWrite(n.square()) || !n.vectorises(n.axes[line], stride) {
		return false
	}
	width := n.square()
	for width > points {
		width /= 2
	}
	group := te.Axis{Var: n.axes[last].Var + "_div", Extent: sym.CeilDiv(n.axes[last].Extent, sym.Const(width), n.facts)}
	phase := te.Axis{Var: n.axes[last].Var + "_mod", Extent: sym.Const(width)}
	s := *n
	s.addRanges([]te.Axis{group, phase})
	first := sym.Min(sym.Scale(sym.Var(group.Var), width), sym.Const(points-width), s.facts)
	s = *s.with(n.axes[last].Var, sym.Add(first, sym.Var(phase.Var)))
	s.phase, s.stride, s.together = phase, stride, 1
	if points%width > 0 {
		s.together = 2 // two tasks would store the same
	}
	s.axes = slices.Concat(n.axes[:line], n.axes[line+1:last], []te.Axis{group, n.axes[line]})
	*n = s
	if lines := n.lineParts(n.axes[last]); lines > 0 {
		parts := n.split(last, lines)
		v := parts.axes
		parts.axes = slices.Concat(v[:last-1], []te.Axis{v[last], v[last-1], v[last+1]})
		*n = *parts
	}
	return true
}

// lineParts is the length of equal parts of an axis in whole vectors, of which tasks are made; 0: it has none.
func (n *nest) lineParts(a te.Axis) int64 {
	extent, _ := a.Extent.Const()
	for parts := int64(squareRows); parts >= n.lanes; parts -= n.lanes {
		if extent%parts == 0 && extent > parts {
			return parts
		}
	}
	return 0
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
		c := sym.Step(at, across, n.facts)
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
