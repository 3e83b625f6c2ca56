package follow

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// stores keeps the sums of a tile, of the loops of results: those of points that are there. Of an axis of which only the run knows how
// far it goes, all are kept where it goes on as far as the tile.
func (f *follower) stores(c *stage, i int, results []int, sums *accumulators, zero map[string]sym.Expr) ([]loop.Stmt, error) {
	var whole []te.Within
	asked := map[string]bool{} // spans whose ends lanes find
	all := map[string]bool{}
	for _, p := range c.spans {
		all[p.Name] = true
		if _, known := p.Extent.Const(); known {
			asked[p.Name] = true
			continue
		}
		need := int64(1)
		for _, k := range p.Loops {
			if k >= i && !p.Reduce {
				need *= max(c.sched.Loops[k].Size, 1)
			}
		}
		left := sym.Sub(p.Extent, c.point(p, f.facts).Subst(zero, f.facts))
		if c.roundsUp(p) && !sym.AtLeast(left, need, f.facts) {
			whole = append(whole, te.Within{E: left, Lo: sym.Const(need), Hi: sym.Add(p.Extent, sym.Const(1))})
		}
	}
	defer func() { c.whole = nil }()
	c.whole = all
	then, err := f.kept(c, results, sums)
	if err != nil || whole == nil {
		return then, err
	}
	c.whole = asked
	otherwise, err := f.kept(c, results, sums)
	return []loop.Stmt{loop.If{Cond: whole, Then: then, Else: otherwise}}, err
}

// claimResults asks for the lines that a tile is going to store, whose loops of results are given: they come while it sums, to the second-level cache.
// As many requests at once to the first-level one would hold up the loads of what the tile sums.
func (f *follower) claimResults(c *stage, results []int) []loop.Stmt {
	if !c.sched.Tile.Claims {
		return nil
	}
	var out []loop.Stmt
	for _, v := range c.out {
		line, at := loop.CacheLine/int64(v.buf.Type.Size()), map[string]sym.Expr{}
		type times struct {
			name string
			n    sym.Expr
		}
		var around []times // but those of one iteration, whose variables the stores bind
		for _, i := range results {
			l, n := c.sched.Loops[i], f.extent(c, i)
			if l.Kind == sched.Lanes {
				n, at[l.Var] = sym.CeilDiv(n, sym.Const(line), f.facts), sym.Scale(sym.Var(l.Var), line)
			}
			if n.Is(1) {
				at[l.Var] = sym.Const(0)
			} else {
				around = append(around, times{l.Var, n})
			}
		}
		body := []loop.Stmt{loop.Claim{Buf: v.buf, Index: f.position(c, v, nil).Subst(at, f.facts), Later: true}}
		for _, l := range slices.Backward(around) {
			body = repeat(l.name, l.n, body)
		}
		out = append(out, body...)
	}
	return out
}

// kept stores sums: the loops of results are rows, columns and lanes, in this order, but for rows that lie together.
func (f *follower) kept(c *stage, results []int, sums *accumulators) ([]loop.Stmt, error) {
	l, inner := c.sched.Loops[results[0]], results[1:]
	if l.Kind == sched.Lanes {
		return f.lanes(c, results[0], sums)
	}
	body, err := f.kept(c, inner, sums)
	out := repeat(l.Var, f.extent(c, results[0]), body)
	if l.Kind == sched.Columns {
		out = append(out, f.padding(c, inner[len(inner)-1])...)
	}
	return out, err
}

// lanes stores the sums of a column's lanes, which are loop i. Where the axis ends within a column, it stores those that are there, and
// zeros where storage goes on.
func (f *follower) lanes(c *stage, i int, sums *accumulators) ([]loop.Stmt, error) {
	l, p := c.sched.Loops[i], *c.span(i)
	one, err := f.store(c, sums)
	if err != nil {
		return nil, err
	}
	wide := f.extent(c, i)
	ahead := f.fetched(l.Var, one)
	all := slices.Concat(ahead, repeat(l.Var, wide, one))
	size, _ := wide.Const()
	extent, known := p.Extent.Const()
	left, end := extent%size, c.rounded(p)
	if !known || end == extent {
		return all, nil
	}
	first := c.point(p, f.facts).Subst(map[string]sym.Expr{l.Var: sym.Const(0)}, f.facts)
	below := func(n int64) []te.Within { return []te.Within{{E: first, Lo: sym.Const(0), Hi: sym.Const(n)}} }
	var otherwise []loop.Stmt
	if end-extent >= size { // columns beyond the axis
		otherwise = repeat(l.Var, wide, f.zeros(c, p, nil))
		if stored := f.padded(c, p); stored < end && otherwise != nil {
			otherwise = []loop.Stmt{loop.If{Cond: below(stored), Then: otherwise}}
		}
	}
	if left > 0 {
		part := slices.Concat(ahead, repeat(l.Var, sym.Const(left), one))
		beyond := map[string]sym.Expr{l.Var: sym.Add(sym.Var(l.Var), sym.Const(left))}
		part = append(part, repeat(l.Var, sym.Const(min(size-left, f.padded(c, p)-extent)), f.zeros(c, p, beyond))...)
		if end-extent >= size {
			part = []loop.Stmt{loop.If{Cond: below(extent), Then: part, Else: otherwise}}
		}
		otherwise = part
	}
	if extent < size {
		return otherwise, nil
	}
	return []loop.Stmt{loop.If{Cond: below(extent - left), Then: all, Else: otherwise}}, nil
}

// zeros are stored where storage goes on beyond a span, where variables of loops are as m says.
func (f *follower) zeros(c *stage, p sched.Span, m map[string]sym.Expr) []loop.Stmt {
	var out []loop.Stmt
	for _, v := range c.out {
		if c.reach(v, p) > 0 { // beyond a part of an axis is the next one
			out = append(out, loop.Store{Buf: v.buf, Index: f.position(c, v, nil).Subst(m, f.facts), Value: te.Number(v.buf.Type, 0)})
		}
	}
	return out
}

// padded is how far storage goes along the axis of a span, of any result.
func (f *follower) padded(c *stage, p sched.Span) int64 {
	most, _ := p.Extent.Const()
	for _, v := range c.out {
		most = max(most, c.reach(v, p))
	}
	return most
}

// padding stores the zeros beyond the last part of an axis that is split, which the tiles of parts leave where these are no whole
// blocks of storage. Lanes are loop i.
func (f *follower) padding(c *stage, i int) []loop.Stmt {
	p := *c.span(i)
	if p.Name == p.Axes[0].Var || len(p.Axes) > 1 {
		return nil
	}
	axis, l := p.Axes[0], c.sched.Loops[i]
	all, _ := axis.Extent.Const()
	var out []loop.Stmt
	for _, v := range c.out {
		d := slices.IndexFunc(c.te.Axes, func(a te.Axis) bool { return a.Var == axis.Var })
		if reach := v.Parts.Reach(d, all); reach > all {
			at := map[string]sym.Expr{axis.Var: sym.Add(sym.Const(all), sym.Var(l.Var))}
			out = append(out, repeat(l.Var, sym.Const(reach-all), []loop.Stmt{loop.Store{Buf: v.buf, Index: f.position(c, v, at), Value: te.Number(v.buf.Type, 0)}})...)
		}
	}
	if out == nil {
		return nil
	}
	var cond []te.Within
	for _, q := range c.spans {
		if q.Axes[0].Var == axis.Var && len(q.Loops) > 0 && !c.sched.Loops[q.Loops[0]].Kind.Tile() {
			n := int64(1) // the last part, and the first tile of it
			if q.Name != p.Name {
				n, _ = q.Extent.Const()
			}
			cond = append(cond, te.Within{E: sym.Var(c.sched.Loops[q.Loops[0]].Var), Lo: sym.Const(n - 1), Hi: sym.Const(n)})
		}
	}
	return []loop.Stmt{loop.If{Cond: cond, Then: out}}
}

// rowsTogether puts a loop of rows that lie side by side in the results' storage, for each lane, right around the loop of lanes.
func (c *stage) rowsTogether(results []int) []int {
	last := len(results) - 1
	k := slices.IndexFunc(results, func(k int) bool { return c.sched.Loops[k].Kind == sched.Rows && c.together(k) })
	if k < 0 || c.sched.Loops[results[last]].Kind != sched.Lanes {
		return results
	}
	row := results[k]
	return slices.Concat(results[:k], results[k+1:last], []int{row}, results[last:])
}

// together reports whether a loop walks what is the innermost part of the results' storage, and is not over runs of it.
func (c *stage) together(k int) bool {
	l, p := c.sched.Loops[k], c.span(k)
	if c.sched.Within(k) != 1 {
		return false
	}
	return !slices.ContainsFunc(c.out, func(v *stored) bool {
		parts := v.Parts
		if len(parts) == 0 || parts[len(parts)-1].Size != l.Size || l.Size == 0 || p.Name != p.Axes[0].Var {
			return true
		}
		return c.te.Axes[parts[len(parts)-1].Axis].Var != p.Name
	})
}
