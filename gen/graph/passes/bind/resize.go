package bind

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// resized makes scales that only the run knows fractions of symbols, and the dimensions that they give
// symbols of their own, which the user bounds. A filter as wide as a scale says would have no
// bound: antialiased scales must be known.
func (b *binder) resized(n *ir.Node) bool {
	at := 2
	switch {
	case n.Op == "Upsample" && n.Version >= 9, n.Op == "Resize" && n.Version == 10:
		at = 1
	case n.Op != "Resize" || n.Int("antialias", 0) != 0:
		return false
	}
	x, scales := n.Input(0), n.Input(at)
	dims, ok := scales.Static()
	if x == nil || !x.HasShape || !ok || len(dims) != 1 || dims[0] < 1 || dims[0] > int64(len(x.Shape)) || scales.Const != nil || scales.Type != ir.F32 {
		return false
	}
	shape := b.add("Shape", 15, nil, x)
	if n.Has("axes") {
		shape = b.add("Gather", 13, ir.Attrs{"axis": int64(0)}, shape, longs(n.Ints("axes")...))
	}
	count := dims[0]
	fractions := b.add(ops.Fractions, 1, nil, scales)
	part := func(from int64) *ir.Value {
		places := make([]int64, count)
		for i := range places {
			places[i] = from + int64(i)
		}
		return b.add("Gather", 13, ir.Attrs{"axis": int64(0)}, fractions, longs(places...))
	}
	sizes := b.add("Div", 14, nil, b.add("Mul", 14, nil, shape, part(0)), part(count))
	by := b.symbols(numbers{of: fractions, count: 2 * count, axis: -1, low: 1, high: ops.FractionMost})
	n.Inputs[at] = b.add("Concat", 13, ir.Attrs{"axis": int64(0)}, by, b.symbols(numbers{of: sizes, count: count, axis: -1}))
	if n.Op == "Upsample" {
		n.Version = 10
	}
	n.For = n.Model()
	n.Op = ops.Resized
	return true
}
