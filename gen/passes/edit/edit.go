// Package edit changes graphs in the ways that passes share: counting uses,
// replacing values, naming new ones, reading and making constants as floats.
package edit

import (
	"fmt"

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

// Namer gives names that no value of a graph has.
type Namer struct{ taken map[string]bool }

// NewNamer knows the names of all values of g and its regions.
func NewNamer(g *ir.Graph) *Namer {
	n := &Namer{taken: map[string]bool{}}
	n.add(g)
	return n
}

// OwnNames knows the names of the values of g, not of its regions'.
func OwnNames(g *ir.Graph) *Namer {
	n := &Namer{taken: map[string]bool{}}
	n.addOwn(g)
	return n
}

func (n *Namer) add(g *ir.Graph) {
	n.addOwn(g)
	EachRegion(g, n.add)
}

func (n *Namer) addOwn(g *ir.Graph) {
	lists := [][]*ir.Value{g.Inputs, g.Outputs}
	for _, x := range g.Nodes {
		lists = append(lists, x.Inputs, x.Outputs)
	}
	for _, vs := range lists {
		for _, v := range vs {
			if v != nil {
				n.taken[v.Name] = true
			}
		}
	}
}

// Name is base, or base with a number where that name is taken.
func (n *Namer) Name(base string) string {
	name := base
	for i := 1; n.taken[name]; i++ {
		name = fmt.Sprintf("%s.%d", base, i)
	}
	n.taken[name] = true
	return name
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
