package product

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/propose/lower"
)

// AnyOrder reports whether a block is a product of f32, which takes values with any order of axes.
func AnyOrder(b *block.Block, env *lower.Env) bool {
	if len(b.Stage.Values) != 1 || b.Stage.Values[0].DType() != ir.F32 {
		return false
	}
	all, err := NewProducts(b, env.InRows())
	return err == nil && slices.ContainsFunc(all, func(p *product) bool { return !p.X.Constant })
}

// ConstantKey returns lower.Elements for zero points and, on chips that store factors in their
// instructions' layouts, for all integers: an instruction multiplies them if it can hold their
// difference. For terms of sums in floats it reports whether floats hold all sums.
func ConstantKey(v *ir.Value, zero bool, env *lower.Env) (string, error) {
	t := env.Target
	switch {
	case v.Type.IsInteger() && len(t.Dots(ir.I32)) > 0 && (t.StoresDots() || zero):
		return lower.Elements, nil
	case v.Type == ir.I32 && sumsInFloats(t):
		fits, err := addable(v)
		return fmt.Sprintf("addable to floats: %t", fits), err
	}
	return "", nil
}
