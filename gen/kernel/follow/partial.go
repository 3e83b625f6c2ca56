package follow

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// partial is a call of a micro-kernel within loops of the reduction: it adds the products of its points to the stage's accumulators, which
// loops of results hold apart.
func (f *follower) partial(c *stage, i int, m *loop.MicroKernel, x, w loop.Mem) ([]loop.Stmt, error) {
	if c.single || !c.sumsStored() && slices.ContainsFunc(c.sched.Loops[i:], func(l sched.Loop) bool { return l.Edge == sched.Peel }) {
		return nil, unsuited("a tile within a loop of the reduction; want whole tiles over all points")
	}
	zero, wide := map[string]sym.Expr{}, sym.Const(1)
	for _, l := range c.sched.Loops[i:] {
		zero[l.Var] = sym.Const(0)
	}
	first := c.acc.index.Subst(zero, f.facts)
	at := first
	for k := len(c.sched.Loops) - 1; k >= i; k-- { // as the micro-kernel has them: rows, then registers, then lanes
		if l := c.sched.Loops[k]; !c.reduces(k) {
			at, wide = sym.Add(at, sym.Mul(wide, sym.Var(l.Var))), sym.Mul(wide, f.extent(c, k))
		}
	}
	if inOrder := slices.IsSortedFunc(c.sched.Loops[i:], func(a, b sched.Loop) int { return int(a.Kind) - int(b.Kind) }); !inOrder || !at.Equal(c.acc.index) {
		return nil, unsuited("a tile within a loop of the reduction; want its rows, registers and lanes in this order, before the loops of the sum")
	}
	m.Adds = true
	if c.sumsStored() {
		c.firstKernel(zero)
	}
	tile := loop.Tile{Micro: m, X: x.Buf, XAt: x.Index.Subst(zero, f.facts), W: w.Buf, At: w.Index.Subst(zero, f.facts), Acc: c.acc.bufs[0], AccAt: first}
	if c.sumsStored() {
		f.kernelsOf(c, &tile)
	}
	return []loop.Stmt{tile}, nil
}
