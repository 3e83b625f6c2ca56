package grad

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// gathered sums, for each element, the adjoint of the points that load it; false where these are not found by inverting
// the index map.
func gathered(l *loaded, to []te.Axis, t ir.DType) (*te.Stage, bool) {
	p, ok := invert(l, to)
	if !ok {
		return nil, false
	}
	for _, g := range l.load.Guard {
		p.guard(l, g)
	}
	p.simplify()
	e := p.conditional(bound(l.binds, sumOf(l.adj)), func(e te.Expr) te.Expr {
		return te.MapIndices(e, func(x sym.Expr) sym.Expr { return p.index(l, x) })
	})
	s := &te.Stage{Name: "gradient", Axes: to}
	names := map[string]sym.Expr{}
	for d, a := range to {
		names[wanted(d)] = sym.Var(a.Var)
	}
	for i, a := range p.free {
		name := fmt.Sprint("r", i)
		names[a.Var] = sym.Var(name)
		s.Reduce = append(s.Reduce, te.Axis{Var: name, Extent: a.Extent})
	}
	e = te.MapIndices(e, func(x sym.Expr) sym.Expr { return x.Subst(names, nil) })
	if len(s.Reduce) == 0 {
		s.Results = []te.Expr{e}
		return s, true
	}
	s.Combine, s.Values = te.Sum(t), []te.Expr{e}
	s.Results = []te.Expr{te.Acc{Type: t}}
	return s, true
}

// index is an index of the loops at the points: one that the load has is the element's place itself.
func (p *preimage) index(l *loaded, x sym.Expr) sym.Expr {
	for d, e := range l.load.Index {
		if _, isConst := e.Const(); !isConst && x.Equal(e) {
			return sym.Var(wanted(d))
		}
	}
	return x.Subst(p.at, p.facts)
}

// guard makes the load's own guard a condition.
func (p *preimage) guard(l *loaded, g te.Within) {
	w := te.Within{E: p.index(l, g.E), Lo: p.index(l, g.Lo), Hi: p.index(l, g.Hi)}
	if sym.AtLeast(sym.Sub(w.E, w.Lo), 0, p.facts) && sym.AtLeast(sym.Sub(w.Hi, w.E), 1, p.facts) {
		return
	}
	p.conds = append(p.conds, w)
}

// simplify leaves out conditions that are there twice.
func (p *preimage) simplify() {
	var out []te.Within
	for _, c := range p.conds {
		twice := false
		for _, o := range out {
			twice = twice || o.E.Equal(c.E) && o.Lo.Equal(c.Lo) && o.Hi.Equal(c.Hi)
		}
		if !twice {
			out = append(out, c)
		}
	}
	p.conds = out
}

// conditional is the adjoint, at the points, where the conditions hold, and 0 elsewhere. A product of two loads of which one
// lies inside whatever the conditions are remains a product: the other load has the guard.
func (p *preimage) conditional(e te.Expr, mapped func(te.Expr) te.Expr) te.Expr {
	if len(p.conds) == 0 {
		return mapped(e)
	}
	call, ok := e.(te.Call)
	if !ok || call.Fn != "mul" {
		return te.Select{Cond: p.conds, Then: mapped(e), Else: te.Number(e.DType(), 0)}
	}
	args := []te.Expr{mapped(call.Args[0]), mapped(call.Args[1])}
	for k, a := range args {
		if load, isLoad := a.(te.Load); isLoad && len(load.Guard) == 0 && p.certain(call.Args[1-k]) {
			load.Guard, load.Default = p.conds, te.Number(load.Type, 0)
			args[k] = load
			return te.Fn(call.Type, "mul", args...)
		}
	}
	return te.Select{Cond: p.conds, Then: te.Fn(call.Type, "mul", args...), Else: te.Number(e.DType(), 0)}
}

// certain reports whether an expression is a load by loops that are in their ranges whatever the conditions are.
func (p *preimage) certain(e te.Expr) bool {
	load, ok := e.(te.Load)
	if !ok || len(load.Guard) > 0 {
		return false
	}
	for _, x := range load.Index {
		for v, n := range p.extent {
			if lo, hi := p.at[v].Bounds(p.facts); x.Uses(v) && (lo < 0 || hi >= n) {
				return false
			}
		}
	}
	return true
}
