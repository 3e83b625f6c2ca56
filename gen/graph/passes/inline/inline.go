// Package inline replaces control flow whose course is known: an If by the branch that
// its condition takes, a Loop that runs once by its body, and one that never runs by
// what it begins with. The other branch goes, whatever is wrong with it. Compositions are
// replaced by the nodes that they stand for (Expand).
//
// For control flow nothing must be inferred before; conditions that only inference knows are inlined
// when it has run. Results stay, as Identities of what the region computes.
package inline

import (
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Run inlines in g and in its regions and reports whether it changed the graph.
func Run(g *ir.Graph) (bool, error) {
	in := &inliner{graph: g}
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		if !ops.IsControl(n) {
			nodes = append(nodes, n)
			continue
		}
		body, err := in.replacement(n)
		if err != nil {
			return false, err
		}
		if body == nil {
			nodes = append(nodes, n)
		} else {
			nodes, in.changed = append(nodes, body...), true
		}
	}
	g.Nodes = nodes
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			changed, err := Run(r)
			if err != nil {
				return false, err
			}
			in.changed = in.changed || changed
		}
	}
	return in.changed, nil
}

type inliner struct {
	graph   *ir.Graph
	names   *ir.Names
	changed bool
}

// replacement are the nodes that stand for n; nil where its course is not known.
func (in *inliner) replacement(n *ir.Node) ([]*ir.Node, error) {
	switch n.Op {
	case "If":
		s, err := ops.IfOf(n)
		if err != nil {
			return nil, known(err)
		}
		if c, ok := constant(s.Cond); ok {
			return in.once(n, s.Branch(c != 0), n.Inputs[1:]), nil
		}
	case "Loop":
		s, err := ops.LoopOf(n)
		if err != nil {
			return nil, known(err)
		}
		return in.loop(n, s), nil
	}
	return nil, nil
}

// constant is the only element of a value that is known.
func constant(v *ir.Value) (int64, bool) {
	switch {
	case v == nil:
	case v.Const != nil && v.Const.Len() == 1:
		if xs, err := v.Const.Ints(); err == nil {
			return xs[0], true
		}
	case len(v.Elems) == 1:
		return v.Elems[0].Const()
	}
	return 0, false
}

// once moves a region's nodes to where n stands, with operands for its inputs.
func (in *inliner) once(n *ir.Node, r *ir.Graph, operands []*ir.Value) []*ir.Node {
	given := map[*ir.Value]*ir.Value{}
	for i, v := range r.Inputs {
		given[v] = operands[i]
	}
	edit.Replace(r, given)
	if in.names == nil {
		in.names = edit.OwnNames(in.graph)
	}
	for _, x := range r.Nodes {
		for _, v := range x.Outputs {
			if v != nil {
				v.Name = in.names.Name(v.Name)
			}
		}
	}
	nodes := r.Nodes
	r.Nodes = nil
	for i, v := range n.Outputs {
		if v != nil && i < len(r.Outputs) {
			nodes = append(nodes, in.identity(n, r.Outputs[i], v))
		}
	}
	if nodes == nil {
		nodes = []*ir.Node{}
	}
	return nodes
}

// identity makes v the same as from.
func (in *inliner) identity(n *ir.Node, from, v *ir.Value) *ir.Node {
	return in.node(n, "Identity", v, from)
}

// node makes a node in n's name that computes v.
func (in *inliner) node(n *ir.Node, op string, v *ir.Value, operands ...*ir.Value) *ir.Node {
	v.Def = &ir.Node{
		Op: op, Version: edit.Version(op, in.graph), Name: n.Name, Inputs: operands, Outputs: []*ir.Value{v},
		Attrs: ir.Attrs{}, Origins: n.Origins,
	}
	return v.Def.MadeFor(n)
}
