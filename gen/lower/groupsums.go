package lower

import (
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// groupSums is a reduction by work-groups: each item of one reduces some points of a few results, and keeps what it has in memory that the
// items share; then an item of each result joins what the others have, in their order.
type groupSums struct {
	env *Env
	r   *reshaped
	// row is the innermost axis of the result, and sum how many points a result is made of.
	row te.Axis
	sum int64
	// parts is how many items share a result, and together how many results a group has.
	parts, together int64
	// along: items that are neighbours reduce neighbouring points of one result; otherwise points of neighbouring results.
	along bool
}

const (
	groupSumsAnchor = "group sums"
	// minParts is how many points of a result an item reduces at least, and maxParts how many items share a result at most: one of them
	// joins what they have.
	minParts, maxParts = 4, 32
	// leastTogether is how many neighbouring results a group has at least, which read a sector of memory, 32 bytes of floats; it has more
	// where there are groups for all units then.
	leastTogether = 8
)

// GroupSums proposes a schedule for a reduction whose results are fewer than a device's items, and follows it.
func GroupSums(b *block.Block, env *Env) (*Lowered, error) {
	o, err := env.Target.WorkGroups()
	if err != nil || o.LocalBytes == 0 || !env.Contractions || !env.wants(groupSumsAnchor) || len(b.Placed) > 0 || b.Stage.Update != nil || !liesInRows(b, env.Layouts) {
		return nil, nil
	}
	r := plain(b.Stage, b.Operands, env.Symbols)
	g := &groupSums{env: env, r: r, sum: 1}
	if r.Combine == nil || !slices.Contains([]string{"sum", "max", "min", "prod"}, r.Combine.Name) || len(r.Values) != 1 || len(r.Reduce) == 0 || !static(r.Reduce) {
		return nil, nil
	}
	for _, a := range r.Reduce {
		n, _ := a.Extent.Const()
		g.sum *= n
		r.facts[a.Var] = sym.Range{Lo: 0, Hi: max(n, 1) - 1}
	}
	if !g.share(o) {
		return nil, nil
	}
	p := g.schedule()
	if !p.shares(o) {
		return nil, nil
	}
	return env.suits(groupSumsAnchor, p, b)
}

// share gives a group's items points and results; false where there are too few of these.
func (g *groupSums) share(o *target.OpenCL) bool {
	items, results := o.GroupItems, int64(1)
	g.row = te.Axis{Var: "", Extent: sym.Const(1)}
	for _, a := range g.r.Axes {
		if !a.Extent.Is(1) {
			g.row = a
		}
		results *= usual(a.Extent)
	}
	apart := false // neighbouring results read neighbours in memory
	te.Walk(g.r.Values[0], func(e te.Expr) {
		if l, ok := e.(te.Load); ok && len(l.Index) > 0 {
			last := l.Index[len(l.Index)-1]
			g.along = g.along || last.Uses(g.r.Reduce[len(g.r.Reduce)-1].Var)
			apart = apart || g.row.Var != "" && last.Uses(g.row.Var)
		}
	})
	g.along = g.along && !apart
	g.parts, g.together = min(items, maxParts), 1
	if !g.along {
		g.together = 1
		for g.together*2 <= min(items/2, 32) && g.together < usual(g.row.Extent) && (g.together < leastTogether || g.together*2*o.Units <= results) {
			g.together *= 2
		}
		g.parts = items / g.together
	}
	for g.parts*minParts > g.sum && g.parts > 1 {
		g.parts /= 2
	}
	return g.parts > 1 && g.row.Var != ""
}

// schedule is the stages, the items' and the results', and where they are computed.
func (g *groupSums) schedule() *proposal {
	p := newProposal(g.env.Symbols)
	each := (g.sum + g.parts - 1) / g.parts
	g.r.facts["r0"] = sym.Range{Lo: 0, Hi: max(each, g.parts) - 1}
	part, all := newGroupStage("part", g.r.facts, sched.Ref{Stage: 1}), newGroupStage(g.r.Name, g.r.facts, sched.Root)
	var groups loopList
	for _, a := range g.r.Axes {
		g.axis(a, part, all, &groups)
	}
	part.sched.At.Loop = groups[len(groups)-1].Var
	g.reduces(part, each)
	g.joins(all, groups)
	p.addStage(&part.Stage, part.sched)
	p.addStage(&all.Stage, all.sched)
	parts := layout.PartsOf(layout.RowMajor, len(part.Axes))
	p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: 0}, Parts: parts, Space: sched.Local})
	readOperands(p, g.r.operands)
	return p
}

// axis gives both stages one of the result: a group has one point of it, or some of the row.
func (g *groupSums) axis(a te.Axis, part, all *groupStage, groups *loopList) {
	if a.Extent.Is(1) {
		part.names[a.Var], all.names[a.Var] = sym.Const(0), sym.Const(0)
		return
	}
	all.names[a.Var] = all.axis(a.Extent)
	v, group := all.Axes[len(all.Axes)-1].Var, batchVar(len(*groups))
	extent, first, points := a.Extent, sym.Var(group), int64(1)
	if a.Var == g.row.Var {
		all.sched.Splits = []sched.Split{{Axis: v, Outer: "g1n", Inner: "g2n", Size: g.together}}
		v = "g1n"
		extent = sym.Scale(sym.CeilDiv(extent, sym.Const(g.together), g.env.Symbols), g.together)
		first, points = sym.Scale(first, g.together), g.together
	}
	groups.add(sched.Group, group, v, 0, sched.Exact)
	part.names[a.Var] = part.region(extent, first, points, a.Extent)
}

// reduces lets each item of a group reduce so many points.
func (g *groupSums) reduces(part *groupStage, each int64) {
	row := part.Axes[len(part.Axes)-1].Var
	share := part.axis(sym.Const(g.parts))
	part.Combine, part.Reduce = g.r.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(each)}}
	k := sym.Add(sym.Scale(sym.Var("r0"), g.parts), share)
	run{axes: g.r.Reduce}.parts(k, part.names, part.facts)
	part.within(k, sym.Const(each*g.parts), sym.Const(g.sum))
	v := part.subst(g.r.Values[0])
	if len(part.there) > 0 {
		v = te.Select{Cond: part.there, Then: v, Else: g.r.Combine.Init[0]}
	}
	part.Values, part.Results = []te.Expr{v}, []te.Expr{te.Acc{Type: v.DType()}}
	var loops loopList
	loops.add(sched.Item, "g7s", part.Axes[len(part.Axes)-1].Var, 0, sched.Exact)
	if g.together > 1 {
		loops.add(sched.Item, "g7n", row, 0, sched.Exact)
	}
	loops.add(sched.Serial, "g7r", "r0", 0, sched.Exact)
	part.sched.Loops = loops
}

// joins lets an item of each result of a group join what the items have.
func (g *groupSums) joins(all *groupStage, loops loopList) {
	all.Combine, all.Reduce = g.r.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.parts)}}
	all.Values = []te.Expr{te.FromStage(0, g.r.Values[0].DType(), append(te.AxisVars(all.Axes), sym.Var("r0"))...)}
	for _, e := range g.r.Results {
		all.Results = append(all.Results, all.subst(e))
	}
	loops.add(sched.Item, "g4n", "g2n", 0, sched.Exact)
	loops.add(sched.Serial, "g8t", "g1n", 1, edge(!sym.Mod(g.row.Extent, sym.Const(g.together), all.facts).Is(0), sched.RoundUp))
	loops.add(sched.Serial, "g8r", "r0", 0, sched.Exact)
	all.sched.Loops = loops
}
