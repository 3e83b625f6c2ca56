package follow

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// choices are the loops of the stage from i on, the innermost one, of a stage that chooses between what it stores: choices that are the same for all
// of the loop are made around it, and where the others hold from one point to another, and store a constant elsewhere, those points have loops of
// their own. It is nil where there is nothing to choose.
func (f *follower) choices(c *stage, i int) []loop.Stmt {
	l := c.sched.Loops[i]
	if !c.sched.Inside || c.te.Combine != nil || len(c.te.Results) != 1 || i != len(c.sched.Loops)-1 || l.Kind != sched.Serial || l.Edge != sched.Exact {
		return nil
	}
	e, chooses := f.flatten(c, c.te.Results[0]).(te.Select)
	if !chooses {
		return nil
	}
	return f.choice(c, i, e)
}

// choice stores an expression at all points of loop i.
func (f *follower) choice(c *stage, i int, e te.Expr) []loop.Stmt {
	l, n := c.sched.Loops[i], f.extent(c, i)
	x, chooses := e.(te.Select)
	if !chooses {
		return f.stored(c, l.Var, sym.Const(0), n, e)
	}
	var around, within []te.Within
	for _, w := range x.Cond {
		if w.E.Uses(l.Var) || w.Lo.Uses(l.Var) || w.Hi.Uses(l.Var) {
			within = append(within, w)
		} else {
			around = append(around, w)
		}
	}
	_, constant := x.Else.(te.Const)
	switch {
	case len(within) == 0:
		return []loop.Stmt{loop.If{Cond: around, Then: f.choice(c, i, x.Then), Else: f.choice(c, i, x.Else)}}
	case len(around) > 0 || !constant:
		return f.stored(c, l.Var, sym.Const(0), n, e)
	}
	r := &row{f: f, c: c, at: i, name: l.Var}
	lo, hi, together := r.inside(within, n)
	_, from := lo.Const()
	_, to := hi.Const()
	if !together || !from || !to {
		return f.stored(c, l.Var, sym.Const(0), n, e)
	}
	out := f.stored(c, l.Var, sym.Const(0), lo, x.Else)
	out = append(out, f.stored(c, l.Var, lo, hi, x.Then)...)
	return append(out, f.stored(c, l.Var, hi, n, x.Else)...)
}

// stored stores an expression at the points [lo, hi) of a loop.
func (f *follower) stored(c *stage, name string, lo, hi sym.Expr, e te.Expr) []loop.Stmt {
	n := sym.Sub(hi, lo)
	if sym.AtMost(n, 0, f.facts) {
		return nil
	}
	at := map[string]sym.Expr{name: sym.Add(sym.Var(name), lo)}
	if n.Is(1) { // no loop: its variable would be declared once for each part
		at[name] = lo
	}
	to := f.position(c, c.out[0], nil).Subst(at, f.facts)
	e = loop.SubstIndices(e, at, f.facts)
	body := []loop.Stmt{loop.Store{Buf: c.out[0].buf, Index: to, Value: e}}
	if n.Is(1) {
		return body
	}
	return repeat(name, n, body)
}
