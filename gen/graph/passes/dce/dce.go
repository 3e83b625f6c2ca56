// Package dce removes what has no effect: nodes that only pass an operand on
// (identities, dropouts, reshapes to the same shape, casts to the same type), nodes
// whose results nothing uses, and captures that no region needs; in regions too.
//
// Shapes must be inferred before; nodes whose structure is unknown stay. What an
// operator passes on is read from its meaning, not from its name.
package dce

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// Run removes identities and dead nodes and reports whether it changed the graph.
// Inputs stay: they are the model's interface.
func Run(g *ir.Graph) (bool, error) {
	identities, err := removeIdentities(g)
	if err != nil {
		return false, err
	}
	captures := trimCaptures(g)
	return removeDead(g, g.Bounded) || identities || captures, nil
}

// removeDead removes nodes whose results nothing uses, in regions too, and makes
// results that nothing uses absent. Numbers that the user bounds stay bound: what was made of
// the bounds holds for no others.
func removeDead(g *ir.Graph, bounded map[string]sym.Range) bool {
	changed := false
	edit.EachRegion(g, func(r *ir.Graph) { changed = removeDead(r, bounded) || changed })
	uses := edit.Uses(g)
	dead := map[*ir.Node]bool{}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if n := g.Nodes[i]; !used(n, uses) && !binds(n, bounded) {
			dead[n] = true
			for _, v := range n.Inputs {
				uses[v]--
			}
		}
	}
	removed := edit.RemoveNodes(g, func(n *ir.Node) bool { return dead[n] })
	return dropResults(g, uses) || removed || changed
}

func used(n *ir.Node, uses map[*ir.Value]int) bool {
	for _, v := range n.Outputs {
		if v != nil && uses[v] > 0 {
			return true
		}
	}
	return false
}

// binds reports whether a node binds a number that the user bounds.
func binds(n *ir.Node, bounded map[string]sym.Range) bool {
	return n.Op == ops.Bind && slices.ContainsFunc(n.Computes, func(name string) bool { _, ok := bounded[name]; return ok })
}

// dropResults makes results that nothing uses absent; the others keep their
// numbers. The results of nodes with regions stay: they are the regions' outputs,
// one by one. So does that of a node that binds numbers: it is there for them.
func dropResults(g *ir.Graph, uses map[*ir.Value]int) bool {
	changed := false
	for _, n := range g.Nodes {
		if len(n.Regions) > 0 || n.Op == ops.Bind {
			continue
		}
		for i, v := range n.Outputs {
			if v != nil && uses[v] == 0 {
				n.Outputs[i], changed = nil, true
			}
		}
	}
	return changed
}
