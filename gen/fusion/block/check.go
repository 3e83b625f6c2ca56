package block

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Check is a condition on a run's dimensions, without which a node is malformed.
type Check struct {
	ops.Check
	Node string // the label of the model's node
}

// Text says what the check is about; the two sides are not in it.
func (c Check) Text() string { return c.Node + ": " + c.What }

// String is the whole check for dumps: "Conv \"c\": channels: C == 2*G".
func (c Check) String() string {
	return c.Text() + ": " + c.Relation()
}

// addChecks takes over a node's checks; one that another node makes too, here or in a graph
// around it, is kept once.
func (f *former) addChecks(g *Graph, n *ir.Node, cs []ops.Check) {
	for _, c := range cs {
		if !has(f.around, c) && !has(g.Checks, c) {
			g.Checks = append(g.Checks, Check{c, n.Model()})
		}
	}
}

func has(checks []Check, c ops.Check) bool {
	for _, o := range checks {
		same := o.A.Equal(c.A) && o.B.Equal(c.B) || c.Kind != ops.AtLeast && o.A.Equal(c.B) && o.B.Equal(c.A)
		if o.Kind == c.Kind && same {
			return true
		}
	}
	return false
}
