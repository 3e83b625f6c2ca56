// Package nest makes a Concat of values that lie together already one of what they lie in, and the rest.
//
// That is the result of an earlier Concat: networks whose every layer reads all layers before it (DenseNet) then
// write each value once, where all the concatenations have it. Or it is the operand of a Split: networks that compute something
// of a half of the channels and keep both (YOLOv8) then write the whole where the Concat has it.
package nest

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Run nests every Concat that it can, in the longest one before it, puts together what a Split takes apart, and reports whether it
// changed the graph or its regions. Shapes must have been inferred.
func Run(g *ir.Graph) bool {
	changed := false
	var before []concat
	for _, n := range g.Nodes {
		axis, ok := axisOf(n)
		if !ok {
			continue
		}
		if whole := rejoined(n.Inputs, axis); len(whole) < len(n.Inputs) {
			n.Inputs = whole
			changed = true
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

// rejoined are values of a Concat, of which all that a Split makes along the same axis become what it makes them of. At least
// two remain.
func rejoined(values []*ir.Value, axis int64) []*ir.Value {
	out := slices.Clone(values)
	for i := 0; i < len(out); i++ {
		d := out[i].Def
		if d == nil || d.Op != "Split" || !d.Inputs[0].HasShape || firstAxis(d) != axis || !exhausts(d, int(axis)) {
			continue
		}
		if k := len(d.Outputs); k < len(out) && i+k <= len(out) && slices.Equal(d.Outputs, out[i:i+k]) {
			out = slices.Replace(out, i, i+k, d.Inputs[0])
		}
	}
	return out
}

// exhausts reports whether a Split's parts come to its operand whatever the run's dimensions are: other Splits refuse some.
func exhausts(n *ir.Node, axis int) bool {
	sum := sym.Const(0)
	for _, v := range n.Outputs {
		if v == nil || !v.HasShape || axis >= len(v.Shape) {
			return false
		}
		sum = sym.Add(sum, v.Shape[axis])
	}
	return sum.Equal(n.Inputs[0].Shape[axis])
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
	return firstAxis(n), true
}

// firstAxis is a node's axis, counted from the first dimension.
func firstAxis(n *ir.Node) int64 {
	axis := n.Int("axis", 0)
	if axis < 0 {
		axis += int64(len(n.Inputs[0].Shape))
	}
	return axis
}

// isPrefix reports whether some values, at least two, are the first of others, and not all of them.
func isPrefix(some, all []*ir.Value) bool {
	return len(some) > 1 && len(some) < len(all) && slices.Equal(some, all[:len(some)])
}
