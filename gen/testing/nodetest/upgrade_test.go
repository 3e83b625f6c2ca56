package nodetest

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/onnx/onnxpb"
)

// oldNode is a model of one node of an old opset: its operands are x, the input, and constants.
func oldNode(t *testing.T, opset int64, op string, attrs []*onnxpb.AttributeProto, results int, in ...*ir.Tensor) *ir.Graph {
	n := &onnxpb.NodeProto{OpType: &op, Attribute: attrs}
	g := &onnxpb.GraphProto{Name: proto.String("g"), Node: []*onnxpb.NodeProto{n}}
	for i, x := range in {
		name := string(rune('a' + i))
		n.Input = append(n.Input, name)
		typ := proto.Int32(int32(onnxpb.TensorProto_FLOAT))
		if i > 0 {
			g.Initializer = append(g.Initializer, &onnxpb.TensorProto{Name: &name, Dims: x.Shape, DataType: typ, RawData: x.Data})
			continue
		}
		shape := &onnxpb.TensorShapeProto{}
		for _, d := range x.Shape {
			shape.Dim = append(shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
		}
		g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{
			Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: typ, Shape: shape}}}})
	}
	for i := range results {
		name := string(rune('y' + i))
		n.Output = append(n.Output, name)
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: &name})
	}
	m, err := proto.Marshal(&onnxpb.ModelProto{
		IrVersion: proto.Int64(3), Graph: g, OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: &opset}},
	})
	require.NoError(t, err)
	out, err := onnx.Read(&ir.File{R: bytes.NewReader(m), Size: int64(len(m))}, nil, onnx.Options{})
	require.NoError(t, err)
	return out
}

// attribute is an attribute of a number, a string or a list.
func attribute(name string, x any) *onnxpb.AttributeProto {
	a := &onnxpb.AttributeProto{Name: &name}
	switch x := x.(type) {
	case int:
		a.I, a.Type = proto.Int64(int64(x)), onnxpb.AttributeProto_INT.Enum()
	case float32:
		a.F, a.Type = &x, onnxpb.AttributeProto_FLOAT.Enum()
	case string:
		a.S, a.Type = []byte(x), onnxpb.AttributeProto_STRING.Enum()
	case []int64:
		a.Ints, a.Type = x, onnxpb.AttributeProto_INTS.Enum()
	}
	return a
}

func reshaped(x *ir.Tensor, shape ...int64) *ir.Tensor {
	return &ir.Tensor{Type: x.Type, Shape: shape, Data: x.Data}
}

// TestOldOpsets: a node of an old opset computes what today's does of the operands that its
// definition means, and after simplification nothing is left but that one.
func TestOldOpsets(t *testing.T) {
	type attrs = []*onnxpb.AttributeProto
	x := wave(0.7, 2, 3, 4, 5)
	floats := func(xs ...float32) *ir.Tensor { return of(ir.F32, xs, int64(len(xs))) }
	vec := func(xs ...int64) *ir.Tensor { return of(ir.I64, xs, int64(len(xs))) }
	on := func(axis int) attrs { return attrs{attribute("broadcast", 1), attribute("axis", axis)} }
	consumed := attribute("consumed_inputs", []int64{0, 0})
	infinite := floats(float32(math.Inf(-1)), -7, 0.5, 9, float32(math.Inf(1)))
	for _, c := range []struct {
		name    string
		opset   int64
		op      string
		attrs   attrs
		in      []*ir.Tensor
		now     []*ir.Tensor // today's operands
		nowWith ir.Attrs
	}{
		{"scalar", 6, "Add", attrs{attribute("broadcast", 1)}, []*ir.Tensor{x, wave(1.1)}, []*ir.Tensor{x, wave(1.1)}, nil},
		{"one element of rank 4", 6, "Sub", on(1), []*ir.Tensor{x, wave(1.1, 1, 1, 1, 1)}, []*ir.Tensor{x, wave(1.1, 1)}, nil},
		{"last axis", 1, "Mul", attrs{consumed, attribute("broadcast", 1)}, []*ir.Tensor{x, wave(1.1, 5)}, []*ir.Tensor{x, wave(1.1, 5)}, nil},
		{"last two axes", 6, "Div", attrs{attribute("broadcast", 1)}, []*ir.Tensor{x, wave(1.1, 4, 5)}, []*ir.Tensor{x, wave(1.1, 4, 5)}, nil},
		{"axes in the middle", 6, "Add", on(1), []*ir.Tensor{x, wave(1.1, 3, 4)}, []*ir.Tensor{x, wave(1.1, 3, 4, 1)}, nil},
		{"first axis", 1, "Greater", on(0), []*ir.Tensor{x, wave(1.1, 2)}, []*ir.Tensor{x, wave(1.1, 2, 1, 1, 1)}, nil},
		{"last axis by number", 6, "Less", on(3), []*ir.Tensor{x, wave(1.1, 5)}, []*ir.Tensor{x, wave(1.1, 5)}, nil},
		{"axis without broadcast", 6, "Add", attrs{attribute("axis", 2)}, []*ir.Tensor{x, x}, []*ir.Tensor{x, x}, nil},
		{"slope of channels", 6, "PRelu", nil, []*ir.Tensor{x, wave(1.1, 3)}, []*ir.Tensor{x, wave(1.1, 3, 1, 1)}, nil},
		{"one slope", 1, "PRelu", attrs{consumed}, []*ir.Tensor{x, wave(1.1, 1)}, []*ir.Tensor{x, wave(1.1, 1)}, nil},
		{"slope of a vector", 6, "PRelu", nil, []*ir.Tensor{wave(0.7, 5), wave(1.1, 1)}, []*ir.Tensor{wave(0.7, 5), wave(1.1, 1)}, nil},
		{"type by name", 1, "Cast", attrs{attribute("to", "INT32")}, []*ir.Tensor{x}, []*ir.Tensor{x}, ir.Attrs{"to": int64(6)}},
		{"bound above only", 1, "Clip", attrs{attribute("max", float32(1))}, []*ir.Tensor{infinite}, []*ir.Tensor{infinite, nil, of(ir.F32, []float32{1})}, nil},
		{"bound below only", 5, "Clip", attrs{attribute("min", float32(0))}, []*ir.Tensor{infinite}, []*ir.Tensor{infinite, of(ir.F32, []float32{0})}, nil},
		{"axis 1", 1, "Concat", nil, []*ir.Tensor{x, x}, []*ir.Tensor{x, x}, ir.Attrs{"axis": int64(1)}},
		{"matrix and row", 6, "Gemm", attrs{attribute("broadcast", 1)}, []*ir.Tensor{wave(0.7, 2, 3), wave(1.1, 3, 4), wave(1.3, 4)},
			[]*ir.Tensor{wave(0.7, 2, 3), wave(1.1, 3, 4), wave(1.3, 4)}, nil},
		{"whole norm", 1, "GlobalLpPool", attrs{attribute("p", float32(3))}, []*ir.Tensor{x}, []*ir.Tensor{x}, ir.Attrs{"p": int64(3)}},
		{"paddings", 1, "Pad", attrs{attribute("paddings", []int64{0, 1, 0, 2, 0, 0, 3, 0}), attribute("mode", "reflect")},
			[]*ir.Tensor{x}, []*ir.Tensor{x, vec(0, 1, 0, 2, 0, 0, 3, 0)}, ir.Attrs{"mode": "reflect"}},
		{"shape", 4, "Reshape", attrs{attribute("shape", []int64{0, -1, 2})}, []*ir.Tensor{x}, []*ir.Tensor{x, vec(0, -1, 2)}, nil},
		{"numbers of Selu", 1, "Selu", attrs{consumed}, []*ir.Tensor{x}, []*ir.Tensor{x}, ir.Attrs{"alpha": float32(1.6732), "gamma": float32(1.0507)}},
		{"lengths", 1, "Split", attrs{attribute("axis", 2)}, []*ir.Tensor{x, floats(1, 3)}, []*ir.Tensor{x, vec(1, 3)}, ir.Attrs{"axis": int64(2)}},
		{"tiles", 1, "Tile", nil, []*ir.Tensor{x, floats(3), reshaped(floats(2))}, []*ir.Tensor{x, vec(1, 1, 3, 1)}, nil},
		{"scales", 1, "Upsample", attrs{attribute("height_scale", float32(2)), attribute("width_scale", float32(1.5)), attribute("mode", "bilinear")},
			[]*ir.Tensor{x}, []*ir.Tensor{x, floats(1, 1, 2, 1.5)}, ir.Attrs{"mode": "linear"}},
		{"BatchNormalization", 6, "BatchNormalization", attrs{attribute("is_test", 1)}, []*ir.Tensor{x, wave(1, 3), wave(2, 3), wave(3, 3), floats(1, 2, 3)},
			[]*ir.Tensor{x, wave(1, 3), wave(2, 3), wave(3, 3), floats(1, 2, 3)}, nil},
	} {
		t.Run(c.op+", "+c.name, func(t *testing.T) {
			results := 1
			if c.op == "Split" {
				results = 2
			}
			now := &ir.Node{Op: c.op, Attrs: c.nowWith, Inputs: make([]*ir.Value, len(c.now))}
			for range results {
				now.Outputs = append(now.Outputs, &ir.Value{Name: "y"})
			}
			want, err := interp.Interp{}.Node(now, c.now)
			require.NoError(t, err)
			g := oldNode(t, c.opset, c.op, c.attrs, results, c.in...)
			require.NoError(t, simplify.Run(g))
			require.Len(t, g.Nodes, 1)
			got, err := interp.Graph(g, map[string]*ir.Tensor{"a": c.in[0]})
			require.NoError(t, err)
			for i := range want {
				require.NoError(t, Compare(got[i], want[i]))
			}
		})
	}
}
