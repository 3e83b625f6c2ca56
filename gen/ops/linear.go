package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// reshapeIndex are the indices of a tensor of shape from at a point of the same
// elements in shape to, both row-major. Runs of axes with equal products on both
// sides are mapped apart, so that what a reshape leaves alone stays a plain axis.
func (c *Ctx) reshapeIndex(from, to ir.Shape) []sym.Expr {
	index := make([]sym.Expr, len(from))
	var fs, ts []int
	for k, d := range from {
		if d.Is(0) { // no elements: nothing is read
			return index
		}
		if !d.Is(1) {
			fs = append(fs, k)
		}
	}
	for k, d := range to {
		if d.Is(0) {
			return index
		}
		if !d.Is(1) {
			ts = append(ts, k)
		}
	}
	facts := c.with(axes(to))
	for len(fs) > 0 {
		nf, nt := c.commonRun(from, to, fs, ts)
		c.mapRun(index, from, to, fs[:nf], ts[:nt], facts)
		fs, ts = fs[nf:], ts[nt:]
	}
	return index
}

// commonRun is how many of the next axes on each side hold equally many elements.
func (c *Ctx) commonRun(from, to ir.Shape, fs, ts []int) (nf, nt int) {
	if len(ts) == 0 {
		return len(fs), 0
	}
	nf, nt = 1, 1
	pf, pt := from[fs[0]], to[ts[0]]
	for !pf.Equal(pt) {
		switch {
		case c.shorter(pf, pt) && nf < len(fs):
			pf = sym.Mul(pf, from[fs[nf]])
			nf++
		case c.shorter(pt, pf) && nt < len(ts):
			pt = sym.Mul(pt, to[ts[nt]])
			nt++
		default:
			return len(fs), len(ts)
		}
	}
	return nf, nt
}

// shorter reports whether product a may grow to b by further factors.
func (c *Ctx) shorter(a, b sym.Expr) bool {
	x, okA := a.Const()
	y, okB := b.Const()
	if okA && okB {
		return x < y
	}
	q := sym.FloorDiv(b, a, c.Facts)
	return sym.Mul(q, a).Equal(b)
}

// mapRun sets the indices of the axes fs of from: the linear position in the axes ts
// of to, taken apart.
func (c *Ctx) mapRun(index []sym.Expr, from, to ir.Shape, fs, ts []int, facts sym.Facts) {
	at := sym.Const(0)
	for _, k := range ts {
		at = sym.Add(sym.Mul(at, to[k]), iv(k))
	}
	stride := sym.Const(1)
	for i := len(fs) - 1; i >= 0; i-- {
		k := fs[i]
		index[k] = sym.FloorDiv(at, stride, facts)
		if i > 0 {
			index[k] = sym.Mod(index[k], from[k], facts)
		}
		stride = sym.Mul(stride, from[k])
	}
}

// load0 loads operand 0.
func (c *Ctx) load0(index ...sym.Expr) te.Load { return te.Operand(0, c.Type(0), index...) }
