package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// groupStage is a stage that the items of work-groups compute, as it is made, and where it is computed.
type groupStage struct {
	te.Stage
	sched sched.Stage
	facts sym.Facts
	// names are the block's axes in those of the stage, and there holds at the points of the stage that the block has.
	names map[string]sym.Expr
	there []te.Within
}

func newGroupStage(name string, facts sym.Facts, at sched.Ref) *groupStage {
	return &groupStage{Stage: te.Stage{Name: name}, sched: sched.Stage{At: at}, facts: facts, names: map[string]sym.Expr{}}
}

// axis adds one, and gives its variable.
func (s *groupStage) axis(extent sym.Expr) sym.Expr {
	v := fmt.Sprintf("i%d", len(s.Axes))
	s.Axes = append(s.Axes, te.Axis{Var: v, Extent: extent})
	_, hi := extent.Bounds(s.facts)
	s.facts[v] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	return sym.Var(v)
}

// region adds an axis of which so many points are computed, from the first on; the block has some of its points.
func (s *groupStage) region(extent, first sym.Expr, points int64, has sym.Expr) sym.Expr {
	v := s.axis(extent)
	s.sched.Regions = append(s.sched.Regions, sched.Region{Axis: s.Axes[len(s.Axes)-1].Var, First: first, Extent: points})
	s.within(v, extent, has)
	return v
}

// within notes that the block has so many points of an index, of an extent.
func (s *groupStage) within(at, extent, has sym.Expr) {
	if !extent.Equal(has) {
		s.there = append(s.there, te.Within{E: at, Lo: sym.Const(0), Hi: has})
	}
}

// subst puts the stage's axes in the place of the block's.
func (s *groupStage) subst(e te.Expr) te.Expr { return te.SubstIndices(e, s.names, s.facts) }

// madeOperand is a constant that is made for a kernel of a block's operand; nil: there is none.
type madeOperand struct {
	operand int
	value   *ir.Value
	of      func(v *ir.Value) *ir.Value
}

// madeSource is the number of the first operand that is made, while a proposal is, and those before it are of the others.
const madeSource = -1

// readOperands gives a proposal the operands that its stages read, of a block's, and those that are made for it.
func readOperands(p *proposal, operands []*ir.Value, made ...*madeOperand) {
	at := map[int]int{}
	for i, s := range p.work.Stages {
		p.work.Stages[i] = s.MapExprs(func(e te.Expr) te.Expr {
			x, ok := e.(te.Load)
			if !ok || x.Source.Stage {
				return e
			}
			n := x.Source.N
			if _, known := at[n]; !known {
				if n <= madeSource {
					m := made[madeSource-n]
					at[n] = p.addOperand(m.value, func(b *block.Block) *ir.Value { return m.of(b.Operands[m.operand]) })
				} else {
					at[n] = p.addOperand(operands[n], func(b *block.Block) *ir.Value { return b.Operands[n] })
				}
			}
			x.Source.N = at[n]
			return x
		})
	}
}
