package follow

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// points gives each axis in the variables of spans, and their ranges.
func (f *follower) points(c *stage) {
	c.coords = c.sched.Coordinates(c.spans, f.facts)
	c.logical, c.facts = map[string]sym.Expr{}, maps.Clone(f.facts)
	c.parts = map[string]sym.Expr{}
	f.partRanges(c)
	for _, p := range c.spans {
		lo, hi := p.First.Bounds(f.facts)
		if parts := c.sched.JoinedParts(p); len(p.Axes) > 1 || len(parts) > 0 {
			for _, a := range p.Axes {
				_, n := a.Extent.Bounds(f.facts)
				c.logical[a.Var], c.facts[a.Var] = sym.Var(a.Var), sym.Range{Lo: 0, Hi: max(n, 1) - 1}
			}
			for _, a := range parts { // they are bound where the loops have found them
				c.parts[a.Var] = c.coords[a.Var]
				x := c.sched.Splits[slices.IndexFunc(c.sched.Splits, func(x sched.Split) bool { return x.Outer == a.Var })]
				c.coords[a.Var], c.coords[x.Axis] = sym.Var(a.Var), sym.Add(sym.Scale(sym.Var(a.Var), x.Size), c.coords[x.Inner])
			}
			continue
		}
		_, n := p.Extent.Bounds(f.facts)
		if p.Reduce && c.roundsUp(p) {
			n = c.rounded(p)
		}
		c.facts[p.Name] = sym.Range{Lo: lo, Hi: hi + max(n, 1) - 1}
		v := p.Axes[0].Var
		c.logical[v] = sym.Add(c.logical[v], sym.Scale(sym.Var(p.Name), p.Step))
		if p.Name != v && p.Step == 1 { // once, with the inner part
			c.logical[v] = sym.Add(c.logical[v], c.sched.Begin(v))
		}
	}
	c.sched.Whole(c.spans, c.logical)
	if c.stored != nil {
		f.filterPoint(c)
	}
}

// partRanges notes those of joined parts of split axes, which have variables of their own.
func (f *follower) partRanges(c *stage) {
	for _, p := range c.spans {
		for _, a := range c.sched.JoinedParts(p) {
			_, n := a.Extent.Bounds(f.facts)
			f.facts[a.Var] = sym.Range{Lo: 0, Hi: max(n, 1) - 1}
		}
	}
}

// place puts loops in place of points in an index.
func (f *follower) place(c *stage, e sym.Expr) sym.Expr {
	return c.sched.Looped(e, c.spans, c.coords, c.fixed, f.facts)
}

// rounded is how many points loops of a constant number compute of a span that they round up.
func (c *stage) rounded(p sched.Span) int64 {
	n, _ := p.Extent.Const()
	whole := max(c.sched.Loops[p.Loops[0]].Size, 1) * c.sched.Within(p.Loops[0])
	return (n + whole - 1) / whole * whole
}

// placedExpr puts loops in place of points in an expression.
func (f *follower) placedExpr(c *stage, e te.Expr) te.Expr {
	within := func(ws []te.Within) []te.Within {
		out := make([]te.Within, len(ws))
		for i, w := range ws {
			out[i] = te.Within{E: f.place(c, w.E), Lo: f.place(c, w.Lo), Hi: f.place(c, w.Hi)}
		}
		return out
	}
	return te.Map(e, func(e te.Expr) te.Expr {
		switch x := e.(type) {
		case te.Index:
			x.E = f.place(c, x.E)
			return x
		case te.Let:
			x.Lo, x.Hi = f.place(c, x.Lo), f.place(c, x.Hi)
			return x
		case te.Select:
			x.Cond = within(x.Cond)
			return x
		}
		return e
	})
}

// flatten replaces loads by accesses of memory, and drops conditions that are certain.
func (f *follower) flatten(c *stage, e te.Expr) te.Expr {
	e = te.Map(f.separate(c, te.SubstIndices(e, c.logical, c.facts)), func(e te.Expr) te.Expr {
		switch x := e.(type) {
		case te.Select:
			return choose(x.Cond, x.Then, x.Else, c.facts)
		case te.Load:
			if c.inside {
				return f.load(c, x)
			}
			return choose(f.needed(x, c.facts), f.load(c, x), x.Default, c.facts)
		}
		return e
	})
	return f.placedExpr(c, e)
}

// element is what flatten makes of a load without integers that are bound: where it lies is found once for code with conditions and code
// without them.
func (f *follower) element(c *stage, l te.Load) te.Expr {
	if len(l.Index) == 0 {
		return f.flatten(c, l)
	}
	x := te.SubstIndices(l, c.logical, c.facts).(te.Load)
	m, ok := c.mems[&l.Index[0]]
	if !ok {
		m = f.load(c, x)
	}
	if c.mems != nil {
		c.mems[&l.Index[0]] = m
	}
	if c.inside {
		return m
	}
	return f.placedExpr(c, choose(f.needed(x, c.facts), m, x.Default, c.facts))
}

// position is where a result's element lies, at the point of the loops but for axes that are given.
func (f *follower) position(c *stage, v *stored, at map[string]sym.Expr) sym.Expr {
	index := make([]sym.Expr, len(c.te.Axes))
	for i, a := range c.te.Axes {
		e, given := at[a.Var]
		if !given {
			e = c.logical[a.Var]
		}
		index[i] = f.local(c, v, i, e)
	}
	return f.offset(c, v, index)
}

// offset is where the element of an index lies, in the variables of loops.
func (f *follower) offset(c *stage, v *stored, index []sym.Expr) sym.Expr {
	return sym.Add(f.withoutMargin(c, v, index), sym.Const(v.Margin.Before))
}

// withoutMargin is how many elements the element of an index lies behind the first one.
func (f *follower) withoutMargin(c *stage, v *stored, index []sym.Expr) sym.Expr {
	for _, p := range c.spans {
		if len(p.Axes) > 1 && slices.ContainsFunc(index, func(e sym.Expr) bool { return e.Uses(p.Axes[0].Var) || e.Uses(p.Axes[len(p.Axes)-1].Var) }) {
			return f.place(c, v.Parts.Offset(v.shape, index, c.facts)) // which may walk them as one
		}
	}
	at := make([]sym.Expr, len(index))
	for i, e := range index {
		at[i] = f.place(c, e)
	}
	placed := v.Parts.Physical(at, f.facts)
	if slices.ContainsFunc(placed, divided) {
		points := v.Parts.Physical(index, c.facts)
		for i, e := range placed {
			if divided(e) && !divided(points[i]) { // where only the loops of an axis together end with it
				placed[i] = f.place(c, points[i])
			}
		}
	}
	return layout.Joined(v.Parts.Dims(v.shape), placed)
}

// divided reports whether an expression has quotients, remainders or the like.
func divided(e sym.Expr) bool {
	terms, _ := e.Terms()
	return slices.ContainsFunc(terms, func(t sym.Term) bool {
		return slices.ContainsFunc(t.Atoms, func(a *sym.Atom) bool { return a.Kind != sym.AtomVar })
	})
}

// local is a coordinate of a stage's axis within what is stored.
func (f *follower) local(c *stage, v *stored, axis int, e sym.Expr) sym.Expr {
	if v.Fold.Points > 0 && v.Fold.Axis == axis {
		return sym.Mod(e, sym.Const(int64(v.Fold.Points)), f.facts)
	}
	if slices.ContainsFunc(c.sched.Regions, func(r sched.Region) bool { return r.Axis == c.te.Axes[axis].Var && r.Var != "" }) {
		return sym.Const(0)
	}
	return sym.Sub(e, c.first[axis])
}

// load reads an operand or what a stage has stored.
func (f *follower) load(c *stage, x te.Load) loop.Mem {
	if !x.Source.Stage {
		v := f.in[x.Source.N]
		if v.enc != nil {
			return loop.Mem{Buf: v.enc.values, Index: v.enc.at}
		}
		return loop.Mem{Buf: v.buf, Index: f.offset(c, v, x.Index)}
	}
	of := f.at[x.Source.N]
	v := of.out[x.Source.Part]
	index := make([]sym.Expr, len(x.Index))
	for i, e := range x.Index {
		index[i] = f.local(of, v, i, e)
	}
	return loop.Mem{Buf: v.buf, Index: f.offset(c, v, index)}
}

// needed are the conditions of a load's guard but for those beyond which storage holds the default, a zero.
func (f *follower) needed(x te.Load, facts sym.Facts) []te.Within {
	zero, isConst := x.Default.(te.Const)
	if x.Source.Stage || !isConst || zero.Bits != 0 {
		return x.Guard
	}
	v := f.in[x.Source.N]
	return slices.DeleteFunc(slices.Clone(x.Guard), func(w te.Within) bool {
		d := slices.IndexFunc(x.Index, func(e sym.Expr) bool { return e.Equal(w.E) })
		if d < 0 || !w.Hi.Equal(v.shape[d]) || !sym.AtLeast(sym.Sub(w.E, w.Lo), 0, facts) {
			return false
		}
		_, hi := w.E.Bounds(facts)
		n, known := w.Hi.Const()
		return known && hi < v.Parts.Reach(d, n)
	})
}

// choose is Then under the conditions that are not certain.
func choose(cond []te.Within, then, otherwise te.Expr, facts sym.Facts) te.Expr {
	left := uncertain(cond, facts)
	if len(left) == 0 {
		return then
	}
	return te.Select{Cond: left, Then: then, Else: otherwise}
}

// uncertain are the conditions that may not hold.
func uncertain(cond []te.Within, facts sym.Facts) []te.Within {
	var left []te.Within
	for _, w := range cond {
		if !sym.AtLeast(sym.Sub(w.E, w.Lo), 0, facts) || !sym.AtLeast(sym.Sub(w.Hi, w.E), 1, facts) {
			left = append(left, w)
		}
	}
	return left
}

// separate gives each bound integer a variable of its own, with its range: in a kernel all of them share one scope.
func (f *follower) separate(c *stage, e te.Expr) te.Expr {
	facts := te.LetFacts(e, c.facts)
	return te.Map(e, func(e te.Expr) te.Expr {
		x, ok := e.(te.Let)
		if !ok {
			return e
		}
		v := fmt.Sprintf("b%d", f.lets)
		f.lets++
		lo, _ := x.Lo.Bounds(facts)
		_, hi := x.Hi.Bounds(facts)
		facts[v] = sym.Range{Lo: lo, Hi: hi}
		f.facts[v], c.facts[v] = facts[v], facts[v]
		x.Body = te.SubstIndices(x.Body, map[string]sym.Expr{x.Var: sym.Var(v)}, facts)
		x.Var = v
		return x
	})
}
