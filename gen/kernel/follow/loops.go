package follow

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// loops are the stage's from number i on.
func (f *follower) loops(c *stage, i int) ([]loop.Stmt, error) {
	switch {
	case i == len(c.sched.Loops):
		return f.store(c, nil)
	case i == 0 && c.te.Combine == nil:
		if out := f.copied(c); out != nil {
			return out, nil
		}
	}
	if out := f.choices(c, i); out != nil {
		return out, nil
	}
	switch l := c.sched.Loops[i]; {
	case l.Kind.Tile():
		return f.tile(c, i)
	case l.Kind == sched.Unroll:
		return f.unrolled(c, i)
	case l.Edge == sched.RoundUp && i == len(c.sched.Loops)-1 && c.te.Combine == nil && c.known(i):
		c.whole = map[string]bool{l.Axis: true}
		out, err := f.lanes(c, i, nil)
		c.whole = nil
		return out, err
	case c.reduces(i) && !c.accumulating():
		return f.reduction(c, i)
	}
	return f.loop(c, i, func() ([]loop.Stmt, error) { return f.inside(c, i) })
}

// known reports whether the extent of what loop i walks is a constant.
func (c *stage) known(i int) bool {
	_, known := c.span(i).Extent.Const()
	return known
}

// inside is the body of loop i.
func (f *follower) inside(c *stage, i int) ([]loop.Stmt, error) {
	at := sched.Ref{Stage: c.n, Loop: c.sched.Loops[i].Var}
	out, err := f.placed(at)
	if err != nil {
		return nil, err
	}
	if inner := f.tasksWithin(c, i); len(out) > 0 && len(inner) > 0 {
		out = []loop.Stmt{loop.Anew(inner, out)}
	}
	body, err := f.loops(c, i+1)
	return slices.Concat(f.firsts(at), out, body), err
}

// tasksWithin are the variables of the loops of tasks within one of tasks.
func (f *follower) tasksWithin(c *stage, i int) []string {
	var out []string
	for k := i + 1; k < len(c.sched.Loops) && c.sched.Loops[k].Kind == sched.Task; k++ {
		out = append(out, c.sched.Loops[k].Var)
	}
	return out
}

// extent is how often loop i runs, in the variables of the loops around.
func (f *follower) extent(c *stage, i int) sym.Expr {
	if e, ok := c.rest[i]; ok {
		return e
	}
	l := c.sched.Loops[i]
	switch x := c.sched.Cut(i); {
	case x != nil && c.coords != nil: // the last part of an axis has fewer
		a := c.span(i).Axes[0]
		return sym.Min(sym.Const(x.Size), sym.Sub(a.Extent, sym.Scale(c.coords[x.Outer], x.Size)), f.facts)
	case l.Size == 0:
		return c.sched.Count(*c.span(i), i, f.facts)
	case l.Edge != sched.Clip:
		return sym.Const(l.Size)
	}
	return sym.Min(sym.Const(l.Size), sym.CeilDiv(f.left(c, i), sym.Const(c.sched.Within(i)), f.facts), f.facts)
}

// left is how many points of its axis are left where loop i begins.
func (f *follower) left(c *stage, i int) sym.Expr {
	p := *c.span(i)
	end := p.Extent
	if k := slices.IndexFunc(c.sched.Regions, func(r sched.Region) bool { return r.Axis == p.Name }); k >= 0 {
		end = sym.Sub(p.Axes[0].Extent, p.First)
	}
	p.Loops = p.Loops[:slices.Index(p.Loops, i)]
	return sym.Sub(end, c.point(p, f.facts))
}

func (c *stage) span(i int) *sched.Span {
	for k := range c.spans {
		if slices.Contains(c.spans[k].Loops, i) {
			return &c.spans[k]
		}
	}
	panic("loop without a span")
}

// point is a span's point in the variables of loops. Filters are those that are stored, in an order of their own: the last group of some that
// share what they keep may have fewer, and lie anywhere.
func (c *stage) point(p sched.Span, facts sym.Facts) sym.Expr {
	at := c.sched.Point(p)
	if c.stored != nil && slices.Contains(p.Loops, c.stored.Filters) {
		at = at.Subst(c.storedFilter(), facts)
	}
	return at.Subst(c.fixed, facts)
}

func (c *stage) reduces(i int) bool { return c.span(i).Reduce }

// loop runs a body for the iterations of loop i.
func (f *follower) loop(c *stage, i int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l := c.sched.Loops[i]
	if _, cut := c.rest[i]; l.Edge == sched.Peel && !cut {
		return f.peeled(c, i, body)
	}
	if c.splits(i) {
		return f.split(c, i, c.peels(i), body)
	}
	return f.iterate(c, i, body)
}

// peels is the loop whose edge is peeled off loop i, which ends with its span; 0 where there is none.
func (c *stage) peels(i int) int {
	l := c.sched.Loops[i]
	ends := l.Size == 0 || l.Edge == sched.Clip || l.Edge == sched.Last
	for k := i + 1; k < len(c.sched.Loops) && ends; k++ {
		if c.sched.Loops[k].Axis == l.Axis {
			if c.sched.Loops[k].Edge == sched.Peel {
				return k
			}
			return 0
		}
	}
	return 0
}

// splits reports whether what is peeled off loop i comes after it.
func (c *stage) splits(i int) bool {
	k := c.sched.Loops[i].Kind
	return c.peels(i) > 0 && k != sched.Task && k != sched.Group && k != sched.Item
}

// split is the iterations of loop i that have all points of loop k, and then the one that has a part of them.
func (f *follower) split(c *stage, i, k int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	if r, regions, last := f.regions(c, i); regions > 0 {
		return f.eachRegion(c, r, regions, func(whole bool) ([]loop.Stmt, error) {
			if whole {
				return f.parted(c, i, k, sym.Const(r.Extent), false, body)
			}
			return f.parted(c, i, k, sym.Const(last), false, body)
		})
	}
	l, here := c.sched.Loops[i], f.left(c, i)
	fixed := c.endsAlike(i)
	if l.Edge == sched.Clip && !fixed {
		here = sym.Min(sym.Const(l.Size*c.sched.Within(i)), here, f.facts)
	}
	return f.parted(c, i, k, here, fixed, body)
}

// parted is the iterations of loop i that have all points of loop k, and then the one that has a part of them, of as many points as are here.
func (f *follower) parted(c *stage, i, k int, here sym.Expr, fixed bool, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l, whole := c.sched.Loops[i], sym.Const(c.sched.Within(i))
	full, rest := sym.FloorDiv(here, whole, f.facts), sym.Mod(here, whole, f.facts)
	defer func() {
		delete(c.rest, k)
		delete(c.fixed, l.Var)
	}()
	var out []loop.Stmt
	if !full.Is(0) {
		c.rest[k] = sym.Const(c.sched.Loops[k].Size)
		all, err := body()
		if err != nil {
			return nil, err
		}
		n := full
		if fixed {
			n = sym.Min(sym.Const(l.Size), full, f.facts)
		}
		out = repeat(l.Var, n, all)
	}
	if rest.Is(0) {
		return out, nil
	}
	c.rest[k], c.fixed[l.Var] = sym.CeilDiv(rest, sym.Const(c.sched.Within(k)), f.facts), full
	part, err := body()
	if outer := c.span(i).Loops[0]; fixed {
		if n, _ := c.sched.Count(*c.span(i), outer, f.facts).Const(); n > 1 {
			part = []loop.Stmt{loop.If{Cond: []te.Within{{E: sym.Var(c.sched.Loops[outer].Var), Lo: sym.Const(n - 1), Hi: sym.Const(n)}}, Then: part}}
		}
	}
	return append(out, part...), err
}

// endsAlike reports whether of iterations of the loop around loop i only the last one has a part of an iteration, of a constant size.
func (c *stage) endsAlike(i int) bool {
	l, p := c.sched.Loops[i], c.span(i)
	_, known := p.Extent.Const()
	region := slices.ContainsFunc(c.sched.Regions, func(r sched.Region) bool { return r.Axis == p.Name })
	return l.Edge == sched.Last || l.Edge == sched.Clip && known && !region && len(p.Loops) > 1 && p.Loops[1] == i && c.sched.Loops[p.Loops[0]].Size == 0
}

// repeat is a loop of a body.
func repeat(name string, n sym.Expr, body []loop.Stmt) []loop.Stmt {
	if len(body) == 0 {
		return nil
	}
	if n.Is(1) {
		return append([]loop.Stmt{loop.Index{Var: name, Value: sym.Const(0)}}, body...)
	}
	return []loop.Stmt{loop.For{Var: name, Extent: n, Body: body}}
}

func (f *follower) iterate(c *stage, i int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l, n := c.sched.Loops[i], f.extent(c, i)
	if l.Stored && i == c.stored.Kernels {
		return f.kernels(c, body)
	}
	inner, err := body()
	if err != nil {
		return nil, err
	}
	if l.Stored && i == c.stored.Filters {
		inner = f.filter(c, inner)
	}
	inner = f.located(c, i, inner)
	switch l.Kind {
	case sched.Task, sched.Group:
		f.k.Grid = append([]te.Axis{{Var: l.Var, Extent: n}}, f.k.Grid...)
		return inner, nil
	case sched.Item:
		return []loop.Stmt{loop.For{Var: l.Var, Extent: n, Body: inner, Items: true}}, nil
	}
	around := repeat(l.Var, n, inner)
	if len(around) == 1 {
		if x, ok := around[0].(loop.For); ok {
			x.Stride = f.apart(c, i)
			around[0] = x
		}
	}
	return slices.Concat(f.claimed(c, l.Var), f.fetched(l.Var, inner), around), nil
}

// apart is how far apart iterations of loop i store what those of the loop within it, which are written out, store beside each other; 0 where they
// do not.
func (f *follower) apart(c *stage, i int) int64 {
	if i+1 >= len(c.sched.Loops) || c.sched.Loops[i+1].Kind != sched.Unroll || len(c.out) > 1 {
		return 0
	}
	at := f.position(c, c.out[0], nil)
	outer, ok := sym.Coefficient(at, c.sched.Loops[i].Var, f.facts)
	inner, ok1 := sym.Coefficient(at, c.sched.Loops[i+1].Var, f.facts)
	n, _ := outer.Const()
	if points, _ := f.extent(c, i+1).Const(); !ok || !ok1 || !inner.Is(1) || n != points {
		return 0
	}
	return n
}

// peeled is code for a whole iteration of the loops around, and code of its own for the part that the last one has.
func (f *follower) peeled(c *stage, i int, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	l, within, left := c.sched.Loops[i], c.sched.Within(i), f.left(c, i)
	whole := l.Size * within
	if sym.AtLeast(left, whole, f.facts) {
		return f.iterate(c, i, body)
	}
	then, err := f.iterate(c, i, body)
	if err != nil {
		return nil, err
	}
	c.rest[i] = sym.CeilDiv(left, sym.Const(within), f.facts)
	if n, ok := c.span(i).Extent.Const(); ok {
		c.rest[i] = sym.Const((n%whole + within - 1) / within)
	}
	otherwise, err := f.iterate(c, i, body)
	delete(c.rest, i)
	return []loop.Stmt{loop.If{Cond: []te.Within{{E: left, Lo: sym.Const(whole), Hi: sym.Add(c.span(i).Extent, sym.Const(1))}}, Then: then, Else: otherwise}}, err
}
