// Package refusal says why no register tile computes a block.
package refusal

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/target"
)

// Of says what in the model or the build keeps register tiles from a block that is a contraction of two operands. It is "" if the block is none, as a
// pool, a softmax or an addition, and there is nothing that a tile would keep in registers; and if nobody can change the reason: that the convolution
// is depthwise, or that loops are estimated to be faster.
func Of(b *block.Block, t *target.Target) string {
	heavy := false
	for _, s := range b.Stages() {
		heavy = heavy || match.Contracts(s)
	}
	if !heavy || depthwise(b) {
		return ""
	}
	if len(b.Placed) == 0 && b.Stage.Values[0].DType() == ir.I32 {
		return refusedProduct(b, t)
	}
	if _, refusal := contract.Examine(b, t); refusal != "" {
		return refusal
	}
	return ""
}

// depthwise reports whether a contraction sums a window of its own for each channel: weights have no axis of the result that the operand lacks.
func depthwise(b *block.Block) bool {
	for _, s := range b.Stages() {
		if !match.Contracts(s) {
			continue
		}
		l, r, ok := match.Multiplied(s)
		if !ok {
			continue
		}
		x, w := axesOf(l, s), axesOf(r, s)
		if len(w) > len(x) {
			x, w = w, x
		}
		if windowed(s) && len(w) > 0 && len(x) > len(w) && !slices.ContainsFunc(w, func(a string) bool { return !slices.Contains(x, a) }) {
			return true
		}
	}
	return false
}

// windowed reports whether a factor is read at sums of an axis of the result and one that is summed along.
func windowed(s *te.Stage) bool {
	found := false
	loads(s.Values[0], func(l te.Load) {
		for _, e := range l.Index {
			found = found || match.UsesOneOf(e, s.Axes) && match.UsesOneOf(e, s.Reduce)
		}
	})
	return found
}

func loads(e te.Expr, f func(te.Load)) {
	te.Walk(e, func(x te.Expr) {
		if l, ok := x.(te.Load); ok {
			f(l)
		}
	})
}

// axesOf are the result's axes of several points that a factor is read along by themselves, not several of them as one.
func axesOf(e te.Expr, s *te.Stage) []string {
	var out []string
	for _, a := range s.Axes {
		along := false
		loads(e, func(l te.Load) { along = along || match.Uses(l, a.Var) && match.GroupSize(l, a) == 0 })
		if along && !a.Extent.Is(1) {
			out = append(out, a.Var)
		}
	}
	return out
}

// refusedProduct is why no tile computes a contraction of integers.
func refusedProduct(b *block.Block, t *target.Target) string {
	switch {
	case len(t.Dots(ir.I32)) == 0:
		return fmt.Sprintf("the facts of the chip %s name no instruction for products of 8-bit integers", t.Name)
	case !match.Static(b.Stage.Reduce):
		return "the length of its sums is known only at run time"
	}
	if p, _ := product.NewProducts(b, lower.NewEnv(t, nil, lower.Options{Contractions: true})); p != nil {
		return ""
	}
	return "it does not multiply two stored 8-bit integers, each minus one zero point, or its rows do not share columns"
}
