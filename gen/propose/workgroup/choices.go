package workgroup

import (
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
)

// choices is a stage by work-items that each compute all that an index chooses between, and load what these expressions share once: the points of
// Winograd's transforms. Either the index is the stage's first axis, or it is made of remainders of axes, and an item computes as many neighbours
// along each of them.
type choices struct {
	b      *block.Block
	env    *lower.Env
	of     sym.Expr  // what chooses
	arms   []te.Expr // what is chosen
	inner  map[int]int64
	facts  sym.Facts
	chosen te.Expr
}

// ChoicesAnchor begins the names of these kernels.
const ChoicesAnchor = "choices"

const (
	// leastArms is how many expressions there are at least, and mostArms the most that schedules write out.
	leastArms, mostArms = 4, 64
	// sharedArms is how many times as many loads as different ones the expressions have at least.
	sharedArms = 2
)

// Choices is the kernel of a stage that chooses between expressions; nil where a block is none on a device, or they share little.
func Choices(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	if !env.Target.WorkItems() || b.Stage == nil || len(b.Placed) > 0 || b.Stage.Combine != nil || b.Stage.Update != nil || !LiesInRows(b, env.Layouts) {
		return nil, nil
	}
	c := &choices{b: b, env: env, facts: maps.Clone(env.Symbols)}
	if c.facts == nil {
		c.facts = sym.Facts{}
	}
	if !c.find() {
		return nil, nil
	}
	var p *lower.Proposal
	if c.inner == nil {
		p = c.points()
	} else {
		p = c.neighbours()
	}
	if p == nil {
		return nil, nil
	}
	ReadOperands(p, b.Operands)
	return env.Suits(ChoicesAnchor, p, b)
}

// chain is the expressions that an index chooses between, each of which is there for one number from 0 on and the last one for all others; nil where
// an expression is something else.
func chain(e te.Expr) (of sym.Expr, arms []te.Expr) {
	for {
		x, ok := e.(te.Select)
		if !ok {
			return of, append(arms, e)
		}
		if len(x.Cond) != 1 || len(arms) > 0 && !x.Cond[0].E.Equal(of) || !x.Cond[0].Lo.Is(int64(len(arms))) || !x.Cond[0].Hi.Is(int64(len(arms))+1) {
			return of, nil
		}
		of, e, arms = x.Cond[0].E, x.Else, append(arms, x.Then)
	}
}

// find finds the only choice of the stage, and what chooses; false where there is none whose expressions share what they load.
func (c *choices) find() bool {
	found := map[string]bool{}
	for _, r := range c.b.Stage.Results {
		te.Walk(r, func(e te.Expr) {
			x, ok := e.(te.Select)
			if !ok || len(x.Cond) != 1 || !x.Cond[0].Lo.Is(0) {
				return
			}
			of, arms := chain(x)
			if len(arms) < leastArms || len(arms) > mostArms || !shareLoads(arms) {
				return
			}
			c.of, c.arms, c.chosen = of, arms, x
			found[te.Text(x)] = true
		})
	}
	return len(found) == 1 && c.split()
}

// shareLoads reports whether expressions read the same elements.
func shareLoads(es []te.Expr) bool {
	n, different := 0, map[string]bool{}
	for _, e := range es {
		te.Walk(e, func(e te.Expr) {
			if l, ok := e.(te.Load); ok {
				different[te.Text(l)] = true
				n++
			}
		})
	}
	return n >= sharedArms*len(different)
}

// split finds the axes whose remainders choose, where the first axis does not; false where the index is made of anything else.
func (c *choices) split() bool {
	axes := c.b.Stage.Axes
	if v, is := c.of.AsVar(); is {
		return v == axes[0].Var && axes[0].Extent.Is(int64(len(c.arms))) && len(c.b.Stage.Results) == 1 && len(axes) > 1
	}
	c.inner = map[int]int64{}
	terms, constant := c.of.Terms()
	for _, t := range terms {
		if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomMod {
			return false
		}
		v, is := t.Atoms[0].A.AsVar()
		size, known := t.Atoms[0].B.Const()
		i := slices.IndexFunc(axes, func(a te.Axis) bool { return a.Var == v })
		if !is || !known || size < 2 || i < 0 || c.inner[i] != 0 {
			return false
		}
		c.inner[i] = size
	}
	least, most := c.of.Bounds(nil)
	return constant == 0 && least == 0 && most == int64(len(c.arms))-1
}

// points lets an item compute all points of the first axis.
func (c *choices) points() *lower.Proposal {
	p := lower.NewProposal(c.env.Symbols)
	st := NewGroupStage(c.b.Stage.Name, c.facts, sched.Root)
	for _, a := range c.b.Stage.Axes {
		st.Names[a.Var] = st.Axis(a.Extent)
	}
	st.Results = []te.Expr{st.Subst(c.b.Stage.Results[0])}
	var all lower.LoopList
	for i, a := range st.Axes[1:] {
		all.Add(sched.Task, BatchVar(i), a.Var, 0, sched.Exact)
	}
	all.Add(sched.Unroll, "u0", st.Axes[0].Var, 0, sched.Exact)
	st.Sched.Loops = all
	p.AddStage(&st.Stage, st.Sched)
	return p
}

// neighbours lets an item compute all that is chosen, which it keeps, and then as many neighbours along each axis as there are remainders; nil where what is
// chosen differs between them.
func (c *choices) neighbours() *lower.Proposal {
	p := lower.NewProposal(c.env.Symbols)
	all, chosen := NewGroupStage(c.b.Stage.Name, c.facts, sched.Root), NewGroupStage("chosen", maps.Clone(c.facts), sched.Ref{Stage: 1})
	chosen.Axis(sym.Const(int64(len(c.arms))))
	at := []sym.Expr{c.of}
	var tasks, within lower.LoopList
	for i, a := range c.b.Stage.Axes {
		v := all.Axis(a.Extent)
		all.Names[a.Var] = v
		size := c.inner[i]
		if size == 0 {
			chosen.Names[a.Var] = chosen.Region(a.Extent, sym.Var(BatchVar(i)), 1, a.Extent)
			tasks.Add(sched.Task, BatchVar(i), VarName(v), 0, sched.Exact)
			at = append(at, sym.Var(a.Var))
			continue
		}
		n := sym.CeilDiv(a.Extent, sym.Const(size), c.facts)
		outer, inner := fmt.Sprintf("g1_%d", i), fmt.Sprintf("g2_%d", i)
		all.Sched.Splits = append(all.Sched.Splits, sched.Split{Axis: VarName(v), Outer: outer, Inner: inner, Size: size})
		tasks.Add(sched.Task, BatchVar(i), outer, 0, sched.Exact)
		within.Add(sched.Serial, fmt.Sprintf("g3_%d", i), inner, 0, lower.EdgeIf(!sym.Mod(a.Extent, sym.Const(size), c.facts).Is(0), sched.Clip))
		chosen.Names[a.Var] = sym.Add(sym.Scale(chosen.Region(n, sym.Var(BatchVar(i)), 1, n), size), sym.Var(neighbourVar(i)))
		chosen.Facts[neighbourVar(i)] = sym.Range{Lo: 0, Hi: size - 1}
		at = append(at, sym.FloorDiv(sym.Var(a.Var), sym.Const(size), nil))
	}
	if !c.same(chosen) {
		return nil
	}
	text := te.Text(c.chosen)
	for _, r := range c.b.Stage.Results {
		r = te.Map(r, func(e te.Expr) te.Expr {
			if x, ok := e.(te.Select); ok && x.Cond[0].E.Equal(c.of) && te.Text(x) == text {
				return te.FromStage(0, x.DType(), at...)
			}
			return e
		})
		all.Results = append(all.Results, all.Subst(r))
	}
	chosen.Sched.At.Loop = tasks[len(tasks)-1].Var
	p.AddStage(&chosen.Stage, chosen.Sched)
	all.Sched.Loops = slices.Concat(tasks, within)
	p.AddStage(&all.Stage, all.Sched)
	p.Sched.Values = append(p.Sched.Values, sched.Value{Of: te.Source{Stage: true, N: 0}, Parts: layout.PartsOf(layout.RowMajor, len(chosen.Axes)), Space: sched.Register})
	return p
}

// same gives a stage what is chosen; false where that is not the same for all neighbours.
func (c *choices) same(chosen *GroupStage) bool {
	arms := make([]te.Expr, len(c.arms))
	for i, e := range c.arms {
		arms[i] = chosen.Subst(e)
		for axis := range c.inner {
			if match.ExprUses(arms[i], neighbourVar(axis)) {
				return false
			}
		}
	}
	p := chosen.Axes[0].Var
	chosen.Results = []te.Expr{Choice(sym.Var(p), arms)}
	chosen.Sched.Loops = []sched.Loop{{Kind: sched.Unroll, Var: "u0", Axis: p}}
	return true
}

// neighbourVar is an item's neighbour along an axis.
func neighbourVar(axis int) string { return fmt.Sprintf("d%d", axis) }

// Choice is the expression of each number that an index may be, from 0 on.
func Choice(of sym.Expr, es []te.Expr) te.Expr {
	out := es[len(es)-1]
	for k := len(es) - 2; k >= 0; k-- {
		at := te.Within{E: of, Lo: sym.Const(int64(k)), Hi: sym.Const(int64(k) + 1)}
		out = te.Select{Cond: []te.Within{at}, Then: es[k], Else: out}
	}
	return out
}
