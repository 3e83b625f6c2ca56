package onnx

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Models for tests, built of ONNX's messages.

func bytesFile(b []byte) *ir.File { return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))} }

func marshal(t testing.TB, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

func read(t testing.TB, m *onnxpb.ModelProto, opt Options) (*ir.Graph, error) {
	g, err := Read(bytesFile(marshal(t, m)), nil, opt)
	if err == nil {
		require.NoError(t, ir.Verify(g))
	}
	return g, err
}

func mustRead(t testing.TB, m *onnxpb.ModelProto) *ir.Graph {
	g, err := read(t, m, Options{})
	require.NoError(t, err)
	return g
}

func text(t testing.TB, g *ir.Graph) string {
	var b bytes.Buffer
	require.NoError(t, ir.Print(&b, g))
	return b.String()
}

// modelOf is a model of opset 17 with inputs and outputs of type float[N, 4].
func modelOf(inputs, outputs []string, nodes ...*onnxpb.NodeProto) *onnxpb.ModelProto {
	g := graphOf(inputs, outputs, nodes...)
	g.Name = proto.String("g")
	return &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: opsets("", 17), Graph: g}
}

func graphOf(inputs, outputs []string, nodes ...*onnxpb.NodeProto) *onnxpb.GraphProto {
	g := &onnxpb.GraphProto{Name: proto.String("sub"), Node: nodes}
	for _, in := range inputs {
		g.Input = append(g.Input, info(in, onnxpb.TensorProto_FLOAT, "N", 4))
	}
	for _, out := range outputs {
		g.Output = append(g.Output, info(out, onnxpb.TensorProto_FLOAT, "N", 4))
	}
	return g
}

func opsets(pairs ...any) (out []*onnxpb.OperatorSetIdProto) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &onnxpb.OperatorSetIdProto{Domain: proto.String(pairs[i].(string)), Version: proto.Int64(int64(pairs[i+1].(int)))})
	}
	return out
}

// info declares a value; dimensions are ints, strings, or nil for an unknown one.
func info(name string, typ onnxpb.TensorProto_DataType, dims ...any) *onnxpb.ValueInfoProto {
	s := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		p := &onnxpb.TensorShapeProto_Dimension{}
		switch d := d.(type) {
		case int:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}
		case string:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		}
		s.Dim = append(s.Dim, p)
	}
	t := &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(typ)), Shape: s}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: t}}}
}

func names(list ...string) []string { return list }

// node is a node called like its first result; attributes are pairs of a name and a value.
func node(op string, in, out []string, attrs ...any) *onnxpb.NodeProto {
	n := &onnxpb.NodeProto{OpType: proto.String(op), Input: in, Output: out}
	if len(out) > 0 {
		n.Name = proto.String("n_" + out[0])
	}
	for i := 0; i < len(attrs); i += 2 {
		n.Attribute = append(n.Attribute, attr(attrs[i].(string), attrs[i+1]))
	}
	return n
}

// ref is the value of an attribute that refers to a function's.
type ref string

func attr(name string, x any) *onnxpb.AttributeProto {
	a := &onnxpb.AttributeProto{Name: proto.String(name)}
	kind := onnxpb.AttributeProto_UNDEFINED
	switch x := x.(type) {
	case int:
		a.I, kind = proto.Int64(int64(x)), onnxpb.AttributeProto_INT
	case float32:
		a.F, kind = proto.Float32(x), onnxpb.AttributeProto_FLOAT
	case string:
		a.S, kind = []byte(x), onnxpb.AttributeProto_STRING
	case []int64:
		a.Ints, kind = x, onnxpb.AttributeProto_INTS
	case []float32:
		a.Floats, kind = x, onnxpb.AttributeProto_FLOATS
	case []string:
		kind = onnxpb.AttributeProto_STRINGS
		for _, s := range x {
			a.Strings = append(a.Strings, []byte(s))
		}
	case *onnxpb.TensorProto:
		a.T, kind = x, onnxpb.AttributeProto_TENSOR
	case *onnxpb.GraphProto:
		a.G, kind = x, onnxpb.AttributeProto_GRAPH
	case ref:
		a.RefAttrName, kind = proto.String(string(x)), onnxpb.AttributeProto_INT
	case onnxpb.AttributeProto_AttributeType:
		kind = x
	default:
		panic(fmt.Sprintf("attribute of type %T", x))
	}
	a.Type = kind.Enum()
	return a
}

// raw is a tensor with elements in raw_data.
func raw(name string, typ onnxpb.TensorProto_DataType, data []byte, dims ...int64) *onnxpb.TensorProto {
	t := &onnxpb.TensorProto{Dims: dims, DataType: proto.Int32(int32(typ)), RawData: data}
	if name != "" {
		t.Name = &name
	}
	return t
}

func function(domain, name string, in, out []string, nodes ...*onnxpb.NodeProto) *onnxpb.FunctionProto {
	return &onnxpb.FunctionProto{Domain: &domain, Name: &name, Input: in, Output: out, Node: nodes, OpsetImport: opsets("", 18, domain, 1)}
}

func inDomain(d string, n *onnxpb.NodeProto) *onnxpb.NodeProto { n.Domain = &d; return n }
