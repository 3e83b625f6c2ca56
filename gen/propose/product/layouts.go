package product

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/attend"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// Orders reports whether a block is a product, or attention by tasks, whose values may lie with their axes in any order.
func Orders(b *block.Block, t *target.Target) bool {
	if b.Stage != nil && len(b.Placed) > 0 && !t.WorkItems() {
		return attend.Attends(b, t)
	}
	if b.Stage == nil || len(b.Stage.Values) != 1 || b.Stage.Values[0].DType() != ir.F32 {
		return false
	}
	all, err := NewProducts(b, &lower.Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: t, Contractions: true})
	return err == nil && slices.ContainsFunc(all, func(p *product) bool { return !p.X.Constant })
}
