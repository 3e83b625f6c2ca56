package match

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// ZeroPoints are the operands that are subtracted from the factors of a contraction: what its kernels are depends on the elements of constant ones.
func ZeroPoints(b *block.Block) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	if b.Stage == nil {
		return out
	}
	for _, v := range b.Stage.Values {
		te.Walk(v, func(e te.Expr) {
			sub, ok := e.(te.Call)
			if !ok || sub.Fn != "sub" {
				return
			}
			te.Walk(sub.Args[1], func(e te.Expr) {
				if l, ok := e.(te.Load); ok && !l.Source.Stage {
					out[b.Operands[l.Source.N]] = true
				}
			})
		})
	}
	return out
}
