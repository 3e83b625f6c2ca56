package follow

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// first is where what is computed of a span begins: the variable of its region, if it has one.
func (f *follower) first(s *sched.Stage, p sched.Span) sym.Expr {
	k := slices.IndexFunc(s.Regions, func(r sched.Region) bool { return r.Axis == p.Name && r.Var != "" })
	if k < 0 {
		return p.First
	}
	_, hi := p.Axes[0].Extent.Bounds(f.facts)
	f.facts[s.Regions[k].Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	return sym.Var(s.Regions[k].Var)
}

// firsts binds the variables of regions whose first points change with the iterations of a loop.
func (f *follower) firsts(at sched.Ref) []loop.Stmt {
	var out []loop.Stmt
	for n := range f.s.Stages {
		for _, r := range f.s.Stages[n].Regions {
			if r.Var != "" && f.changes(n, r.First) == at {
				out = append(out, loop.Index{Var: r.Var, Value: r.First})
			}
		}
	}
	return out
}

// changes is the innermost loop around a stage that an index uses, or the one where the stage is placed.
func (f *follower) changes(n int, e sym.Expr) sched.Ref {
	for at := f.s.Stages[n].At; at != sched.Root; at = f.s.Stages[at.Stage].At {
		loops := f.s.Stages[at.Stage].Loops
		for i := slices.IndexFunc(loops, func(l sched.Loop) bool { return l.Var == at.Loop }); i >= 0; i-- {
			if e.Uses(loops[i].Var) {
				return sched.Ref{Stage: at.Stage, Loop: loops[i].Var}
			}
		}
	}
	return f.s.Stages[n].At
}

// regions is, of an axis of which a loop around computes a region at a time, how many there are, and how many points the last one has; 0
// where only the run knows.
func (f *follower) regions(c *stage, i int) (r *sched.Region, n, last int64) {
	p := c.span(i)
	k := slices.IndexFunc(c.sched.Regions, func(r sched.Region) bool { return r.Axis == p.Name })
	extent, known := p.Axes[0].Extent.Const()
	if k < 0 || !known || p.Loops[0] != i || c.sched.Loops[i].Edge != sched.Clip {
		return nil, 0, 0
	}
	r = &c.sched.Regions[k]
	if _, walked := walker(*r); !walked {
		return nil, 0, 0
	}
	n = (extent + r.Extent - 1) / r.Extent
	return r, n, extent - (n-1)*r.Extent
}

// walker is the loop whose iterations are one region each, one after the other.
func walker(r sched.Region) (name string, ok bool) {
	terms, c := r.First.Terms()
	if len(terms) != 1 || c != 0 || len(terms[0].Atoms) != 1 {
		return "", false
	}
	name = terms[0].Atoms[0].Name
	return name, name != "" && r.First.Equal(sym.Scale(sym.Var(name), r.Extent))
}

// eachRegion is code for whole regions, and code of its own for the last one.
func (f *follower) eachRegion(c *stage, r *sched.Region, n int64, body func(whole bool) ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	last, err := body(false)
	if err != nil || n == 1 {
		return last, err
	}
	whole, err := body(true)
	name, _ := walker(*r)
	return []loop.Stmt{loop.If{Cond: []te.Within{{E: sym.Var(name), Lo: sym.Const(0), Hi: sym.Const(n - 1)}}, Then: whole, Else: last}}, err
}

// located binds the joined parts of split axes where loop i, the innermost one of the join, has found their point.
func (f *follower) located(c *stage, i int, body []loop.Stmt) []loop.Stmt {
	p := c.span(i)
	parts := c.sched.JoinedParts(*p)
	if len(parts) == 0 || p.Loops[len(p.Loops)-1] != i {
		return body
	}
	var out []loop.Stmt
	for _, a := range parts {
		out = append(out, loop.Index{Var: a.Var, Value: c.parts[a.Var].Subst(c.fixed, f.facts)})
	}
	return append(out, body...)
}
