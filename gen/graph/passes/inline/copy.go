package inline

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// copied is a graph with values and nodes of its own. Constants are shared.
func copied(g *ir.Graph) *ir.Graph {
	values := map[*ir.Value]*ir.Value{}
	value := func(v *ir.Value) *ir.Value {
		if v == nil || v.Const != nil {
			return v
		}
		if values[v] == nil {
			x := *v
			x.Shape, x.Elems, x.Def = slices.Clone(v.Shape), slices.Clone(v.Elems), nil
			values[v] = &x
		}
		return values[v]
	}
	all := func(vs []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(vs))
		for i, v := range vs {
			out[i] = value(v)
		}
		return out
	}
	out := *g
	out.Inputs, out.Nodes = all(g.Inputs), nil
	for _, n := range g.Nodes {
		x := *n
		x.Inputs, x.Outputs, x.Attrs, x.Regions, x.Computes = all(n.Inputs), all(n.Outputs), maps.Clone(n.Attrs), nil, nil
		for _, v := range x.Outputs {
			if v != nil {
				v.Def = &x
			}
		}
		for _, r := range n.Regions {
			x.Regions = append(x.Regions, copied(r))
		}
		out.Nodes = append(out.Nodes, &x)
	}
	out.Outputs = all(g.Outputs)
	return &out
}

func tooManyTurns(n int64) error {
	return fmt.Errorf("a loop of %d iterations carries sequences; supported are at most %d", n, mostTurns)
}

// scalar is a constant for one of several results.
func (in *inliner) scalar(of []*ir.Value, x int64) *ir.Value {
	return ir.ConstValue(in.names.Name(results0(of)+".iteration"), edit.IntTensor(ir.I64, []int64{x}))
}

func (in *inliner) truth(of []*ir.Value) *ir.Value {
	return ir.ConstValue(in.names.Name(results0(of)+".condition"), edit.IntTensor(ir.Bool, []int64{1}))
}
