package dce

import (
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// trimCaptures drops captures that no region uses, that are constants, which regions
// use as they are, and that another capture of the node is too. Inner nodes come first:
// what they no longer capture, those around them need not either.
func trimCaptures(g *ir.Graph) bool {
	changed := false
	edit.EachRegion(g, func(r *ir.Graph) { changed = trimCaptures(r) || changed })
	for _, n := range g.Nodes {
		changed = trimNode(n) || changed
	}
	return changed
}

func trimNode(n *ir.Node) bool {
	if n.Captures == 0 {
		return false
	}
	own := len(n.Own())
	captured := n.Inputs[own:]
	drop := make([]bool, len(captured))
	first := map[*ir.Value]int{}
	used := usedInputs(n)
	changed := false
	for i, v := range captured {
		other, twice := first[v]
		switch {
		case twice:
			substitute(n, i, func(r *ir.Graph) *ir.Value { return capture(n, r, other) })
		case v != nil && v.Const != nil:
			substitute(n, i, func(*ir.Graph) *ir.Value { return v })
		case used[i]:
			first[v] = i
			continue
		}
		drop[i], changed = true, true
	}
	if changed {
		dropCaptures(n, drop)
	}
	return changed
}

// capture is a region's input for capture i.
func capture(n *ir.Node, r *ir.Graph, i int) *ir.Value { return r.Inputs[len(r.Inputs)-n.Captures+i] }

// usedInputs reports which captures some region uses.
func usedInputs(n *ir.Node) []bool {
	used := make([]bool, n.Captures)
	for _, r := range n.Regions {
		uses := edit.Uses(r)
		for i := range used {
			used[i] = used[i] || uses[capture(n, r, i)] > 0
		}
	}
	return used
}

// substitute makes the regions use another value for capture i.
func substitute(n *ir.Node, i int, by func(*ir.Graph) *ir.Value) {
	for _, r := range n.Regions {
		edit.Replace(r, map[*ir.Value]*ir.Value{capture(n, r, i): by(r)})
	}
}

func dropCaptures(n *ir.Node, drop []bool) {
	keep := func(vs []*ir.Value) []*ir.Value {
		from := len(vs) - n.Captures
		out := append([]*ir.Value{}, vs[:from]...)
		for i, v := range vs[from:] {
			if !drop[i] {
				out = append(out, v)
			}
		}
		return out
	}
	for _, r := range n.Regions {
		r.Inputs = keep(r.Inputs)
	}
	inputs := keep(n.Inputs)
	n.Captures -= len(n.Inputs) - len(inputs)
	n.Inputs = inputs
}
