package workgroup

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/target"
)

// groupRows is a row-wise reduction fusion by work-groups: the items of a group share a few rows. Each item reduces some points of a row, they
// join what they have in memory that they share, and each computes some points of what is made of it. What is computed of a point alone
// is computed anew wherever it is read, so that only what is reduced is kept.
type groupRows struct {
	env *lower.Env
	b   *block.Block
	// row is the number of the innermost axis of several points that all stages have in common, or of the last one, of which a group has so many
	// at once; and parts is how many items share a row.
	row         int
	rows, parts int64
	// own are the non-unit axes of the dominant stage beside the common ones, and points how many points they have together.
	own    []te.Axis
	points int64
	// groups are the loops over groups, and kept the stages that have what is reduced of a row, by their numbers in the block.
	groups lower.LoopList
	kept   map[int]int
	p      *lower.Proposal
}

const (
	// RowsAnchor begins the names of these kernels.
	RowsAnchor = "group rows"
	// maxAlone is the most values that an item joins by itself, while the others wait, and maxInlined the most loads of an expression that is computed anew.
	maxAlone, maxInlined = 8, 64
	// maxRowItems is the most items of a group: units have several groups at once.
	maxRowItems = 256
)

// Rows proposes a schedule for a row-wise reduction fusion whose rows items share, and follows it; none where the block is no such thing.
func Rows(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	g := sharedRows(b, env)
	if g == nil {
		return nil, nil
	}
	return env.Suits(RowsAnchor, g.p, b)
}

// ClaimsRows reports whether there is a kernel of a block in its layouts, and items run in step.
func ClaimsRows(b *block.Block, env *lower.Env) (bool, error) {
	if !env.Target.InStep() {
		return false, nil
	}
	l, err := Rows(b, env)
	return l != nil, err
}

// sharedRows is the schedule of a block whose rows items share; nil where they cannot.
func sharedRows(b *block.Block, env *lower.Env) *groupRows {
	o, err := env.Target.WorkGroups()
	if err != nil || o.LocalBytes == 0 || len(b.Placed) == 0 || b.Stage.Update != nil || !LiesInRows(b, env.Layouts) {
		return nil
	}
	g := &groupRows{env: env, b: b, kept: map[int]int{}, p: lower.NewProposal(env.Symbols)}
	if !g.take() || !g.share(o) || !g.schedule() || !g.p.Shares(o) {
		return nil
	}
	return g
}

// take finds the rows and what is reduced of them; false where a stage is of another kind.
func (g *groupRows) take() bool {
	if g.b.Depth == 0 {
		return false
	}
	g.row = g.b.Depth - 1
	for i, a := range g.b.Stage.Axes[:g.b.Depth] {
		if !a.Extent.Is(1) {
			g.row = i
		}
	}
	for _, s := range g.b.Stages() {
		own := Several(s.Axes[g.b.Depth:])
		switch {
		case !match.Static(own) || !match.Static(s.Reduce) || s != g.b.Stage && len(s.Results) != 1:
			return false
		case s.Combine != nil && (len(own) > 0 || len(s.Values) != 1 || !match.Reorders[s.Combine.Name] || match.PointsOf(s.Reduce) < 2):
			return false
		}
	}
	g.own = Several(g.b.Stage.Axes[g.b.Depth:])
	g.points = match.PointsOf(g.own)
	return true
}

// Several are the axes of several points.
func Several(axes []te.Axis) []te.Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a te.Axis) bool { return a.Extent.Is(1) })
}

// share gives a row as many items as reduce enough points each, and a group as many rows as it has items left for, as long as there
// are groups for all units; false where rows are too short.
func (g *groupRows) share(o *target.OpenCL) bool {
	most := int64(0)
	for _, s := range g.b.Stages() {
		if s.Combine != nil {
			most = max(most, match.PointsOf(s.Reduce))
		}
	}
	g.parts = 1
	items := min(o.GroupItems, maxRowItems)
	for g.parts*2 <= items && g.parts*2*minParts <= most {
		g.parts *= 2
	}
	if g.parts < 2 {
		return false
	}
	all := int64(1)
	for _, a := range g.b.Stage.Axes[:g.b.Depth] {
		all *= micro.Usual(a.Extent)
	}
	g.rows = 1
	for g.rows*2*g.parts <= items && g.rows < micro.Usual(g.b.Stage.Axes[g.row].Extent) && (g.rows*g.parts < o.SubGroup || g.rows*2*o.Units <= all) {
		g.rows *= 2
	}
	return true
}

// schedule makes the stages, the dominant one last, and says where they are computed; false where an expression gets too long.
func (g *groupRows) schedule() bool {
	for i, a := range g.b.Stage.Axes[:g.b.Depth] {
		n := len(g.groups)
		if axis := fmt.Sprintf("i%d", n); i == g.row {
			g.groups.Add(sched.Group, BatchVar(n), rowParts, 0, sched.Exact)
		} else if !a.Extent.Is(1) {
			g.groups.Add(sched.Group, BatchVar(n), axis, 0, sched.Exact)
		}
	}
	for i, s := range g.b.Placed {
		switch {
		case s.Combine != nil:
			g.kept[i] = g.reduced(s)
		case len(Several(s.Axes[g.b.Depth:])) == 0:
			g.kept[i] = g.single(s)
		}
	}
	if g.b.Stage.Combine != nil {
		g.reducedLast()
	} else {
		g.dominant()
	}
	last := len(g.p.Work.Stages) - 1
	for i := range last {
		g.p.Sched.Stages[i].At.Stage = last
	}
	for _, s := range g.p.Work.Stages {
		if loadsOf(s) > maxInlined {
			return false
		}
	}
	ReadOperands(g.p, g.b.Operands)
	return true
}

// loadsOf is how many loads a stage has.
func loadsOf(s *te.Stage) int {
	n := 0
	block.Loads(s, func(te.Load) { n++ })
	return n
}

// anew puts what stages compute of a point alone in the place of loads of it, in the axes of the stage that reads it.
func (g *groupRows) anew(e te.Expr) te.Expr {
	return te.Map(e, func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok || !l.Source.Stage {
			return e
		}
		if _, kept := g.kept[l.Source.N]; kept {
			return e
		}
		s := g.b.Placed[l.Source.N]
		at := map[string]sym.Expr{}
		for i, a := range s.Axes {
			at[a.Var] = l.Index[i]
		}
		v := te.SubstIndices(g.anew(s.Results[0]), at, g.env.Symbols)
		if len(l.Guard) > 0 {
			v = te.Select{Cond: l.Guard, Then: v, Else: l.Default}
		}
		return v
	})
}

// expr is an expression of one of the block's stages in the axes of a stage that is made, with what is reduced read where it is kept.
func (g *groupRows) expr(st *rowStage, e te.Expr) te.Expr {
	return te.Map(st.Subst(g.anew(e)), func(e te.Expr) te.Expr {
		if l, ok := e.(te.Load); ok && l.Source.Stage {
			return te.FromStage(g.kept[l.Source.N], l.Type, st.common...)
		}
		return e
	})
}

// rowStage is a stage that is made, with its first axes, those of the rows.
type rowStage struct {
	*GroupStage
	common []sym.Expr
	rowVar string
}

// start begins a stage, with the axes of the rows: those of a group, or all where it is the last one.
func (g *groupRows) start(s *te.Stage, last bool) *rowStage {
	facts := sym.Facts{}
	maps.Copy(facts, g.env.Symbols)
	st := &rowStage{GroupStage: NewGroupStage(s.Name, facts, sched.Ref{Loop: g.groups[len(g.groups)-1].Var})}
	if last {
		st.Sched.At = sched.Root
	}
	for i, a := range s.Axes {
		group := sym.Var(BatchVar(len(st.common)))
		switch {
		case a.Extent.Is(1) && i != g.row:
			st.Names[a.Var] = sym.Const(0)
			continue
		case i >= g.b.Depth:
			continue
		case last:
			st.Names[a.Var] = st.Axis(a.Extent)
		case i == g.row:
			whole := sym.Scale(sym.CeilDiv(a.Extent, sym.Const(g.rows), g.env.Symbols), g.rows)
			st.Names[a.Var] = st.Region(whole, sym.Scale(group, g.rows), g.rows, a.Extent)
		default:
			st.Names[a.Var] = st.Region(a.Extent, group, 1, a.Extent)
		}
		st.common = append(st.common, st.Names[a.Var])
	}
	st.rowVar = VarName(st.common[len(st.common)-1])
	return st
}
