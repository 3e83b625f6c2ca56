package lower

import (
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/target"
)

// rowMajor reports whether all values of a block are.
func rowMajor(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return lay(v) != layout.RowMajor })
}

// anyOrder reports whether a product's values lie as it reads and stores them: axes in any order, of integers in that of their shapes, which
// are reshaped, or with channels last, as all results then are.
func anyOrder(b *block.Block, lay Layouts) bool {
	integers := len(b.Stage.Values) > 0 && b.Stage.Values[0].DType() == ir.I32
	if integers && !rowMajor(b, lay) && !lieLast(b, lay) {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return !lay(v).Orders() })
}

// lieLast reports whether a product's results have their channels last, and what else is not row-major and has as many axes.
func lieLast(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(b.Results, func(v *ir.Value) bool { return lay(v) != channelsLast }) &&
		!slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool {
			return lay(v) != layout.RowMajor && (lay(v) != channelsLast || len(v.Shape) != len(b.Stage.Axes))
		})
}

// Orders reports whether a block is a product, or attention by tasks, whose values may lie with their axes in any order.
func Orders(b *block.Block, t *target.Target) bool {
	if b.Stage != nil && len(b.Placed) > 0 && !t.WorkItems() {
		return recognised(&attention{env: &Env{Target: t, Contractions: true}, b: b}) != nil
	}
	if b.Stage == nil || len(b.Stage.Values) != 1 || b.Stage.Values[0].DType() != ir.F32 {
		return false
	}
	all, err := newProducts(b, &Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: t, Contractions: true})
	return err == nil && slices.ContainsFunc(all, func(p *product) bool { return !p.x.constant })
}
