package inline

import (
	"errors"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// known passes on errors other than that something is not known yet.
func known(err error) error {
	var unknown *ops.UnknownError
	if errors.As(err, &unknown) {
		return nil
	}
	return err
}

// loop inlines a Loop that runs once or never.
func (in *inliner) loop(n *ir.Node, s *ops.LoopSpec) []*ir.Node {
	trips, ok := trips(s)
	switch {
	case !ok:
		return nil
	case trips == 0:
		return in.never(n, s)
	}
	return in.single(n, s)
}

// trips is the number of iterations, if it is known to be 0 or 1.
func trips(s *ops.LoopSpec) (int64, bool) {
	most, bounded := constant(s.Max)
	cond, known := constant(s.Cond)
	switch {
	case bounded && most <= 0, known && cond == 0:
		return 0, true
	case s.Cond != nil && !known:
		return 0, false
	case bounded && most == 1:
		return 1, true
	case s.Cond != nil && (s.Max == nil || bounded):
		// Once for certain; then the body may say that this was all.
		again, known := constant(s.Body.Outputs[0])
		return 1, known && again == 0
	}
	return 0, false
}

// never replaces a Loop that does not run. What it would have stacked is empty, of a
// shape that inference must have told.
func (in *inliner) never(n *ir.Node, s *ops.LoopSpec) []*ir.Node {
	carried := len(s.Carried)
	for _, v := range n.Outputs[carried:] {
		if dims, ok := v.Static(); v != nil && (!ok || v.Type == ir.Invalid || len(dims) == 0 || dims[0] != 0) {
			return nil
		}
	}
	nodes := []*ir.Node{}
	for i, v := range n.Outputs {
		switch {
		case v == nil:
		case i < carried:
			nodes = append(nodes, in.identity(n, s.Carried[i], v))
		default:
			dims, _ := v.Static()
			nodes = append(nodes, in.identity(n, ir.ConstValue(v.Name+".empty", ir.NewTensor(v.Type, dims...)), v))
		}
	}
	return nodes
}

// single replaces a Loop that runs once.
func (in *inliner) single(n *ir.Node, s *ops.LoopSpec) []*ir.Node {
	own := len(n.Own())
	first := ir.ConstValue(n.Outputs0()+".iteration", edit.IntTensor(ir.I64, []int64{0}))
	cond := ir.ConstValue(n.Outputs0()+".condition", edit.IntTensor(ir.Bool, []int64{1}))
	operands := append([]*ir.Value{first, cond}, s.Carried...)
	operands = append(operands, n.Inputs[own:]...)
	results := n.Outputs
	n.Outputs = nil
	nodes := in.once(n, s.Body, operands)
	n.Outputs = results
	for i, v := range results {
		switch from := s.Body.Outputs[1+i]; {
		case v == nil:
		case i < len(s.Carried):
			nodes = append(nodes, in.identity(n, from, v))
		default:
			nodes = append(nodes, in.stack(n, from, v))
		}
	}
	return nodes
}

// stack makes v what a Loop stacks in one iteration.
func (in *inliner) stack(n *ir.Node, from, v *ir.Value) *ir.Node {
	if version := edit.Version("Unsqueeze", in.graph); version != 0 && version < 13 {
		x := in.node(n, "Unsqueeze", v, from)
		x.Attrs["axes"] = []int64{0}
		return x
	}
	return in.node(n, "Unsqueeze", v, from, ir.ConstValue(v.Name+".axis", edit.IntTensor(ir.I64, []int64{0}, 1)))
}
