package bind

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// counted makes numbers of a computed count of a Range that begins at, or advances by, what only a run
// knows, or that is of floats. What begins at a known integer ends at a symbol instead, as other
// dimensions may.
func (b *binder) counted(n *ir.Node) bool {
	if n.Op != "Range" || slices.ContainsFunc(n.Inputs, func(v *ir.Value) bool { return v == nil || !v.HasShape }) {
		return false
	}
	start, limit, delta := n.Inputs[0], n.Inputs[1], n.Inputs[2]
	if (start.Const != nil || start.Elems != nil) && delta.Const != nil && bindable(limit) {
		return false
	}
	count := b.add(ops.Steps, 1, nil, start, limit, delta)
	n.Op, n.Version, n.Attrs = ops.Ramp, 1, ir.Attrs{}
	n.Inputs = []*ir.Value{start, delta, b.symbols(count, nil, false)}
	return true
}
