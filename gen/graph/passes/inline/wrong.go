package inline

import (
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Wrong replaces each If of whose branches inference found one to be malformed by the other one.
// A model is wrong only in the runs that take the malformed branch: the results are gathered
// by an index that is out of bounds where the condition asks for it, which the run reports.
// It reports whether it changed the graph.
func Wrong(g *ir.Graph, e *shape.UnknownError) bool {
	wrong := map[*ir.Node]*ir.Graph{}
	for _, c := range e.Causes {
		if c.Branch != nil {
			wrong[c.Node] = c.Branch
		}
	}
	if len(wrong) == 0 {
		return false
	}
	return replaceWrong(g, wrong)
}

func replaceWrong(g *ir.Graph, wrong map[*ir.Node]*ir.Graph) bool {
	in := &inliner{graph: g}
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		branch := wrong[n]
		if branch == nil {
			nodes = append(nodes, n)
			continue
		}
		in.changed = true
		nodes = append(nodes, in.insist(n, branch)...)
	}
	g.Nodes = nodes
	edit.EachRegion(g, func(r *ir.Graph) { in.changed = replaceWrong(r, wrong) || in.changed })
	return in.changed
}

// insist inlines the branch of n that is not wrong and makes its results depend on the condition.
func (in *inliner) insist(n *ir.Node, wrong *ir.Graph) []*ir.Node {
	s, err := ops.IfOf(n)
	if err != nil {
		return []*ir.Node{n} // inference has met the error before
	}
	good := s.Then
	if wrong == s.Then {
		good = s.Else
	}
	results := n.Outputs
	n.Outputs = make([]*ir.Value, len(results))
	for i, v := range results {
		if v != nil {
			n.Outputs[i] = &ir.Value{Name: v.Name + ".branch"}
		}
	}
	nodes := in.once(n, good, n.Inputs[1:])
	value := func(what string) *ir.Value { return &ir.Value{Name: in.names.Name(results0(results) + what)} }
	constant := func(what string, xs []int64, shape ...int64) *ir.Value {
		return ir.ConstValue(in.names.Name(results0(results)+what), edit.IntTensor(ir.I64, xs, shape...))
	}
	outside := s.Cond // as an index, 1, where the wrong branch is taken
	if wrong == s.Else {
		outside = value(".not")
		nodes = append(nodes, in.node(n, "Not", outside, s.Cond))
	}
	number, index, axis := value(".number"), value(".index"), constant(".axis", []int64{0}, 1)
	cast := in.node(n, "Cast", number, outside)
	cast.Attrs["to"] = int64(7) // int64
	nodes = append(nodes, cast, in.node(n, "Reshape", index, number, constant(".scalar", nil, 0)))
	for i, v := range results {
		if v == nil {
			continue
		}
		rows := value(".rows")
		unsqueeze := in.node(n, "Unsqueeze", rows, n.Outputs[i], axis)
		unsqueeze.Version = 13 // axes as an operand
		nodes = append(nodes, unsqueeze, in.node(n, "Gather", v, rows, index))
	}
	n.Outputs = results
	return nodes
}

func results0(vs []*ir.Value) string {
	for _, v := range vs {
		if v != nil {
			return v.Name
		}
	}
	return ""
}
