package nest

import (
	"slices"

	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// A convolution to one channel has no lanes along channels, so that tiles of these would compute as many channels as a vector has lanes and keep one.
// Its lanes are pixels, as those of a window of a pool are: products with padding are left out as elements beside such a window are, by bounds.

// oneFilter makes the guard of the padding that a multiply-accumulate reads one of its product, where each weight meets all points.
func (n *Nest) oneFilter() {
	if n.Combiner == nil || n.Combiner.Name != "sum" || len(n.Values) != 1 || !n.windows || n.target.WorkItems() || len(n.within) > 0 {
		return
	}
	product, ok := n.Values[0].(te.Call)
	if !ok || product.Fn != "mul" || !product.Type.IsFloat() {
		return
	}
	for i, factor := range product.Args {
		s, guarded := factor.(te.Select)
		if guarded && zero(s.Else) && n.meetsAll(product.Args[1-i]) {
			whole := product
			whole.Args = slices.Clone(product.Args)
			whole.Args[i] = s.Then
			n.Values[0] = te.Select{Cond: s.Cond, Then: whole, Else: te.Number(product.Type, 0)}
			return
		}
	}
}

// meetsAll reports whether a factor is the same at all points of the results.
func (n *Nest) meetsAll(e te.Expr) bool {
	m, ok := e.(loop.Mem)
	return ok && !slices.ContainsFunc(n.Axes, func(a te.Axis) bool { return !a.Extent.Is(1) && m.Index.Uses(a.Var) })
}
