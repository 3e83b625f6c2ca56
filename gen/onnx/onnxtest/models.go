// Package onnxtest makes ONNX's messages for tests, as no exporter would write them too.
//
// Only tests import this package.
package onnxtest

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
)

// Opset is the opset of ai.onnx that Model imports.
const Opset = 21

// Model is a model of nodes, whose outputs are the first result of the last node.
func Model(inputs []*onnxpb.ValueInfoProto, nodes ...*onnxpb.NodeProto) *onnxpb.ModelProto {
	g := &onnxpb.GraphProto{Name: proto.String("hostile"), Input: inputs, Node: nodes}
	if n := len(nodes); n > 0 && len(nodes[n-1].Output) > 0 {
		g.Output = []*onnxpb.ValueInfoProto{Output(nodes[n-1].Output[0])}
	}
	return &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: g, OpsetImport: []*onnxpb.OperatorSetIdProto{Import("", Opset)}}
}

// Import imports an opset of a domain.
func Import(domain string, version int64) *onnxpb.OperatorSetIdProto {
	return &onnxpb.OperatorSetIdProto{Domain: &domain, Version: &version}
}

// Output is an output that declares nothing but its name.
func Output(name string) *onnxpb.ValueInfoProto { return &onnxpb.ValueInfoProto{Name: &name} }

// Input is an input whose dimensions are numbers, names and nil.
func Input(name string, t onnxpb.TensorProto_DataType, dims ...any) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		p := &onnxpb.TensorShapeProto_Dimension{}
		switch d := d.(type) {
		case nil: // a dimension of which nothing is known
		case int:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}
		case int64:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}
		case string:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		default:
			panic(fmt.Sprintf("a dimension is no %T", d))
		}
		shape.Dim = append(shape.Dim, p)
	}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: shape}}}}
}

// Floats is one input of floats.
func Floats(name string, dims ...any) []*onnxpb.ValueInfoProto {
	return []*onnxpb.ValueInfoProto{Input(name, onnxpb.TensorProto_FLOAT, dims...)}
}

// Op is a node with the name "n_" and its result; operands are separated by spaces, attributes are pairs of
// a name and a value.
func Op(name, in, out string, attrs ...any) *onnxpb.NodeProto {
	n := &onnxpb.NodeProto{OpType: proto.String(name), Name: proto.String("n_" + out), Output: []string{out}}
	if in != "" {
		n.Input = strings.Split(in, " ")
	}
	for i := 0; i < len(attrs); i += 2 {
		n.Attribute = append(n.Attribute, Attr(attrs[i].(string), attrs[i+1]))
	}
	return n
}

// Attr is an attribute of the value's kind.
func Attr(name string, value any) *onnxpb.AttributeProto {
	a := &onnxpb.AttributeProto{Name: &name}
	switch x := value.(type) {
	case int:
		a.I, a.Type = proto.Int64(int64(x)), onnxpb.AttributeProto_INT.Enum()
	case int64:
		a.I, a.Type = &x, onnxpb.AttributeProto_INT.Enum()
	case float32:
		a.F, a.Type = &x, onnxpb.AttributeProto_FLOAT.Enum()
	case []int64:
		a.Ints, a.Type = x, onnxpb.AttributeProto_INTS.Enum()
	case []float32:
		a.Floats, a.Type = x, onnxpb.AttributeProto_FLOATS.Enum()
	case string:
		a.S, a.Type = []byte(x), onnxpb.AttributeProto_STRING.Enum()
	case []string:
		for _, s := range x {
			a.Strings = append(a.Strings, []byte(s))
		}
		a.Type = onnxpb.AttributeProto_STRINGS.Enum()
	case *onnxpb.TensorProto:
		a.T, a.Type = x, onnxpb.AttributeProto_TENSOR.Enum()
	case *onnxpb.GraphProto:
		a.G, a.Type = x, onnxpb.AttributeProto_GRAPH.Enum()
	case *onnxpb.SparseTensorProto:
		a.SparseTensor, a.Type = x, onnxpb.AttributeProto_SPARSE_TENSOR.Enum()
	default:
		panic(fmt.Sprintf("an attribute is no %T", x))
	}
	return a
}

// Vector is a Constant of integers.
func Vector(out string, xs ...int64) *onnxpb.NodeProto {
	return Op("Constant", "", out, "value_ints", xs)
}

// With adds initializers.
func With(m *onnxpb.ModelProto, ts ...*onnxpb.TensorProto) *onnxpb.ModelProto {
	m.Graph.Initializer = append(m.Graph.Initializer, ts...)
	return m
}

// Function is a model-local function of domain "my", whose operands and results are separated by spaces.
func Function(name, in, out string, nodes ...*onnxpb.NodeProto) *onnxpb.FunctionProto {
	return &onnxpb.FunctionProto{Domain: proto.String("my"), Name: &name, Input: strings.Fields(in), Output: strings.Fields(out), Node: nodes,
		OpsetImport: []*onnxpb.OperatorSetIdProto{Import("", Opset), Import("my", 1)}}
}

// Call is a node that calls a function of domain "my".
func Call(name, in, out string) *onnxpb.NodeProto {
	n := Op(name, in, out)
	n.Domain = proto.String("my")
	return n
}

// WithFunctions adds model-local functions.
func WithFunctions(m *onnxpb.ModelProto, fs ...*onnxpb.FunctionProto) *onnxpb.ModelProto {
	m.Functions = append(m.Functions, fs...)
	m.OpsetImport = append(m.OpsetImport, Import("my", 1))
	return m
}

// Bytes is the model's file: the same bytes for the same model.
func Bytes(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
	if err != nil {
		panic(err) // the message is a test's
	}
	return b
}
