// Package refusal says why no register tile computes a block.
package refusal

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/contract"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/lower/product"
	"rules_dnn/gen/target"
)

// Of says why no register tile computes a block that is a contraction of two operands; "" where the block is none,
// as a pool, a softmax or an addition: there is nothing that a tile would keep in registers.
func Of(b *block.Block, t *target.Target) string {
	heavy := false
	for _, s := range b.Stages() {
		heavy = heavy || match.Contracts(s)
	}
	if !heavy {
		return ""
	}
	if len(b.Placed) == 0 && b.Stage.Values[0].DType() == ir.I32 {
		return refusedProduct(b, t)
	}
	if _, refusal := contract.Examine(b, t); refusal != "" {
		return refusal
	}
	return "its layouts suit no tile, or loops are estimated to be faster"
}

// refusedProduct is why no tile computes a contraction of integers.
func refusedProduct(b *block.Block, t *target.Target) string {
	switch {
	case len(t.Dots(ir.I32)) == 0:
		return fmt.Sprintf("the facts of the chip %s name no instruction for products of 8-bit integers", t.Name)
	case !match.Static(b.Stage.Reduce):
		return "how long its sums are is known at run time only"
	}
	if p, _ := product.NewProducts(b, &lower.Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: t, Contractions: true}); p != nil {
		return "its layouts suit no tile, or loops are estimated to be faster"
	}
	return "it is no product of two 8-bit integers, each minus one zero point, that are read where they are stored, or has no rows that share columns"
}
