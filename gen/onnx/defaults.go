package onnx

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// overridable is the IR version since which an initializer that is an input, too, is a default value, which callers may
// override. Before, each initializer had to be listed as an input.
const overridable = 4

// defaults decides what becomes of inputs that initializers are, too: constants, but for those that the options keep.
// Exporters list weights as inputs, which are fast as constants only; so the graph has a warning.
func (s *scope) defaults(p *onnxpb.GraphProto) error {
	var constant, given []string
	for _, in := range p.Input {
		name := in.GetName()
		t, ok := s.inits[name]
		if !ok {
			continue
		}
		given = append(given, show(name))
		if slices.Contains(s.im.opt.KeepInputs, name) {
			delete(s.inits, name)
			keepShape(in, t)
			continue
		}
		constant = append(constant, show(name))
	}
	for _, name := range s.im.opt.KeepInputs {
		if !slices.Contains(given, show(name)) {
			return fmt.Errorf("--keep-input=%s: there is no such input with a default value; inputs with one: %s", show(name), listed(given))
		}
	}
	if s.im.ir >= overridable && len(constant) > 0 {
		s.g.Warnings = append(s.g.Warnings, ir.Warning{Kind: ir.Default, Text: fmt.Sprintf(
			"inputs with default values become constants of the library: %s; --keep-input=NAME keeps one as an input of each run", listed(constant))})
	}
	return nil
}

// keepShape gives an input that has no type of its own that of its default value.
func keepShape(in *onnxpb.ValueInfoProto, t *onnxpb.TensorProto) {
	tensor := in.GetType().GetTensorType()
	if tensor == nil {
		if in.Type != nil {
			return // another type, which is refused
		}
		elem := t.GetDataType()
		tensor = &onnxpb.TypeProto_Tensor{ElemType: &elem}
		in.Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: tensor}}
	}
	if tensor.Shape != nil {
		return
	}
	tensor.Shape = &onnxpb.TensorShapeProto{}
	for _, d := range t.Dims {
		tensor.Shape.Dim = append(tensor.Shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
	}
}

// listed are the first of some names, and how many more there are.
func listed(names []string) string {
	shown := names[:min(len(names), limit.Listed)]
	switch more := len(names) - len(shown); {
	case len(names) == 0:
		return "none"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}
