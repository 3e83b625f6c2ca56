package inline

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// sequencesOf lets control flow have tensors for sequences: captured ones become captures of their tensors, results of an If several results,
// and a Loop that carries sequences, a known number of times, its iterations.
func (in *inliner) sequencesOf(n *ir.Node) ([]*ir.Node, error) {
	if n.Op == "Loop" && hasSequences(n) {
		s, err := ops.LoopOf(n)
		if err != nil {
			return nil, known(err)
		}
		if nodes, err := in.unroll(n, s); nodes != nil || err != nil {
			return nodes, err
		}
	}
	captured := in.captureTensors(n)
	if n.Op == "If" {
		if nodes := in.branchTensors(n); nodes != nil {
			return nodes, nil
		}
	}
	if captured {
		return []*ir.Node{n}, nil
	}
	return nil, nil
}

// hasSequences reports whether a node has sequences as operands or its graphs work on some.
func hasSequences(n *ir.Node) bool {
	return ops.OfSequences(n) || ops.TakesSequence(n) || slices.ContainsFunc(n.Regions, func(r *ir.Graph) bool { return slices.ContainsFunc(r.Nodes, hasSequences) })
}

// captureTensors captures the tensors of captured sequences, and reports whether there were some. In the region they are put together again.
func (in *inliner) captureTensors(n *ir.Node) bool {
	own := len(n.Inputs) - n.Captures
	changed := false
	for i := len(n.Inputs) - 1; i >= own; i-- {
		parts, ok := tensors(n.Inputs[i])
		if !ok {
			continue
		}
		changed = true
		n.Inputs = slices.Replace(slices.Clone(n.Inputs), i, i+1, parts...)
		n.Captures += len(parts) - 1
		for _, r := range n.Regions {
			at := len(r.Inputs) - (len(n.Inputs) - len(parts) + 1 - i)
			whole := r.Inputs[at]
			inner := &inliner{graph: r}
			var inputs []*ir.Value
			for _, p := range parts {
				inputs = append(inputs, &ir.Value{Name: whole.Name + "." + p.Name, Type: p.Type, Shape: p.Shape, HasShape: p.HasShape})
			}
			r.Inputs = slices.Replace(slices.Clone(r.Inputs), at, at+1, inputs...)
			r.Nodes = append([]*ir.Node{inner.construct(n, whole, inputs)}, r.Nodes...)
		}
	}
	return changed
}

// branchTensors makes results of an If that are sequences of one length in both branches results for each tensor; nil where there are none.
func (in *inliner) branchTensors(n *ir.Node) []*ir.Node {
	s, err := ops.IfOf(n)
	if err != nil {
		return nil
	}
	nodes := []*ir.Node{n}
	for i := len(n.Outputs) - 1; i >= 0; i-- {
		a, ok := tensors(s.Then.Outputs[i])
		b, same := tensors(s.Else.Outputs[i])
		if !ok || !same || len(a) != len(b) {
			continue
		}
		s.Then.Outputs = slices.Replace(slices.Clone(s.Then.Outputs), i, i+1, a...)
		s.Else.Outputs = slices.Replace(slices.Clone(s.Else.Outputs), i, i+1, b...)
		whole := n.Outputs[i]
		var results []*ir.Value
		for range a {
			results = append(results, &ir.Value{Name: in.names.Name(n.Outputs0() + ".part"), Def: n})
		}
		n.Outputs = slices.Replace(slices.Clone(n.Outputs), i, i+1, results...)
		if whole != nil {
			nodes = append(nodes, in.construct(n, whole, results))
		}
	}
	if len(nodes) == 1 {
		return nil
	}
	return nodes
}

// mostTurns bounds the iterations that take the place of a loop.
const mostTurns = 1 << 10

// unroll replaces a Loop by its iterations, where it is known how many there are: nil where it is not.
func (in *inliner) unroll(n *ir.Node, s *ops.LoopSpec) ([]*ir.Node, error) {
	most, ok := constant(s.Max)
	again := s.Body.Outputs[0]
	if c, always := constant(again); again != s.Body.Inputs[1] && (!always || c == 0) {
		ok = false // the body decides how often it runs
	}
	if c, always := constant(s.Cond); s.Cond != nil && (!always || c == 0) {
		ok = false
	}
	if !ok || most < 1 {
		return nil, nil
	}
	if most > mostTurns {
		return nil, tooManyTurns(most)
	}
	nodes, carried := []*ir.Node(nil), slices.Clone(s.Carried)
	stacked := make([][]*ir.Value, len(n.Outputs)-len(carried))
	results := n.Outputs
	for turn := range most {
		body := copied(s.Body)
		operands := append([]*ir.Value{in.scalar(results, turn), in.truth(results)}, carried...)
		n.Outputs = nil // once gives none of them
		nodes = append(nodes, in.once(n, body, append(operands, n.Inputs[len(n.Own()):]...))...)
		n.Outputs = results
		copy(carried, body.Outputs[1:])
		for i := range stacked {
			stacked[i] = append(stacked[i], body.Outputs[1+len(carried)+i])
		}
	}
	for i, v := range results {
		switch {
		case v == nil:
		case i < len(carried):
			nodes = append(nodes, in.identity(n, carried[i], v))
		default:
			join := in.construct(n, &ir.Value{Name: in.names.Name(v.Name + ".steps")}, stacked[i-len(carried)])
			x := in.node(n, "ConcatFromSequence", v, join.Outputs[0])
			x.Version, x.Attrs = 11, ir.Attrs{"axis": int64(0), "new_axis": int64(1)}
			nodes = append(nodes, join, x)
		}
	}
	return nodes, nil
}
