// Package edit changes graphs in the ways that passes share: counting uses,
// replacing values, naming new ones, reading and making constants as floats.
package edit

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Uses counts the uses of each value: by operands, captures included, and by the
// graph's outputs. Constants are counted within regions too.
func Uses(g *ir.Graph) map[*ir.Value]int {
	uses := map[*ir.Value]int{}
	countUses(g, uses)
	return uses
}

func countUses(g *ir.Graph, uses map[*ir.Value]int) {
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			if v != nil {
				uses[v]++
			}
		}
		for _, r := range n.Regions {
			countUses(r, uses)
		}
	}
	for _, v := range g.Outputs {
		uses[v]++
	}
}

// EachRegion calls f for the regions of the graph's nodes, not for those within them.
func EachRegion(g *ir.Graph, f func(*ir.Graph)) {
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			f(r)
		}
	}
}

// Resolve follows replacements from v to what stays.
func Resolve(m map[*ir.Value]*ir.Value, v *ir.Value) *ir.Value {
	for m[v] != nil {
		v = m[v]
	}
	return v
}

// Replace makes operands and outputs of the graph that are keys of m their values,
// which may be keys again. Regions are closed but for constants and stay as they are.
func Replace(g *ir.Graph, m map[*ir.Value]*ir.Value) {
	if len(m) == 0 {
		return
	}
	swap := func(vs []*ir.Value) {
		for i, v := range vs {
			vs[i] = Resolve(m, v)
		}
	}
	for _, n := range g.Nodes {
		swap(n.Inputs)
	}
	swap(g.Outputs)
}

// IsOutput reports whether v is an output of the graph.
func IsOutput(g *ir.Graph, v *ir.Value) bool {
	for _, o := range g.Outputs {
		if o == v {
			return true
		}
	}
	return false
}

// NewNamer knows the names of all values of g and its regions.
func NewNamer(g *ir.Graph) *ir.Names {
	n := &ir.Names{}
	takeAll(n, g)
	return n
}

// OwnNames knows the names of the values of g, not of its regions'.
func OwnNames(g *ir.Graph) *ir.Names {
	n := &ir.Names{}
	takeOwn(n, g)
	return n
}

func takeAll(n *ir.Names, g *ir.Graph) {
	takeOwn(n, g)
	EachRegion(g, func(r *ir.Graph) { takeAll(n, r) })
}

func takeOwn(n *ir.Names, g *ir.Graph) {
	n.Take(g.Inputs...)
	n.Take(g.Outputs...)
	for _, x := range g.Nodes {
		n.Take(x.Inputs...)
		n.Take(x.Outputs...)
	}
}

// RemoveNodes keeps the nodes for which dead is false.
func RemoveNodes(g *ir.Graph, dead func(*ir.Node) bool) bool {
	keep := g.Nodes[:0:0]
	for _, n := range g.Nodes {
		if !dead(n) {
			keep = append(keep, n)
		}
	}
	removed := len(keep) < len(g.Nodes)
	g.Nodes = keep
	return removed
}

// Version is the version of an operator's definition that the graph's opset has.
func Version(op string, g *ir.Graph) int {
	if row := ops.Lookup(op); row != nil {
		return row.Definition(g.Opset)
	}
	return 0
}
