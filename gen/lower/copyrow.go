package lower

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// runOfCopy walks what lies side by side in a copy and in what it copies.
const runOfCopy = "xr"

// copiedRow copies one row of X: the points of the last axis where the conditions hold, and zeros around them. Where
// only the run knows the conditions, they are evaluated per element.
func (c *contraction) copiedRow(axis te.Axis, lane []te.Axis, cond []te.Within, to sym.Expr, scratch *loop.Buffer, v te.Expr) []loop.Stmt {
	r := &copyRow{c: c, axis: axis, lane: lane, to: to, scratch: scratch}
	n, known := axis.Extent.Const()
	lo, hi, fixed := c.inside(axis, cond, n)
	if !known || !fixed {
		return loops([]te.Axis{axis}, c.when(cond, r.fill(to, v), r.fill(to, zeroF32)))
	}
	return append(append(r.part(0, lo, zeroF32), r.part(lo, hi, v)...), r.part(hi, n, zeroF32)...)
}

// inside is which points of the n of an axis all conditions hold of; false where that depends on the run.
func (c *contraction) inside(axis te.Axis, cond []te.Within, n int64) (lo, hi int64, fixed bool) {
	lo, hi = 0, n
	s, uncertain := c.n.choose(cond, te.Int(ir.Bool, 1), te.Int(ir.Bool, 0)).(te.Select)
	if !uncertain {
		return lo, hi, true
	}
	for _, w := range s.Cond {
		shift, ok := sym.Sub(w.E, sym.Var(axis.Var)).Const()
		first, ok1 := w.Lo.Const()
		end, ok2 := w.Hi.Const()
		if !ok || !ok1 || !ok2 {
			return 0, 0, false
		}
		lo, hi = max(lo, first-shift), min(hi, end-shift)
	}
	lo = min(lo, n)
	return lo, max(lo, hi), true
}

type copyRow struct {
	c       *contraction
	axis    te.Axis
	lane    []te.Axis // channels of a block; none in row-major storage
	to      sym.Expr
	scratch *loop.Buffer
}

var zeroF32 = te.Number(ir.F32, 0)

func (r *copyRow) fill(to sym.Expr, v te.Expr) []loop.Stmt {
	return loops(r.lane, []loop.Stmt{loop.Store{Buf: r.scratch, Index: to, Value: asF32(v)}})
}

// part fills the points [lo, hi) with v: as one run where points are as many elements apart as they have.
func (r *copyRow) part(lo, hi int64, v te.Expr) []loop.Stmt {
	if lo >= hi {
		return nil
	}
	facts := r.c.n.facts
	at := map[string]sym.Expr{r.axis.Var: sym.Add(sym.Var(r.axis.Var), sym.Const(lo))}
	run := []te.Axis{{Var: r.axis.Var, Extent: sym.Const(hi - lo)}}
	if hi-lo == 1 { // no loop: its variable would be declared once for each part
		at, run = map[string]sym.Expr{r.axis.Var: sym.Const(lo)}, nil
	}
	from, copies := v.(loop.Mem)
	if len(r.lane) > 0 {
		size, _ := r.lane[0].Extent.Const()
		if r.steps(r.to) == size && (!copies || r.steps(from.Index) == size) {
			at = map[string]sym.Expr{r.axis.Var: sym.Const(lo), r.lane[0].Var: sym.Var(runOfCopy)}
			run = []te.Axis{{Var: runOfCopy, Extent: sym.Const((hi - lo) * size)}}
		} else {
			run = append(run, r.lane...)
		}
	}
	if copies {
		from.Index = from.Index.Subst(at, facts)
		v = from
	}
	return loops(run, []loop.Stmt{loop.Store{Buf: r.scratch, Index: r.to.Subst(at, facts), Value: asF32(v)}})
}

// steps is how many elements apart the axis' points are; 0 where that varies.
func (r *copyRow) steps(index sym.Expr) int64 {
	e, linear := sym.Coefficient(index, r.axis.Var, r.c.n.facts)
	if n, isConst := e.Const(); linear && isConst {
		return n
	}
	return 0
}
