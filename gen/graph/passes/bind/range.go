package bind

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// ends reports whether all that a Range waits for is the integer that it ends at: a symbol, as other
// dimensions are.
func ends(n *ir.Node) bool {
	start, limit, delta := n.Input(0), n.Input(1), n.Input(2)
	return start != nil && (start.Const != nil || start.Elems != nil) && delta != nil && delta.Const != nil && limit != nil && bindable(limit)
}

// counted makes numbers of a computed count of a Range that begins at, or advances by, what only a run
// knows, or that is of floats. A count that does not follow from the shapes is bound next.
func (b *binder) counted(n *ir.Node) bool {
	if n.Op != "Range" || ends(n) || slices.ContainsFunc(n.Inputs, func(v *ir.Value) bool { return v == nil || !v.HasShape }) {
		return false
	}
	start, limit, delta := n.Inputs[0], n.Inputs[1], n.Inputs[2]
	count := b.add(ops.Steps, 1, nil, start, limit, delta)
	n.For = n.Model()
	n.Op, n.Version, n.Attrs = ops.Ramp, 1, ir.Attrs{}
	n.Inputs = []*ir.Value{start, delta, count}
	return true
}
