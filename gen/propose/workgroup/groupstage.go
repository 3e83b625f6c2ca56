package workgroup

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
)

// GroupStage is a stage that the items of work-groups compute, as it is made, and where it is computed.
type GroupStage struct {
	te.Stage
	Sched sched.Stage
	Facts sym.Facts
	// Names are the block's axes in those of the stage, and there holds at the points of the stage that the block has.
	Names map[string]sym.Expr
	There []te.Within
}

// NewGroupStage has no axes yet.
func NewGroupStage(name string, facts sym.Facts, at sched.Ref) *GroupStage {
	return &GroupStage{Stage: te.Stage{Name: name}, Sched: sched.Stage{At: at}, Facts: facts, Names: map[string]sym.Expr{}}
}

// Axis adds one, and gives its variable.
func (s *GroupStage) Axis(extent sym.Expr) sym.Expr {
	v := fmt.Sprintf("i%d", len(s.Axes))
	s.Axes = append(s.Axes, te.Axis{Var: v, Extent: extent})
	_, hi := extent.Bounds(s.Facts)
	s.Facts[v] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	return sym.Var(v)
}

// Region adds an axis of which so many points are computed, from the first on; the block has some of its points.
func (s *GroupStage) Region(extent, first sym.Expr, points int64, has sym.Expr) sym.Expr {
	v := s.Axis(extent)
	s.Sched.Regions = append(s.Sched.Regions, sched.Region{Axis: s.Axes[len(s.Axes)-1].Var, First: first, Extent: points})
	s.Within(v, extent, has)
	return v
}

// Within notes that the block has so many points of an index, of an extent.
func (s *GroupStage) Within(at, extent, has sym.Expr) {
	if !extent.Equal(has) {
		s.There = append(s.There, te.Within{E: at, Lo: sym.Const(0), Hi: has})
	}
}

// Subst puts the stage's axes in the place of the block's.
func (s *GroupStage) Subst(e te.Expr) te.Expr { return te.SubstIndices(e, s.Names, s.Facts) }

// madeOperand is a constant that is made for a kernel of a block's operand; nil: there is none.
type madeOperand struct {
	operand int
	value   *ir.Value
	of      func(v *ir.Value) *ir.Value
}

// madeSource is the number of the first operand that is made, while a proposal is, and those before it are of the others.
const madeSource = -1

// ReadOperands gives a proposal the operands that its stages read, of a block's, and those that are made for it.
func ReadOperands(p *lower.Proposal, operands []*ir.Value, made ...*madeOperand) {
	at := map[int]int{}
	for i, s := range p.Work.Stages {
		p.Work.Stages[i] = s.MapExprs(func(e te.Expr) te.Expr {
			x, ok := e.(te.Load)
			if !ok || x.Source.Stage {
				return e
			}
			n := x.Source.N
			if _, known := at[n]; !known {
				if n <= madeSource {
					m := made[madeSource-n]
					at[n] = p.AddOperand(m.value, func(b *block.Block) *ir.Value { return m.of(b.Operands[m.operand]) })
				} else {
					at[n] = p.AddOperand(operands[n], func(b *block.Block) *ir.Value { return b.Operands[n] })
				}
			}
			x.Source.N = at[n]
			return x
		})
	}
}
