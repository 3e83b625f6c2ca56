package tiled

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// Windows that are dilated along the rows read few of the rows from their first one to their last. A copy of all of these is mostly of what nobody reads, so that
// of a task with one row of results has the rows of its taps alone, side by side: it is X at a row of results and a tap.

// rowOfCopy is the axis of a copy that walks rows of results.
const rowOfCopy = "ir"

// dilated are the taps along the rows of X that a copy has alone.
type dilated struct {
	dim        int // of X
	row        te.Axis
	first      sym.Expr // row of the first result's first tap
	along      int64    // from one result's to the next one's
	step, taps int64    // from one tap's row to the next one's
}

// dilation finds them; nil where a band of rows, of which the points of a task tell, copies no more.
func (c *Laid) dilation(local map[string]int64) *dilated {
	r := c.Row()
	if c.Runs > 1 || r < 0 || r == c.Channel || len(c.merged) > 0 || c.Pooling[0] > 0 || c.Kept > 0 || c.Converts() {
		return nil
	}
	d := &dilated{row: c.Block.Stage.Axes[r]}
	d.dim = slices.IndexFunc(c.X.Index, func(e sym.Expr) bool { return e.Uses(d.row.Var) })
	if d.dim < 0 || layout.PartsOf(c.copyLayout(), len(c.X.Index)).Along(d.dim) > 1 {
		return nil
	}
	e, zero := c.X.Index[d.dim], map[string]sym.Expr{}
	for _, a := range c.Axes() {
		k, linear := sym.Coefficient(e, a.Var, c.Nest.Facts)
		n, isConst := k.Const()
		_, within := local[a.Var]
		switch {
		case !linear || !isConst || n < 0:
			return nil
		case a.Var == d.row.Var:
			d.along = n
		case n > 0 && !within:
			return nil
		default:
			d.step = sym.GCD(d.step, n)
		}
		zero[a.Var] = sym.Const(0)
	}
	one := maps.Clone(local)
	delete(one, d.row.Var)
	rows, ok := c.Walked(e, one)
	all, ok2 := c.Walked(e, local)
	if !ok || !ok2 || d.step < 2 {
		return nil
	}
	d.first, d.taps = e.Subst(zero, c.Nest.Facts), (rows-1)/d.step+1
	if all <= d.taps*max(local[d.row.Var], 1) {
		return nil
	}
	return d
}

// part lets a copy, and what is loaded to it, have that dimension of X as two: rows of results, outermost, and taps.
func (d *dilated) part(k *Padding, x *te.Load, facts sym.Facts) {
	tap, row := &k.Stage.Axes[d.dim], sym.Scale(sym.Var(d.row.Var), d.along)
	x.Index[d.dim] = sym.Add(d.first, sym.Scale(sym.Var(rowOfCopy), d.along), sym.Scale(sym.Var(tap.Var), d.step))
	tap.Extent, k.Shape[d.dim] = sym.Const(d.taps), sym.Const(d.taps)
	at := sym.Sub(sym.Add(k.Index[d.dim], k.First[d.dim]), sym.Add(d.first, row))
	k.Index[d.dim] = sym.FloorDiv(at, sym.Const(d.step), facts)
	k.Stage.Axes = slices.Insert(k.Stage.Axes, 0, te.Axis{Var: rowOfCopy, Extent: d.row.Extent})
	k.First, k.Shape, k.Index = slices.Insert(k.First, 0, sym.Const(0)), slices.Insert(k.Shape, 0, sym.Const(1)), slices.Insert(k.Index, 0, sym.Var(d.row.Var))
	k.Clip = slices.Insert(k.Clip, 0, false)
	parts := layout.Parts{{Axis: 0}}
	for _, p := range k.Parts {
		p.Axis++
		parts = append(parts, p)
	}
	k.Parts = parts
}
