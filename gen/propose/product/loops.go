package product

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/vars"
)

// place is where a loop of tasks, and one within it, walk an axis.
type place struct {
	task, serial string // names of loops, "" where there is none
	size         int64  // points of a task
}

// first is the first point of a task.
func (l place) first() sym.Expr {
	if l.task == "" {
		return sym.Const(0)
	}
	return sym.Scale(sym.Var(l.task), l.size)
}

// now is the point of the loops.
func (l place) now() sym.Expr {
	if l.serial == "" {
		return l.first()
	}
	return sym.Add(l.first(), sym.Var(l.serial))
}

// Names of loops beside those of contractions.
const rowsVar = "tc" // number of the block of rows

// outer are the loops of the result's axes, outermost first.
func (l *plan) outer() lower.LoopList {
	var tasks, before, within lower.LoopList
	for i, a := range l.Stage.Axes {
		if a.Var == l.row.Var || a.Var == l.column.Var || a.Extent.Is(1) {
			continue
		}
		name, inner := vars.Axis(i), fmt.Sprintf("u%d", len(before)+len(within))
		inX, inW := l.X.Uses(a.Var), l.W.Uses(a.Var)
		if w, ok := l.slideOf(a.Var); ok {
			l.slideLoops(w, name, inner, &tasks, &within)
			continue
		}
		if size := l.pointsOfTask(a); size > 1 {
			tasks.Add(sched.Task, name, a.Var, 0, sched.Exact)
			within.Add(sched.Serial, inner, a.Var, size, sched.Exact)
			l.places[a.Var] = place{name, inner, size}
			continue
		}
		switch size := l.share(a); {
		case inX == inW || inW && l.chunk == 0 && size <= 1 || inX && l.chunk > 0 || inX && l.slides != nil:
			tasks.Add(sched.Task, name, a.Var, 0, sched.Exact)
			l.places[a.Var] = place{task: name, size: 1}
		case inW && l.chunk == 0:
			tasks.Add(sched.Task, name, a.Var, 0, sched.Exact)
			within.Add(sched.Serial, inner, a.Var, size, sched.Exact)
			l.places[a.Var], l.inner = place{name, inner, size}, inner
		case inW:
			before.Add(sched.Serial, inner, a.Var, 0, sched.Exact)
			l.places[a.Var] = place{serial: inner, size: 1}
		default:
			within.Add(sched.Serial, inner, a.Var, 0, sched.Exact)
		}
	}
	if l.chunk > 0 {
		tasks.Add(sched.Task, rowsVar, l.row.Var, 0, sched.Exact)
		l.groupLoops(&tasks, &before)
	} else {
		before.Add(sched.Task, vars.Group, l.column.Var, 0, sched.Exact)
	}
	if l.inner == "" {
		l.inner = vars.Group
	}
	out := slices.Concat(tasks, before, within)
	if l.row.Var != "" {
		l.tileRows(&out)
	}
	out.Lanes(l.column.Var, l.Vectors, l.instr.Lanes, !l.columns.Equal(l.column.Extent))
	return out
}

// tileRows are a task's tiles and the rows of one. Those that lie together in the results' storage are a loop of their own.
func (l *plan) tileRows(out *lower.LoopList) {
	divides := func(n int64) bool { return sym.Mod(l.row.Extent, sym.Const(n), l.Facts).Is(0) }
	last, rest := lower.EdgeIf(l.chunk > 0 && !divides(l.chunk*l.Rows), sched.Clip), lower.EdgeIf(!divides(l.Rows), sched.Peel)
	if l.together <= 1 || l.Rows == l.together {
		out.Rows(l.row.Var, l.chunk, l.Rows, last, rest)
		return
	}
	out.Add(sched.Serial, vars.Tile, l.row.Var, l.chunk, last)
	out.Add(sched.Rows, vars.Run, l.row.Var, l.Rows/l.together, rest)
	out.Add(sched.Rows, vars.Row, l.row.Var, l.together, sched.Exact)
}

// mostShared is how many points of a window's axis, other than the lanes', a task computes at most of one copy of what they read.
const mostShared = 4

// tasks adds a loop over an axis's tasks, and gives the one over the points of a task, where it has several.
func (l *plan) tasks(c *sched.Stage, name string, a te.Axis) (points []sched.Loop) {
	c.Loops = append(c.Loops, sched.Loop{Kind: sched.Task, Var: name, Axis: a.Var})
	at := place{task: name, size: l.share(a)}
	if at.size > 1 {
		at.serial = "u" + name[1:]
		points = append(points, sched.Loop{Kind: sched.Serial, Var: at.serial, Axis: a.Var, Size: at.size})
	}
	l.places[a.Var] = at
	return points
}

// share is how many points of an axis share what a task packs of W.
func (l *plan) share(a te.Axis) int64 {
	i := slices.IndexFunc(l.windows, func(w window) bool { return w.axis.Var == a.Var })
	n, known := a.Extent.Const()
	if i < 0 || !known {
		return 1
	}
	for size := int64(mostShared); size > 1; size-- {
		if n%size == 0 {
			return size
		}
	}
	return 1
}
