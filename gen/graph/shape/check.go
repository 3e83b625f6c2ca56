package shape

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// check compares an inferred result with what is already written at the value:
// what the model declares, or an earlier inference. Only certain contradictions
// count: models that were exported with wrong names of dimensions abound. One of type or rank is an
// error. Of a declared dimension it is a warning: ONNX's own shape inference writes wrong ones.
func (in *inference) check(n *ir.Node, v *ir.Value, typ ir.DType, shape ir.Shape) error {
	for i, d := range shape {
		if _, hi := d.Bounds(in.facts); d.Overflow() || hi < 0 {
			return n.Errorf("dimension %d of result %q would be %s: the shapes of the operands do not match the attributes", i, v.Name, d)
		}
	}
	if err := shape.Fits(typ); err != nil {
		return n.Errorf("result %s would have %w", ir.Show(v.Name), err)
	}
	if v.Type != ir.Invalid && v.Type != typ {
		return n.Errorf("result %q has type %s, but the model declares %s", v.Name, typ, v.Type)
	}
	if !v.HasShape {
		return nil
	}
	if len(v.Shape) != len(shape) {
		return n.Errorf("result %q has shape %v of rank %d, but the model declares %v", v.Name, shape, len(shape), v.Shape)
	}
	for i, d := range shape {
		diff := sym.Sub(d, v.Shape[i])
		if !sym.AtLeast(diff, 1, in.facts) && !sym.AtMost(diff, -1, in.facts) {
			continue
		}
		if !v.Declared {
			return n.Errorf("dimension %d of result %q is %s, but was %s", i, v.Name, d, v.Shape[i])
		}
		in.graph.Warnings = append(in.graph.Warnings, ir.Warning{Kind: ir.Declared, Text: fmt.Sprintf(
			"output %s: the model declares the shape %v, but node %s computes %v, and so does the library", ir.Show(v.Name), v.Shape, n.Model(), shape)})
		break
	}
	v.Declared = false
	return nil
}
