package inline

import (
	"errors"
	"slices"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// Expand replaces compositions by the nodes that they stand for, in g and in its regions,
// and reports whether it changed the graph. Inference must have run: it holds what a
// composition demands of its operands against them. Those of which it did not learn enough stay.
func Expand(g *ir.Graph) (bool, error) { return expand(g, shape.Facts(g), false) }

func expand(g *ir.Graph, facts sym.Facts, region bool) (bool, error) {
	in := &inliner{graph: g}
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		body := []*ir.Node{n}
		if ops.IsComposition(n) {
			x, err := ops.Expand(n, facts)
			var unknown *ops.UnknownError
			switch {
			case err == nil:
				body, in.changed = in.expansion(n, x.Graph), true
			case !errors.As(err, &unknown) && !region: // which may never run
				return false, err
			}
		}
		for _, x := range body {
			for _, r := range x.Regions {
				changed, err := expand(r, facts, true)
				if err != nil {
					return false, err
				}
				in.changed = in.changed || changed
			}
		}
		nodes = append(nodes, body...)
	}
	g.Nodes = nodes
	return in.changed, nil
}

// expansion moves a composition's nodes to where n stands.
func (in *inliner) expansion(n *ir.Node, x *ir.Graph) []*ir.Node {
	absent := func(v *ir.Value) bool { return v == nil }
	outputs := x.Outputs
	x.Outputs = make([]*ir.Value, len(n.Outputs))
	for i, v := range n.Outputs {
		if v != nil {
			x.Outputs[i], outputs = outputs[0], outputs[1:]
		}
	}
	return in.once(n, x, slices.DeleteFunc(slices.Clone(n.Inputs), absent))
}
