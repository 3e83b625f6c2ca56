package nest

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// turned is how many neighbours a line of the cache has: a nest that walks an operand across them loads each line for one
// of them, and again for the next.
const turned = 16

// turn computes a nest that walks an operand across its lines in squares of as many points of the innermost axis as of the
// axis that walks along the lines: a transpose, or a layout whose channels lie together made one where they do not.
func (n *Nest) turn() {
	last := len(n.Axes) - 1
	if n.lanes == 1 || n.target.WorkItems() || n.Combiner != nil || last < 1 || n.together > 0 || len(n.within) > 0 || n.onImages() {
		return
	}
	whole := *n
	if whole.vectorises(n.Axes[last], 1) || !n.across(n.Axes[last].Var) {
		return
	}
	if n.turnVectors() {
		return
	}
	inner := n.split(last, turned)
	if inner == nil || inner.Axes[last].Extent.Is(1) {
		return
	}
	for i := last - 1; i >= 0; i-- {
		s := inner.split(i, turned)
		if s == nil || !s.walksLines(s.Axes[i+1].Var, s.Axes[last+2].Var) {
			continue
		}
		axes := slices.Concat(s.Axes[:i+1], s.Axes[i+2:last+2], []te.Axis{s.Axes[i+1]}, s.Axes[last+2:])
		*n = *s
		n.Axes, n.together = axes, 2
		return
	}
}

// squareRows is how many elements of a line a task that turns them takes at least, if it can.
const squareRows = 64

// turnVectors computes as many points of the innermost axis as vectors have lanes, or fewer where it is shorter, for a vector along lines: of them, in registers,
// rows become columns. The last group of points overlaps the one before where they do not come to the axis.
func (n *Nest) turnVectors() bool {
	last := len(n.Axes) - 1
	points, known := n.Axes[last].Extent.Const()
	if !known || points < 2 || len(n.Out) != 1 || n.square() == 0 {
		return false
	}
	if points < n.square() && n.Out[0].Type.Size() == 1 {
		return false
	}
	for i := last - 1; i >= 0; i-- {
		for _, width := range []int64{0, n.square()} {
			s := n
			if width > 0 {
				s = n.split(i, width)
			}
			if s != nil && s.turnAlong(i+len(s.Axes)-len(n.Axes), points) {
				*n = *s
				return true
			}
		}
	}
	return false
}

// square is how many rows of as many results are turned at a time; 0 where they are of another size.
func (n *Nest) square() int64 {
	switch n.Out[0].Type.Size() {
	case 1:
		return loop.TurnedBytes
	case 4:
		return n.lanes
	}
	return 0
}

// turnAlong does that for the lines along an axis.
func (n *Nest) turnAlong(line int, points int64) bool {
	last := len(n.Axes) - 1
	c, linear := sym.Coefficient(n.At.Index, n.Axes[line].Var, n.Facts)
	stride, known := c.Const()
	if extent, _ := n.Axes[line].Extent.Const(); !linear || !known || stride < points || extent < n.square() || !n.mayWrite(n.square()) || !n.vectorises(n.Axes[line], stride) {
		return false
	}
	width := n.square()
	for width > points {
		width /= 2
	}
	group := te.Axis{Var: n.Axes[last].Var + "_div", Extent: sym.CeilDiv(n.Axes[last].Extent, sym.Const(width), n.Facts)}
	phase := te.Axis{Var: n.Axes[last].Var + "_mod", Extent: sym.Const(width)}
	s := *n
	s.AddRanges([]te.Axis{group, phase})
	first := sym.Min(sym.Scale(sym.Var(group.Var), width), sym.Const(points-width), s.Facts)
	s = *s.with(n.Axes[last].Var, sym.Add(first, sym.Var(phase.Var)))
	s.phase, s.stride, s.together = phase, stride, 1
	if points%width > 0 {
		s.together = 2 // two tasks would store the same
	}
	s.Axes = slices.Concat(n.Axes[:line], n.Axes[line+1:last], []te.Axis{group, n.Axes[line]})
	*n = s
	if lines := n.lineParts(n.Axes[last]); lines > 0 {
		parts := n.split(last, lines)
		v := parts.Axes
		parts.Axes = slices.Concat(v[:last-1], []te.Axis{v[last], v[last-1], v[last+1]})
		*n = *parts
	}
	return true
}

// lineParts is the length of equal parts of an axis in whole vectors, of which tasks are made; 0: it has none.
func (n *Nest) lineParts(a te.Axis) int64 {
	extent, _ := a.Extent.Const()
	for parts := int64(squareRows); parts >= n.lanes; parts -= n.lanes {
		if extent%parts == 0 && extent > parts {
			return parts
		}
	}
	return 0
}

// across reports whether some operand's neighbours along the axis lie on different lines, always as far apart.
func (n *Nest) across(v string) bool {
	found, regular := false, true
	n.operands(func(at sym.Expr) {
		c, linear := sym.Coefficient(at, v, n.Facts)
		step, known := c.Const()
		regular = regular && linear && known
		found = found || step >= turned
	})
	return found && regular
}

// walksLines reports whether what an axis walks across lines, the other walks along them.
func (n *Nest) walksLines(along, across string) bool {
	all := true
	n.operands(func(at sym.Expr) {
		c := sym.Step(at, across, n.Facts)
		if step, _ := c.Const(); step < turned {
			return
		}
		one, linear := sym.Coefficient(at, along, n.Facts)
		all = all && linear && one.Is(1)
	})
	return all
}

// operands calls f for each place that the results read.
func (n *Nest) operands(f func(sym.Expr)) {
	for _, r := range n.Results {
		te.Walk(r, func(e te.Expr) {
			if m, ok := e.(loop.Mem); ok {
				f(m.Index)
			}
		})
	}
}
