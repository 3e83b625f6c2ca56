package samples

import (
	"runtime"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
)

// Run runs a graph on an input, node after node, and tells of each node what it read and gave. Values that nothing reads any more are given up.
func Run(g *ir.Graph, in Input, tell func(n *ir.Node, operands, results []*ir.Tensor) error) (map[*ir.Value]*ir.Tensor, error) {
	values := map[*ir.Value]*ir.Tensor{}
	for _, v := range g.Inputs {
		values[v] = in[v.Name]
	}
	last := map[*ir.Value]int{}
	for i, n := range g.Nodes {
		for _, v := range n.Inputs {
			last[v] = i
		}
	}
	for _, v := range g.Outputs {
		if last[v] = len(g.Nodes); v.Const != nil {
			values[v] = v.Const
		}
	}
	engine := interp.Interp{Workers: runtime.GOMAXPROCS(0)}
	for i, n := range g.Nodes {
		operands := make([]*ir.Tensor, len(n.Inputs))
		for k, v := range n.Inputs {
			switch {
			case v == nil:
			case v.Const != nil:
				operands[k] = v.Const
			default:
				operands[k] = values[v]
			}
		}
		results, err := engine.Node(n, operands)
		if err != nil {
			return nil, err
		}
		if tell != nil {
			if err := tell(n, operands, results); err != nil {
				return nil, err
			}
		}
		for k, v := range n.Outputs {
			if v != nil && last[v] > i {
				values[v] = results[k]
			}
		}
		for _, v := range n.Inputs {
			if v != nil && last[v] == i {
				delete(values, v)
			}
		}
	}
	return values, nil
}
