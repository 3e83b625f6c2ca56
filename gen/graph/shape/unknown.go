package shape

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
)

// Cause is a node, or a graph input, whose structure is not known, and why.
type Cause struct {
	Node  *ir.Node
	Value *ir.Value // a graph input, when Node is nil
	Err   error
	// Branch is the branch of the node, an If, that is malformed, where only one of them is.
	Branch *ir.Graph
	// Ranks: the node is an If, whose branches give different ranks.
	Ranks bool
}

// UnknownError lists all places where the structure of a graph is not known.
type UnknownError struct {
	Causes []*Cause
	// Dependent counts the nodes whose structure depends on them.
	Dependent int
}

func (e *UnknownError) add(c *Cause) { e.Causes = append(e.Causes, c) }

// Error lists the causes, one a line.
func (e *UnknownError) Error() string {
	var b strings.Builder
	b.WriteString("the structure of the model is not known when code is generated:")
	for _, c := range e.Causes {
		if c.Node != nil {
			fmt.Fprintf(&b, "\n  node %s: %v", c.Node.Label(), c.Err)
		} else {
			fmt.Fprintf(&b, "\n  input %q: %v", c.Value.Name, c.Err)
		}
	}
	if e.Dependent > 0 {
		fmt.Fprintf(&b, "\n  and %d nodes that depend on these", e.Dependent)
	}
	b.WriteString("\nAxes and other values that determine ranks and loops must follow from constants and from the shapes of the inputs." +
		" Make them initializers of the model, or bind its symbolic dimensions, including computed ones (dims = {...}).")
	return b.String()
}
