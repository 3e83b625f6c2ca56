package nest

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// What a placed stage computes for each element of the result, as the exponentials of a Softmax, lies in the result itself, where the dominant stage then reads each
// element before it stores it: lines of the result come to the cache while exponentials are computed, and not all at once behind them. Rows that are local arrays
// stay so.

// inResult reports whether placed stage i lies in the result: the first one that may.
func (n *Nest) inResult(b *block.Block, i int) bool {
	first := slices.IndexFunc(b.Placed, func(s *te.Stage) bool { return n.suitsResult(b, s) })
	return first == i && !n.target.WorkItems() && readsOwn(b.Stage, i)
}

// suitsResult reports whether a placed stage has an element of the result's type for each of the result, of rows that are no local arrays.
func (n *Nest) suitsResult(b *block.Block, s *te.Stage) bool {
	if s.Combine != nil || b.Stage.Combine != nil || b.Stage.Update != nil || len(s.Results) != 1 || len(b.Results) != 1 || s.Results[0].DType() != b.Results[0].Type {
		return false
	}
	points := sym.Const(1)
	for _, a := range b.Stage.Axes[b.Depth:] {
		points = sym.Mul(points, a.Extent)
	}
	return slices.EqualFunc(s.Axes, b.Stage.Axes, func(x, y te.Axis) bool { return x.Extent.Equal(y.Extent) }) && sym.AtLeast(points, maxLocal+1, n.Facts)
}

// readsOwn reports whether a stage reads of placed stage i nothing but the element that it is computing.
func readsOwn(s *te.Stage, i int) bool {
	own, all := te.AxisVars(s.Axes), true
	for _, r := range s.Results {
		te.Walk(r, func(e te.Expr) {
			if x, ok := e.(te.Load); ok && x.Source.Stage && x.Source.N == i {
				all = all && slices.EqualFunc(x.Index, own, sym.Expr.Equal)
			}
		})
	}
	return all
}
