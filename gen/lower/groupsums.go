package lower

import (
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
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
	if !g.share(o.GroupItems) {
		return nil, nil
	}
	p := g.schedule()
	l, err := env.proposed(groupSumsAnchor, tile{}, p, b)
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	return l, nil
}

// share gives a group's items points and results; false where there are too few of these.
func (g *groupSums) share(items int64) bool {
	g.row = te.Axis{Var: "", Extent: sym.Const(1)}
	for _, a := range g.r.Axes {
		if !a.Extent.Is(1) {
			g.row = a
		}
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
		for g.together*2 <= min(items/2, 32) && g.together < usual(g.row.Extent) {
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
	typ := g.r.Values[0].DType()
	each := (g.sum + g.parts - 1) / g.parts
	part := &te.Stage{Name: "part", Combine: g.r.Combine, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(each)}}, Results: []te.Expr{te.Acc{Type: typ}}}
	all := &te.Stage{Name: g.r.Name, Combine: g.r.Combine, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(g.parts)}}}
	ps, as := sched.Stage{At: sched.Ref{Stage: 1}}, sched.Stage{At: sched.Root}
	names, results, facts := map[string]sym.Expr{}, map[string]sym.Expr{}, g.r.facts
	facts["r0"] = sym.Range{Lo: 0, Hi: max(each, g.parts) - 1}
	var read []sym.Expr
	var loops loopList
	var there []te.Within
	for _, a := range g.r.Axes {
		if a.Extent.Is(1) {
			names[a.Var], results[a.Var] = sym.Const(0), sym.Const(0)
			continue
		}
		v := fmt.Sprintf("i%d", len(all.Axes))
		all.Axes = append(all.Axes, te.Axis{Var: v, Extent: a.Extent})
		results[a.Var] = sym.Var(v)
		group, region, extent := batchVar(len(loops)), int64(1), a.Extent
		first := sym.Var(group)
		if a.Var == g.row.Var {
			as.Splits = []sched.Split{{Axis: v, Outer: "g1n", Inner: "g2n", Size: g.together}}
			loops.add(sched.Group, group, "g1n", 0, sched.Exact)
			extent = sym.Scale(sym.CeilDiv(extent, sym.Const(g.together), g.env.Symbols), g.together)
			first, region = sym.Scale(first, g.together), g.together
		} else {
			loops.add(sched.Group, group, v, 0, sched.Exact)
		}
		w := fmt.Sprintf("i%d", len(part.Axes))
		part.Axes = append(part.Axes, te.Axis{Var: w, Extent: extent})
		_, hi := extent.Bounds(facts)
		facts[w] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		ps.Regions = append(ps.Regions, sched.Region{Axis: w, First: first, Extent: region})
		names[a.Var], read = sym.Var(w), append(read, sym.Var(v))
		if !extent.Equal(a.Extent) {
			there = append(there, te.Within{E: sym.Var(w), Lo: sym.Const(0), Hi: a.Extent})
		}
	}
	share := fmt.Sprintf("i%d", len(part.Axes))
	part.Axes = append(part.Axes, te.Axis{Var: share, Extent: sym.Const(g.parts)})
	facts[share] = sym.Range{Lo: 0, Hi: g.parts - 1}
	k := sym.Add(sym.Scale(sym.Var("r0"), g.parts), sym.Var(share))
	run{axes: g.r.Reduce}.parts(k, names, facts)
	if each*g.parts != g.sum {
		there = append(there, te.Within{E: k, Lo: sym.Const(0), Hi: sym.Const(g.sum)})
	}
	v := te.SubstIndices(g.r.Values[0], names, facts)
	if len(there) > 0 {
		v = te.Select{Cond: there, Then: v, Else: g.r.Combine.Init[0]}
	}
	part.Values = []te.Expr{v}
	last := loops[len(loops)-1].Var
	ps.At.Loop = last
	var mine loopList
	row := len(part.Axes) - 2
	mine.add(sched.Item, "g7s", share, 0, sched.Exact)
	if g.together > 1 {
		mine.add(sched.Item, "g7n", part.Axes[row].Var, 0, sched.Exact)
	}
	mine.add(sched.Serial, "g7r", "r0", 0, sched.Exact)
	ps.Loops = mine
	p.addStage(part, ps)

	all.Values = []te.Expr{te.FromStage(0, typ, append(read, sym.Var("r0"))...)}
	for _, e := range g.r.Results {
		all.Results = append(all.Results, te.SubstIndices(e, results, facts))
	}
	loops.add(sched.Item, "g4n", "g2n", 0, sched.Exact)
	loops.add(sched.Serial, "g8t", "g1n", 1, edge(!sym.Mod(g.row.Extent, sym.Const(g.together), facts).Is(0), sched.RoundUp))
	loops.add(sched.Serial, "g8r", "r0", 0, sched.Exact)
	as.Loops = loops
	p.addStage(all, as)
	parts := layout.PartsOf(layout.RowMajor, len(part.Axes))
	p.sched.Values = append(p.sched.Values, sched.Value{Of: te.Source{Stage: true, N: 0}, Parts: parts, Space: sched.Local})
	readOperands(p, g.r.operands)
	return p
}

// readOperands gives a proposal the operands that its stages read, of a block's.
func readOperands(p *proposal, operands []*ir.Value) {
	at := map[int]int{}
	for i, s := range p.work.Stages {
		p.work.Stages[i] = s.MapExprs(func(e te.Expr) te.Expr {
			x, ok := e.(te.Load)
			if !ok || x.Source.Stage {
				return e
			}
			n := x.Source.N
			if _, known := at[n]; !known {
				at[n] = p.addOperand(operands[n], func(b *block.Block) *ir.Value { return b.Operands[n] })
			}
			x.Source.N = at[n]
			return x
		})
	}
}
