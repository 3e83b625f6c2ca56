package main

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/wildtest"
)

// Models of ONNX's messages, as no exporter would write them.

func hostileModel(inputs []*onnxpb.ValueInfoProto, nodes ...*onnxpb.NodeProto) *onnxpb.ModelProto {
	g := &onnxpb.GraphProto{Name: proto.String("hostile"), Input: inputs, Node: nodes}
	if n := len(nodes); n > 0 && len(nodes[n-1].Output) > 0 {
		g.Output = []*onnxpb.ValueInfoProto{{Name: proto.String(nodes[n-1].Output[0])}}
	}
	return &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: g,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(21)}}}
}

func input(name string, t onnxpb.TensorProto_DataType, dims ...any) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		p := &onnxpb.TensorShapeProto_Dimension{}
		switch d := d.(type) {
		case int:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}
		case string:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		}
		shape.Dim = append(shape.Dim, p)
	}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: shape}}}}
}

func floats(name string, dims ...any) []*onnxpb.ValueInfoProto {
	return []*onnxpb.ValueInfoProto{input(name, onnxpb.TensorProto_FLOAT, dims...)}
}

// op is a node with the name "n_" and its result; attributes are pairs of a name and a value.
func op(name, in, out string, attrs ...any) *onnxpb.NodeProto {
	n := &onnxpb.NodeProto{OpType: proto.String(name), Name: proto.String("n_" + out), Output: []string{out}}
	if in != "" {
		n.Input = strings.Split(in, " ")
	}
	for i := 0; i < len(attrs); i += 2 {
		a := &onnxpb.AttributeProto{Name: proto.String(attrs[i].(string))}
		switch x := attrs[i+1].(type) {
		case int:
			a.I, a.Type = proto.Int64(int64(x)), onnxpb.AttributeProto_INT.Enum()
		case []int64:
			a.Ints, a.Type = x, onnxpb.AttributeProto_INTS.Enum()
		case string:
			a.S, a.Type = []byte(x), onnxpb.AttributeProto_STRING.Enum()
		case *onnxpb.TensorProto:
			a.T, a.Type = x, onnxpb.AttributeProto_TENSOR.Enum()
		case *onnxpb.GraphProto:
			a.G, a.Type = x, onnxpb.AttributeProto_GRAPH.Enum()
		}
		n.Attribute = append(n.Attribute, a)
	}
	return n
}

// vector is a Constant of integers.
func vector(out string, xs ...int64) *onnxpb.NodeProto {
	return op("Constant", "", out, "value_ints", xs)
}

// with adds initializers of int64 or float, by their elements.
func with(m *onnxpb.ModelProto, ts ...*onnxpb.TensorProto) *onnxpb.ModelProto {
	m.Graph.Initializer = append(m.Graph.Initializer, ts...)
	return m
}

func ones(name string, dims ...int64) *onnxpb.TensorProto {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	t := &onnxpb.TensorProto{Name: &name, Dims: dims, DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT))}
	for range n {
		t.RawData = binary.LittleEndian.AppendUint32(t.RawData, math.Float32bits(1))
	}
	return t
}

// attempt compiles a model in the working directory, with what dnnc graph takes besides. Where it
// fails, nothing but the model is left.
func attempt(t *testing.T, model []byte, more ...string) error {
	t.Helper()
	require.NoError(t, os.WriteFile("model.onnx", model, 0o644))
	before := tree(t)
	wildtest.Guard(t, func() string { return "" })
	_, err := dnnc(graphArgs("model.onnx", more...)...)
	if err == nil {
		before = tree(t)
		_, err = dnnc(compileArgs("model.onnx", chipFile)...)
	}
	if err != nil {
		assert.Equal(t, before, tree(t), "half an output is left")
		assert.Less(t, len(err.Error()), 20000)
		assert.NotContains(t, err.Error(), "internal error")
	}
	for name := range tree(t) {
		if name != "model.onnx" {
			require.NoError(t, os.RemoveAll(name))
		}
	}
	return err
}

var chipFile string

// inFolder goes to an empty folder.
func inFolder(t *testing.T) {
	chipFile = absolute(t, chips+"/x86_64.json")
	t.Chdir(t.TempDir())
}

func marshal(t *testing.T, m *onnxpb.ModelProto) []byte {
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

const (
	most  = math.MaxInt64
	least = math.MinInt64
)
