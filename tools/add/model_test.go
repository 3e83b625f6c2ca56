package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
)

// network is an ONNX model of a test: one input of the dims, to which tensors of external data are
// added.
type network struct {
	dims     []string
	external []string // locations
	op       string   // of the last node; Relu if empty
}

// place is where tests put a network's file, and that of each of its locations.
func (n network) place(t *testing.T, path string) {
	t.Helper()
	writeFile(t, path, string(n.marshal(t)))
	for _, location := range n.external {
		writeFile(t, filepath.Join(filepath.Dir(path), location), string(make([]byte, 8)))
	}
}

func (n network) marshal(t *testing.T) []byte {
	t.Helper()
	graph := &onnxpb.GraphProto{Name: proto.String("net"), Input: []*onnxpb.ValueInfoProto{info("x", append(n.dims, "")...)}}
	at := "x"
	for _, location := range n.external {
		graph.Initializer = append(graph.Initializer, &onnxpb.TensorProto{
			Name: proto.String("at " + location), DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), Dims: []int64{2},
			DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
			ExternalData: []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String(location)}},
		})
		graph.Node = append(graph.Node, node("Add", "sum "+location, at, "at "+location))
		at = "sum " + location
	}
	op := n.op
	if op == "" {
		op = "Relu"
	}
	graph.Node = append(graph.Node, node(op, "y", at))
	graph.Output = []*onnxpb.ValueInfoProto{info("y", append(n.dims, "")...)}
	data, err := proto.Marshal(&onnxpb.ModelProto{
		IrVersion: proto.Int64(8), Graph: graph,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(17)}},
	})
	require.NoError(t, err)
	return data
}

func node(op, to string, from ...string) *onnxpb.NodeProto {
	return &onnxpb.NodeProto{OpType: proto.String(op), Input: from, Output: []string{to}}
}

// info describes a value of floats; the dimension "" is 2.
func info(name string, dims ...string) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		dim := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: 2}}
		if d != "" {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		}
		shape.Dim = append(shape.Dim, dim)
	}
	return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), Shape: shape},
	}}}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}
