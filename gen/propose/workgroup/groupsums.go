package workgroup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/reshape"
	"rules_dnn/gen/target"
)

// groupSums is a reduction by work-groups: each item of one reduces some points of a few results, and keeps what it has in memory that the
// items share; then an item of each result joins what the others have, in their order.
type groupSums struct {
	env *lower.Env
	r   *reshape.Reshaped
	// row is the innermost axis of the result of several points, results how many there are, and sum how many points a result is made of.
	row          te.Axis
	results, sum int64
	// along: items that are neighbours reduce neighbouring points of one result; otherwise points of neighbouring results.
	along bool
	sharing
}

// sharing is how the items of a group share sums: so many share a result, and a group has so many results together.
type sharing struct{ parts, together int64 }

func (s sharing) String() string { return fmt.Sprintf("%d by %d", s.together, s.parts) }

// name is that of kernels that share so, without their schedules' digests.
func (s sharing) name() string { return fmt.Sprintf("%s %s", SumsAnchor, s) }

const (
	// SumsAnchor begins the names of these kernels.
	SumsAnchor = "group sums"
	// minParts is the least points of a result that an item reduces, mostRowSums the most results of a group.
	minParts, mostRowSums = 4, 64
	// leastTogether is how many neighbouring results a group has at least, which read a sector of memory, 32 bytes of floats.
	leastTogether = 8
)

// Sums proposes schedules for a reduction whose results are fewer than a device's items, and follows them.
func Sums(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	g, o := sharedSumsOf(b, env)
	if g == nil {
		return nil, nil
	}
	var out []*lower.Lowered
	for _, s := range g.sharings(o) {
		if env.Only == "" && len(out) == max(1, env.Tiles) {
			break
		}
		if env.Only != "" && lower.Unhashed(env.Only) != s.name() {
			continue
		}
		g.sharing = s
		p := g.schedule()
		if !p.Shares(o) {
			continue
		}
		l, err := env.Suits(SumsAnchor, p, b)
		if err != nil {
			return nil, err
		}
		if l != nil {
			l.Name = s.name() + lower.DigestMark + p.Sched.Digest()
			out = append(out, l)
		}
	}
	return out, nil
}

// ClaimsSums reports whether a block is a large reduction with fewer results than a device has items,
// and there is a kernel if its values lie in rows. If items run in step, each would walk all points of
// a result by itself otherwise. Tiles claims contractions with two factors to share.
func ClaimsSums(b *block.Block, env *lower.Env) (bool, error) {
	if !env.Target.InStep() {
		return false, nil
	}
	best := env.InRows()
	g, o := sharedSumsOf(b, best)
	if g == nil || g.results*g.sum < manyProducts || g.results > o.Units*o.UnitItems || sharedFactors(b, best) != nil {
		return false, nil
	}
	best.Tiles = 0
	ls, err := Sums(b, best)
	return len(ls) > 0, err
}

// sharedSumsOf is a reduction whose sums the items of a device's groups may share, and the device; nil where a block is none.
func sharedSumsOf(b *block.Block, env *lower.Env) (*groupSums, *target.OpenCL) {
	o, err := env.Target.WorkGroups()
	if err != nil || o.LocalBytes == 0 || len(b.Placed) > 0 || b.Stage.Update != nil || !LiesInRows(b, env.Layouts) {
		return nil, nil
	}
	return newGroupSums(b, env), o
}

// newGroupSums is a block's reduction; nil where it has none that items can share.
func newGroupSums(b *block.Block, env *lower.Env) *groupSums {
	r := reshape.Plain(b.Stage, b.Operands, env.Symbols)
	g := &groupSums{env: env, r: r, results: 1, sum: 1}
	if r.Combine == nil || !slices.Contains([]string{"sum", "max", "min", "prod"}, r.Combine.Name) || len(r.Values) != 1 || len(r.Reduce) == 0 || !match.Static(r.Reduce) {
		return nil
	}
	for _, a := range r.Reduce {
		n, _ := a.Extent.Const()
		g.sum *= n
		r.Facts[a.Var] = sym.Range{Lo: 0, Hi: max(n, 1) - 1}
	}
	for _, a := range r.Axes {
		if !a.Extent.Is(1) {
			g.row = a
		}
		g.results *= micro.Usual(a.Extent)
	}
	if g.row.Var == "" {
		return nil
	}
	apart := false // neighbouring results read neighbours in memory
	te.Walk(r.Values[0], func(e te.Expr) {
		if l, ok := e.(te.Load); ok && len(l.Index) > 0 {
			last := l.Index[len(l.Index)-1]
			g.along = g.along || last.Uses(r.Reduce[len(r.Reduce)-1].Var)
			apart = apart || last.Uses(g.row.Var)
		}
	})
	g.along = g.along && !apart
	return g
}

// sharings are those of a group's items, that of the least estimate first.
func (g *groupSums) sharings(o *target.OpenCL) []sharing {
	least := int64(leastTogether)
	if g.along {
		least = 1
	}
	var all []sharing
	for together := least; together <= mostRowSums && (together == least || together <= micro.Usual(g.row.Extent)); together *= 2 {
		for parts := int64(2); parts*together <= o.GroupItems && parts*minParts <= g.sum; parts *= 2 {
			if parts*together >= min(o.SubGroup, o.GroupItems) || parts*2*minParts > g.sum {
				all = append(all, sharing{parts, together})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sharing) int { return cmp.Compare(g.estimate(a, o), g.estimate(b, o)) })
	return all
}

// schedule is the stages, the items' and the results', and where they are computed.
func (g *groupSums) schedule() *lower.Proposal {
	p := lower.NewProposal(g.env.Symbols)
	each := (g.sum + g.parts - 1) / g.parts
	part, all, groups := g.stages("part", each)
	g.reduces(part, each)
	made := []*GroupStage{part}
	left := g.parts
	if left > maxAlone {
		left = fewerOf(left)
		fewer, _, _ := g.stages("fewer", g.parts/left)
		g.fewer(fewer, left)
		made = append(made, fewer)
	}
	g.joins(all, groups, len(made)-1, left)
	for n, st := range made {
		st.Sched.At = sched.Ref{Stage: len(made), Loop: groups[len(groups)-1].Var}
		p.AddStage(&st.Stage, st.Sched)
		p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: n}, Parts: BankedParts(len(st.Axes), g.together), Space: sched.Local})
	}
	p.AddStage(&all.Stage, all.Sched)
	ReadOperands(p, g.r.Operands)
	return p
}

// stages are one of a group's items, which reduces so many points, and that of all results, with the axes of the result; and the loops over groups.
func (g *groupSums) stages(name string, points int64) (part, all *GroupStage, groups lower.LoopList) {
	facts := maps.Clone(g.r.Facts)
	facts["r0"] = sym.Range{Lo: 0, Hi: max(points, g.parts) - 1}
	part, all = NewGroupStage(name, facts, sched.Root), NewGroupStage(g.r.Name, facts, sched.Root)
	for _, a := range g.r.Axes {
		g.axis(a, part, all, &groups)
	}
	return part, all, groups
}

// fewerOf is how many values are left where items join some of so many each, about as many as are left.
func fewerOf(parts int64) int64 {
	left := int64(1)
	for left*left < parts {
		left *= 2
	}
	return left
}

// BankedParts is a row-major layout of memory that items share, of several rows in memory banks of their own: items that each read a row of their own
// do not wait for each other.
func BankedParts(rank int, rows int64) layout.Parts {
	parts := layout.PartsOf(layout.RowMajor, rank)
	if rows > 1 {
		parts[rank-1].Pad = 1
	}
	return parts
}

// axis gives both stages one of the result: a group has one point of it, or some of the row.
func (g *groupSums) axis(a te.Axis, part, all *GroupStage, groups *lower.LoopList) {
	if a.Extent.Is(1) {
		part.Names[a.Var], all.Names[a.Var] = sym.Const(0), sym.Const(0)
		return
	}
	all.Names[a.Var] = all.Axis(a.Extent)
	v, group := all.Axes[len(all.Axes)-1].Var, BatchVar(len(*groups))
	extent, first, points := a.Extent, sym.Var(group), int64(1)
	if a.Var == g.row.Var {
		all.Sched.Splits = []sched.Split{{Axis: v, Outer: "g1n", Inner: "g2n", Size: g.together}}
		v = "g1n"
		extent = sym.Scale(sym.CeilDiv(extent, sym.Const(g.together), g.env.Symbols), g.together)
		first, points = sym.Scale(first, g.together), g.together
	}
	groups.Add(sched.Group, group, v, 0, sched.Exact)
	part.Names[a.Var] = part.Region(extent, first, points, a.Extent)
}

// reduces lets each item of a group reduce so many points.
func (g *groupSums) reduces(part *GroupStage, each int64) {
	row := part.Axes[len(part.Axes)-1].Var
	share := part.Axis(sym.Const(g.parts))
	part.Combine, part.Reduce = g.r.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(each)}}
	k := sym.Add(sym.Scale(sym.Var("r0"), g.parts), share)
	Run{Axes: g.r.Reduce}.Parts(k, part.Names, part.Facts)
	part.Within(k, sym.Const(each*g.parts), sym.Const(g.sum))
	v := part.Subst(g.r.Values[0])
	if len(part.There) > 0 {
		v = te.Select{Cond: part.There, Then: v, Else: g.r.Combine.Init[0]}
	}
	part.Values, part.Results = []te.Expr{v}, []te.Expr{te.Acc{Type: v.DType()}}
	var loops lower.LoopList
	if g.along && g.together > 1 {
		loops.Add(sched.Item, "g7n", row, 0, sched.Exact)
	}
	loops.Add(sched.Item, "g7s", part.Axes[len(part.Axes)-1].Var, 0, sched.Exact)
	if !g.along && g.together > 1 {
		loops.Add(sched.Item, "g7n", row, 0, sched.Exact)
	}
	loops.Add(sched.Serial, "g7r", "r0", 0, sched.Exact)
	part.Sched.Loops = loops
}

// fewer lets items join what the others have, until so much is left of each result as one can join.
func (g *groupSums) fewer(st *GroupStage, left int64) {
	at := te.AxisVars(st.Axes)
	row := st.Axes[len(st.Axes)-1].Var
	share := st.Axis(sym.Const(left))
	t := g.r.Values[0].DType()
	st.Combine, st.Reduce = g.r.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(g.parts / left)}}
	st.Values = []te.Expr{te.FromStage(0, t, append(at, sym.Add(sym.Scale(sym.Var("r0"), left), share))...)}
	st.Results = []te.Expr{te.Acc{Type: t}}
	var loops lower.LoopList
	loops.Add(sched.Item, "g9n", row, 0, sched.Exact)
	loops.Add(sched.Item, "g9s", VarName(share), 0, sched.Exact)
	loops.Add(sched.Serial, "g9r", "r0", 0, sched.Exact)
	st.Sched.Loops = loops
}

// joins lets an item of each result of a group join the last so many values of a stage.
func (g *groupSums) joins(all *GroupStage, loops lower.LoopList, from int, left int64) {
	all.Combine, all.Reduce = g.r.Combine, []te.Axis{{Var: "r0", Extent: sym.Const(left)}}
	all.Values = []te.Expr{te.FromStage(from, g.r.Values[0].DType(), append(te.AxisVars(all.Axes), sym.Var("r0"))...)}
	for _, e := range g.r.Results {
		all.Results = append(all.Results, all.Subst(e))
	}
	loops.Add(sched.Item, "g4n", "g2n", 0, sched.Exact)
	loops.Add(sched.Serial, "g8t", "g1n", 1, lower.EdgeIf(!sym.Mod(g.row.Extent, sym.Const(g.together), all.Facts).Is(0), sched.RoundUp))
	loops.Add(sched.Serial, "g8r", "r0", 0, sched.Exact)
	all.Sched.Loops = loops
}
