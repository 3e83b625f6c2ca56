package modeltest

import (
	"slices"

	"rules_dnn/gen/graph/passes/dce"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// shrink makes the trial's graph smaller as long as it fails, and gives the last error: fewer
// outputs, nodes cut off at their results, fewer attributes and operands.
func (t *trial) shrink(err error) error {
	for again := true; again; {
		again = false
		for _, r := range reductions {
			for i := 0; i < r.count(t.g); {
				if failed := t.reduced(r, i); failed != nil {
					err, again = failed, true
				} else {
					i++
				}
			}
		}
	}
	return err
}

// reduced applies a reduction and keeps it, with the error, where the trial still fails.
func (t *trial) reduced(r reduction, i int) error {
	g, err := clone(t.g)
	if err != nil || !r.apply(g, i) {
		return nil
	}
	if _, err := dce.Run(g); err != nil || ir.Verify(g) != nil {
		return nil
	}
	// A graph that must compile has the shapes of its results: where a reduction changes them, that is all
	// that would still fail.
	if inferred, err := clone(g); err != nil || !t.wild && shape.Infer(inferred) != nil {
		return nil
	}
	less := &trial{g: g, config: t.config, inputs: t.inputs, wild: t.wild}
	failed := less.survives()
	if failed != nil {
		t.g = g
	}
	return failed
}

// reduction is a way to make a graph smaller, at each of a number of places. It reports whether it
// did; a graph that is not well-formed afterwards is given up.
type reduction struct {
	count func(*ir.Graph) int
	apply func(g *ir.Graph, i int) bool
}

var reductions = []reduction{
	{func(g *ir.Graph) int { return len(g.Outputs) }, dropOutput},
	{func(g *ir.Graph) int { return len(g.Nodes) - 1 }, cutNode},
	{func(g *ir.Graph) int { return len(g.Nodes) }, dropNode},
	{func(g *ir.Graph) int { return len(attributes(g)) }, dropAttribute},
	{func(g *ir.Graph) int { return len(operands(g)) }, dropOperand},
}

// dropOutput drops output i, where others remain.
func dropOutput(g *ir.Graph, i int) bool {
	if len(g.Outputs) == 1 {
		return false
	}
	g.Outputs = slices.Delete(g.Outputs, i, i+1)
	return true
}

// cutNode makes node i the last one: its results are the outputs.
func cutNode(g *ir.Graph, i int) bool {
	g.Nodes, g.Outputs = g.Nodes[:i+1], nil
	for _, v := range g.Nodes[i].Outputs {
		if v != nil {
			g.Outputs = append(g.Outputs, v)
		}
	}
	return true
}

// dropNode replaces node i by its first operand.
func dropNode(g *ir.Graph, i int) bool {
	n := g.Nodes[i]
	if len(n.Outputs) != 1 || n.Input(0) == nil || slices.Contains(g.Outputs, n.Outputs[0]) {
		return false
	}
	g.Nodes = slices.Delete(g.Nodes, i, i+1)
	for _, m := range g.Nodes {
		for k, v := range m.Inputs {
			if v == n.Outputs[0] {
				m.Inputs[k] = n.Inputs[0]
			}
		}
	}
	return true
}

// place is the number of an operand, or the name of an attribute, of a node.
type place struct {
	n       *ir.Node
	operand int
	attr    string
}

// attributes are those of all nodes that are no regions.
func attributes(g *ir.Graph) (out []place) {
	for _, n := range g.Nodes {
		for _, name := range n.Attrs.Names() {
			if _, region := n.Attrs[name].(ir.RegionRef); !region {
				out = append(out, place{n: n, attr: name})
			}
		}
	}
	return out
}

func dropAttribute(g *ir.Graph, i int) bool {
	x := attributes(g)[i]
	delete(x.n.Attrs, x.attr)
	return true
}

// operands are those of nodes that have several and run no regions.
func operands(g *ir.Graph) (out []place) {
	for _, n := range g.Nodes {
		for i := range n.Inputs {
			if len(n.Inputs) > 1 && len(n.Regions) == 0 {
				out = append(out, place{n: n, operand: i})
			}
		}
	}
	return out
}

func dropOperand(g *ir.Graph, i int) bool {
	x := operands(g)[i]
	x.n.Inputs = slices.Delete(x.n.Inputs, x.operand, x.operand+1)
	return true
}
