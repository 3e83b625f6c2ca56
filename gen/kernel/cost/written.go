package cost

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// written is the cycles of a computation of a stage whose innermost loop is written out: the one around it runs in vectors, and what the
// iterations have in common is computed once.
func (e *scheduled) written(x *nest) float64 {
	last := len(x.sched.Loops) - 1
	span := x.spans[x.of[last]]
	inner, along, others := x.vectors(last - 1)
	return e.rows(others/x.whole[x.of[last]], along, func(lanes float64) float64 {
		u := &iterations{scheduled: e, x: x, axis: span.Axes[0].Var, lane: inner, lanes: lanes, calls: map[*te.Expr]bool{}, loads: map[*sym.Expr]bool{}}
		c := perStep
		for _, r := range x.te.Results {
			c += float64(e.t.StoreCycles()*x.whole[x.of[last]]) + u.cycles(r, x.whole[x.of[last]])
		}
		return c
	})
}

// iterations are those of a loop that is written out.
type iterations struct {
	*scheduled
	x     *nest
	axis  string // which the loop walks
	lane  string
	lanes float64
	// calls and loads are those that are counted, by where their operands and indices are: copies of an expression share them.
	calls map[*te.Expr]bool
	loads map[*sym.Expr]bool
}

// cycles is those of an expression in so many iterations.
func (u *iterations) cycles(x te.Expr, times float64) float64 {
	switch y := x.(type) {
	case te.Load:
		if len(y.Index) == 0 || u.loads[&y.Index[0]] {
			return 0
		}
		u.loads[&y.Index[0]] = true
		return float64(u.differ(x, times) * u.vector(x, u.lane, u.lanes))
	case te.Call:
		if len(y.Args) == 0 || u.calls[&y.Args[0]] {
			return 0
		}
		u.calls[&y.Args[0]] = true
		c := float64(u.differ(x, times) * u.flops(y))
		for _, a := range y.Args {
			c += u.cycles(a, times)
		}
		return c
	case te.Select: // a choice between iterations: each has its own
		if len(y.Cond) == 1 && y.Cond[0].E.Uses(u.axis) {
			return u.cycles(y.Then, 1) + u.cycles(y.Else, max(times-1, 1))
		}
		return float64(times*perBranch) + u.cycles(y.Then, times) + u.cycles(y.Else, times)
	}
	return float64(u.differ(x, times) * u.vector(x, u.lane, u.lanes))
}

// differ is in how many of the iterations an expression differs.
func (u *iterations) differ(x te.Expr, times float64) float64 {
	if times == 1 {
		return 1
	}
	used := false
	te.Walk(x, func(y te.Expr) { te.EachIndex(y, func(i sym.Expr) { used = used || i.Uses(u.axis) }) })
	if used {
		return times
	}
	return 1
}
