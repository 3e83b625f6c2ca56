package nest

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/vars"
)

// splitTasks takes leading axes as the grid until it has enough tasks, and leaves the others. Where it
// would take all but the innermost ones, the first that is left is cut into parts of equal length, the last one shorter.
func (n *Nest) splitTasks() (grid, inner []te.Axis) {
	short, elements := n.shortAxes()
	last, chunk := len(n.Axes)-1-short, n.chunk(elements)
	tasks, taken := sym.Const(1), 0
	for taken < last && !sym.AtLeast(tasks, n.target.Tasks, n.Facts) {
		if few := n.few(taken); few > 1 && taken > 0 && !n.asked(n.Axes[taken].Var) {
			return n.splitFew(taken, few)
		}
		tasks = sym.Mul(tasks, n.Axes[taken].Extent)
		taken++
	}
	grid, inner = n.Axes[:taken], n.Axes[taken:]
	if taken < last || last < 0 || sym.AtLeast(tasks, n.target.Tasks, n.Facts) || sym.AtMost(inner[0].Extent, chunk, n.Facts) {
		return grid, inner
	}
	return n.splitChunks(grid, inner, chunk)
}

// few is how many points of an axis a task should have at least, so that it does enough for finding out which one it is, by divisions; 0
// where only the run knows.
func (n *Nest) few(axis int) int64 {
	if n.target.WorkItems() {
		return 0
	}
	elements := n.reducedPoints()
	for _, a := range n.Axes[axis+1:] {
		c, known := a.Extent.Const()
		if !known {
			return 0
		}
		elements = min(elements*max(c, 1), n.target.TaskElements)
	}
	return n.target.TaskElements / elements
}

// asked reports whether what is padding depends on a variable: a task of one point asks once.
func (n *Nest) asked(v string) bool {
	return slices.ContainsFunc(n.within, func(w te.Within) bool { return w.E.Uses(v) })
}

// splitFew cuts an axis into even parts of about so many points, which are tasks with what is outside of it; it stays whole where it is shorter.
func (n *Nest) splitFew(axis int, few int64) (grid, inner []te.Axis) {
	grid, inner = n.Axes[:axis], n.Axes[axis:]
	extent, known := inner[0].Extent.Const()
	if known && extent <= few {
		return grid, inner
	}
	if known {
		parts := (extent + few - 1) / few
		few = (extent + parts - 1) / parts
	}
	return n.splitChunks(grid, inner, few)
}

// chunk is how many points of an axis are enough for a task, which computes so many elements for each: whole vectors of them
// where the axis runs in vectors.
func (n *Nest) chunk(elements int64) int64 {
	enough := max(1, n.target.TaskElements/elements)
	if n.Combiner == nil || n.target.WorkItems() || len(n.Axes) == 0 {
		return enough
	}
	if points := n.reducedPoints(); points > 1 {
		enough = max(1, enough/points)
		if last := n.Axes[len(n.Axes)-1]; n.together == 0 && n.vectorises(last, 1) {
			enough = (enough + n.lanes - 1) / n.lanes * n.lanes
		}
	}
	return enough
}

// reducedPoints are how many points an element is made of, as far as the compiler knows: the least of them.
func (n *Nest) reducedPoints() int64 {
	points := int64(1)
	for _, r := range n.Reduce {
		lo, _ := r.Extent.Bounds(n.Facts)
		points = min(points*max(lo, 1), n.target.TaskElements)
	}
	return points
}

// shortAxes are how many of the innermost axes have few points together, within an axis of which only the run
// knows the length: a task for each point of that, which is no reduction, would find out which one it is, by
// divisions, and then do little. Those that stay together are among them anyway.
func (n *Nest) shortAxes() (axes int, elements int64) {
	kept := len(n.Axes) - n.together
	elements = 1
	cheap := n.Combiner == nil && !n.target.WorkItems() // a point is a sum of many, or a work-item
	for i := len(n.Axes) - 1; cheap && i >= 0 && elements <= maxLanes; i-- {
		c, known := n.Axes[i].Extent.Const()
		if !known {
			return len(n.Axes) - 1 - i, elements
		}
		elements *= max(c, 1)
	}
	elements = 1
	for _, a := range n.Axes[kept:] {
		c, _ := a.Extent.Const()
		elements *= max(c, 1)
	}
	return n.together, elements
}

// splitChunks cuts the first of the inner axes.
func (n *Nest) splitChunks(grid, inner []te.Axis, chunk int64) (outer, rest []te.Axis) {
	a := inner[0]
	number := te.Axis{Var: vars.Chunk, Extent: sym.CeilDiv(a.Extent, sym.Const(chunk), n.Facts)}
	if len(grid) == 0 {
		number.Var = loop.TaskVar
	}
	part := te.Axis{Var: vars.Part, Extent: sym.Const(chunk)}
	n.AddRanges([]te.Axis{number, part})
	first := sym.Scale(sym.Var(number.Var), chunk)
	n.Subst(map[string]sym.Expr{a.Var: sym.Add(first, sym.Var(part.Var))})
	if c, ok := a.Extent.Const(); !ok || c%chunk != 0 {
		part.Extent = sym.Min(part.Extent, sym.Sub(a.Extent, first), n.Facts)
	}
	return append(append([]te.Axis{}, grid...), number), append([]te.Axis{part}, inner[1:]...)
}
