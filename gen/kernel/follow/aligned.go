package follow

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// aligned checks that groups of X lie at multiples of their size, and registers of W either all at such of theirs or where each is loaded from
// any address.
func (f *follower) aligned(c *stage, i int, m *loop.MicroKernel, x, w loop.Mem) error {
	zero := map[string]sym.Expr{}
	for _, l := range c.sched.Loops[i:] {
		zero[l.Var] = sym.Const(0)
	}
	group := c.row.Group
	steps := m.RowStep%group == 0 && m.RunStep%group == 0
	for _, k := range m.K {
		steps = steps && k.XStep%group == 0
	}
	multiple := func(e sym.Expr, of int64) bool { return sym.Mod(e.Subst(zero, f.facts), sym.Const(of), f.facts).Is(0) }
	if !steps || !multiple(x.Index, group) {
		return unsuited("instruction %s loads groups of X at multiples of %d; they are at %s, in steps of %d", c.row.Name, group, x.Index, m.RowStep)
	}
	if m.WholeRegisters() && !multiple(w.Index, m.Lanes()*group) {
		return unsuited("instruction %s loads registers of W at multiples of %d; they are at %s", c.row.Name, m.Lanes()*group, w.Index)
	}
	return nil
}
