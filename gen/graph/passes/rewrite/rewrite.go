// Package rewrite replaces what nodes compute by operators that take fewer operations. The rules are a table
// of patterns in the operators' own terms (DNNFusion, dissertation 3.2.2: mathematical properties before
// fusion); and the greatest element of a window is found along one axis after the other.
package rewrite

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// rule says that a pattern's value is that of an operator of its variables, in the order in which they first occur.
type rule struct {
	pattern, op string
	version     int
}

// rules are tried in their order on every node.
var rules = []rule{
	// tanh(ln(1 + e^x)) is a quotient of polynomials of e^x: one exponential instead of two and a logarithm.
	{"Mul(x, Tanh(Softplus(x)))", "Mish", 22},
}

// commutes are the operators whose two operands may change places.
var commutes = []string{"Add", "Mul"}

// Run replaces all that it can in the graph and its regions and reports whether it did; what nothing reads
// any more stays.
func Run(g *ir.Graph) bool {
	changed := false
	uses := edit.Uses(g)
	for _, n := range g.Nodes {
		for _, r := range compiled {
			m := match{uses: uses, variables: make([]*ir.Value, len(r.variables))}
			if m.node(n, r.root) {
				n.Op, n.Version, n.Inputs, n.Attrs = r.op, r.version, m.variables, nil
				changed = true
				break
			}
		}
	}
	changed = separate(g) || changed
	edit.EachRegion(g, func(r *ir.Graph) {
		inner := Run(r)
		changed = changed || inner
	})
	return changed
}

// match is a try to find a pattern, and what its variables are so far.
type match struct {
	uses      map[*ir.Value]int
	variables []*ir.Value
}

func (m *match) node(n *ir.Node, p *pattern) bool {
	if n.Op != p.op || len(n.Attrs) > 0 || len(n.Inputs) != len(p.args) || len(n.Outputs) != 1 {
		return false
	}
	before := slices.Clone(m.variables)
	if m.all(n.Inputs, p.args) {
		return true
	}
	if m.variables = before; !slices.Contains(commutes, n.Op) {
		return false
	}
	return m.all([]*ir.Value{n.Inputs[1], n.Inputs[0]}, p.args)
}

func (m *match) all(vs []*ir.Value, ps []*pattern) bool {
	for i, v := range vs {
		if v == nil || !m.value(v, ps[i]) {
			return false
		}
	}
	return true
}

// value matches an operand; what is not a variable must have this reader only.
func (m *match) value(v *ir.Value, p *pattern) bool {
	if p.op != "" {
		return v.Def != nil && m.uses[v] == 1 && m.node(v.Def, p)
	}
	if m.variables[p.variable] == nil {
		m.variables[p.variable] = v
	}
	return m.variables[p.variable] == v
}
