package block

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// scan makes the blocks of a Scan: a loop over the length of what is scanned. One with a batch
// axis is a loop over the batch around it.
func (f *former) scan(out *Graph, n *ir.Node) ([]*Block, error) {
	s, err := ops.ScanOf(n)
	if err != nil {
		return nil, err
	}
	if !s.Batch {
		return f.sequence(n, s, nil, n.Outputs)
	}
	l := &Loop{Trips: f.value(s.Scanned[0]).Shape[0], Body: &Graph{Facts: f.facts}}
	l.Counter = f.counter(l.Trips)
	results := make([]*ir.Value, len(n.Outputs)) // of one element of the batch
	for i, v := range n.Outputs {
		if v != nil {
			results[i] = &ir.Value{Name: v.Name + ".element", Type: v.Type, Shape: v.Shape[1:], HasShape: true}
		}
	}
	if l.Body.Blocks, err = f.sequence(n, s, []sym.Expr{sym.Var(l.Counter)}, results); err != nil {
		return nil, err
	}
	for i, v := range n.Outputs {
		if v != nil {
			l.Parts = append(l.Parts, Part{Value: f.own(l.Body, results[i], n), Whole: v})
		}
	}
	b := controlBlock(n, &Control{Loop: l})
	l.sync(b)
	b.setOperands()
	return []*Block{b}, nil
}

// sequence makes the blocks of a Scan without a batch axis, or of the element `at` of one.
func (f *former) sequence(n *ir.Node, s *ops.ScanSpec, at []sym.Expr, results []*ir.Value) ([]*Block, error) {
	var before, slicing []*Block
	x := repeated{out: s.Out}
	states := len(s.States)
	for i, v := range s.States {
		v = f.value(v)
		if at != nil {
			b := pick(n, v, &ir.Value{Name: v.Name + ".element", Type: v.Type}, at, nil)
			before = append(before, b)
			v = b.Results[0]
		}
		x.init, x.in, x.next, x.last = append(x.init, v), append(x.in, s.Body.Inputs[i]), append(x.next, s.Body.Outputs[i]), append(x.last, results[i])
	}
	l := &Loop{}
	for i, v := range s.Scanned {
		v = f.value(v)
		axis, err := s.In[i].Of(len(v.Shape) - len(at))
		if err != nil {
			return nil, n.Errorf("operand %q: %w", v.Name, err)
		}
		axis += len(at)
		if i == 0 {
			l.Trips = v.Shape[axis]
			l.Counter = f.counter(l.Trips)
		}
		t := Part{Backward: s.In[i].Backward}.At(l)
		slicing = append(slicing, pick(n, v, s.Body.Inputs[states+i], at, &place{axis, t}))
	}
	x.parts = s.Body.Outputs[states:]
	wholes, after, err := f.stacks(n, s, l, results[states:])
	if err != nil {
		return nil, err
	}
	x.wholes = wholes
	loop, err := f.repeat(n, l, s.Body, slicing, x)
	return slices.Concat(before, loop, after), err
}

// place is an index along an axis.
type place struct {
	axis int
	at   sym.Expr
}

// pick copies a part of v: at the places of its first axes, and at another place of one of the rest.
func pick(n *ir.Node, v, to *ir.Value, first []sym.Expr, p *place) *Block {
	st := &te.Stage{Name: "slice"}
	index := slices.Clone(first)
	for i := len(first); i < len(v.Shape); i++ {
		if p != nil && i == p.axis {
			index = append(index, p.at)
			continue
		}
		a := te.Axis{Var: fmt.Sprintf("i%d", len(st.Axes)), Extent: v.Shape[i]}
		st.Axes = append(st.Axes, a)
		index = append(index, sym.Var(a.Var))
	}
	st.Results = []te.Expr{te.Operand(0, v.Type, index...)}
	to.Shape, to.HasShape = st.Shape(), true
	return &Block{Stage: st, Operands: []*ir.Value{v}, Results: []*ir.Value{to}, Origins: []string{n.Label()}, Ops: []string{n.Op}}
}

// stacks are the values to which a Scan's parts are stacked along the first axis: its results, or
// what becomes them afterwards by moving that axis.
func (f *former) stacks(n *ir.Node, s *ops.ScanSpec, l *Loop, results []*ir.Value) (wholes []*ir.Value, after []*Block, err error) {
	for k, v := range results {
		if v == nil {
			wholes = append(wholes, nil)
			continue
		}
		axis, err := s.Out[k].Of(len(v.Shape))
		if err != nil {
			return nil, nil, n.Errorf("result %q: %w", v.Name, err)
		}
		if axis == 0 {
			wholes = append(wholes, v)
			continue
		}
		st := &te.Stage{Name: "move"}
		for i, d := range v.Shape {
			st.Axes = append(st.Axes, te.Axis{Var: fmt.Sprintf("i%d", i), Extent: d})
		}
		index, shape := te.AxisVars(st.Axes), slices.Clone(v.Shape)
		index = slices.Insert(slices.Delete(index, axis, axis+1), 0, sym.Var(st.Axes[axis].Var))
		shape = slices.Insert(slices.Delete(shape, axis, axis+1), 0, l.Trips)
		whole := &ir.Value{Name: v.Name + ".stack", Type: v.Type, Shape: shape, HasShape: true}
		st.Results = []te.Expr{te.Operand(0, v.Type, index...)}
		wholes = append(wholes, whole)
		after = append(after, &Block{Stage: st, Operands: []*ir.Value{whole}, Results: []*ir.Value{v}, Origins: []string{n.Label()}, Ops: []string{n.Op}})
	}
	return wholes, after, nil
}
