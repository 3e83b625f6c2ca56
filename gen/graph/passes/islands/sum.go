package islands

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// mostSummed is how many elements are added at most: f32 holds each sum of so many.
const mostSummed = 1 << 16

// summed makes an operator that adds elements of a quantized tensor, as those do that take means, one that adds its integers: in any order the
// same, and right.
func summed(p *pass, n *ir.Node) []*ir.Node {
	if result(n) == nil || len(n.Inputs) == 0 || !n.Outputs[0].HasShape || n.Outputs[0].Type != ir.F32 || ops.IsComposition(n) {
		return nil
	}
	q, a := dequantized(n.Inputs[0])
	if a == nil || !a.isBytes() || !a.sole() {
		return nil
	}
	m, err := ops.Build(n, p.facts)
	if err != nil || !ops.Sums(m) || !few(m.Stages[0].Reduce, p.facts) {
		return nil
	}
	b := p.replace(n)
	zero := a.at
	if zero == nil {
		zero = b.integer("zero", a.typ, 0)
	}
	in := append([]*ir.Value{q, n.Inputs[0].Def.Input(1), zero}, n.Inputs[1:]...)
	b.add(ops.Summed+n.Op, n.Version, ir.F32, n.Outputs[0].Shape, n.Attrs, in...)
	return b.done()
}

// few reports whether axes certainly have no more points than are added.
func few(axes []te.Axis, f sym.Facts) bool {
	n := int64(1)
	for _, a := range axes {
		_, hi := a.Extent.Bounds(f)
		if hi < 0 || hi > mostSummed {
			return false
		}
		if n *= hi; n > mostSummed {
			return false
		}
	}
	return true
}
