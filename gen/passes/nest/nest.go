// Package nest makes a Concat of values that an earlier one puts together already a Concat of that one's
// result and the rest. Networks whose every layer reads all layers before it (DenseNet) then write each
// value once, where all the concatenations have it.
package nest

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/passes/edit"
)

// Run nests every Concat that it can, in the longest one before it, and tells whether it changed the
// graph or its regions. Shapes must have been inferred.
func Run(g *ir.Graph) bool {
	changed := false
	var before []concat
	for _, n := range g.Nodes {
		axis, ok := axisOf(n)
		if !ok {
			continue
		}
		all, longest := n.Inputs, concat{}
		for _, b := range before {
			if b.axis == axis && isPrefix(b.of, all) && len(b.of) >= len(longest.of) {
				longest = b
			}
		}
		if longest.of != nil {
			n.Inputs = append([]*ir.Value{longest.result}, all[len(longest.of):]...)
			changed = true
		}
		before = append(before, concat{axis, all, n.Outputs[0]})
	}
	edit.EachRegion(g, func(r *ir.Graph) {
		inner := Run(r)
		changed = changed || inner
	})
	return changed
}

// concat is a Concat as it was given.
type concat struct {
	axis   int64
	of     []*ir.Value
	result *ir.Value
}

// axisOf is a Concat's axis, counted from the first dimension; false for other nodes.
func axisOf(n *ir.Node) (int64, bool) {
	if n.Op != "Concat" || len(n.Inputs) < 2 || !n.Inputs[0].HasShape {
		return 0, false
	}
	axis := n.Int("axis", 0)
	if axis < 0 {
		axis += int64(len(n.Inputs[0].Shape))
	}
	return axis, true
}

// isPrefix tells whether some values, at least two, are the first of others, and not all of them.
func isPrefix(some, all []*ir.Value) bool {
	return len(some) > 1 && len(some) < len(all) && slices.Equal(some, all[:len(some)])
}
