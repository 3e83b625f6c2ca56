package onnx

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// rawTensor is one of bytes.
func rawTensor(name string, t onnxpb.TensorProto_DataType, raw []byte, dims ...int64) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(t)), Dims: dims, RawData: raw}
}

func named(p *onnxpb.TensorProto, name string) *onnxpb.TensorProto {
	p.Name = proto.String(name)
	return p
}

func placesModel() *onnxpb.ModelProto {
	constant := &onnxpb.NodeProto{OpType: proto.String("Constant"), Output: []string{"constant"}, Attribute: []*onnxpb.AttributeProto{{
		Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: rawTensor("", onnxpb.TensorProto_FLOAT, []byte{9, 8, 7, 6}, 1)}}}
	m := modelOf([]string{"x"}, []string{"x"}, constant)
	m.Graph.Initializer = []*onnxpb.TensorProto{
		rawTensor("raw", onnxpb.TensorProto_FLOAT16, []byte{1, 2, 3, 4}, 2),
		{Name: proto.String("typed"), DataType: proto.Int32(1), Dims: []int64{1}, FloatData: []float32{1}},
		{Name: proto.String("varints"), DataType: proto.Int32(10), Dims: []int64{1}, Int32Data: []int32{15360}},
		named(external("location", "w.bin", "offset", "400"), "outside"),
		named(external("location", "w.bin", "offset", "600"), "meets"),
		named(external("location", "w.bin"), "alone"),
		named(external("location", "random", "seed", "1"), "filled"),
	}
	return m
}

// TestPlaces: what is written at a constant's place changes this constant and nothing else.
func TestPlaces(t *testing.T) {
	b := marshal(t, placesModel())
	weights := bytes.Repeat([]byte{5}, 1000)
	files := map[string]*ir.File{"./w.bin": bytesFile(weights)}
	of, err := Places(bytesFile(b), files)
	require.NoError(t, err)
	for name, want := range map[string][]byte{"raw": {1, 2, 3, 4}, "typed": {0, 0, 128, 63}, "constant": {9, 8, 7, 6}} {
		s, err := of(name)
		require.NoError(t, err)
		require.Empty(t, s.File.Name)
		require.Equal(t, want, b[s.Offset:s.Offset+s.Length])
		var out bytes.Buffer
		require.NoError(t, WriteChanged(&out, bytesFile(b), map[*ir.Source][]byte{s: make([]byte, len(want))}))
		changed := out.Bytes()
		require.Equal(t, make([]byte, len(want)), changed[s.Offset:s.Offset+s.Length])
		copy(changed[s.Offset:], want)
		require.Equal(t, b, changed)
	}
	s, err := of("alone")
	require.NoError(t, err)
	require.Equal(t, []any{"w.bin", int64(0), int64(400)}, []any{s.File.Name, s.Offset, s.Length})
	for name, want := range map[string]string{
		"varints": "not stored as raw_data",
		"outside": `with constant "meets"`,
		"meets":   `with constant "outside"`,
		"filled":  "removed from the model",
		"none":    "neither an initializer",
	} {
		_, err := of(name)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `constant "`+name+`"`)
	}
}

// TestWriteChangedRefuses: changes that do not fit the file or meet.
func TestWriteChangedRefuses(t *testing.T) {
	f := bytesFile(make([]byte, 10))
	for _, changes := range []map[*ir.Source][]byte{
		{{Offset: 8, Length: 4}: make([]byte, 4)},
		{{Offset: 0, Length: 4}: make([]byte, 3)},
		{{Offset: 0, Length: 4}: make([]byte, 4), {Offset: 3, Length: 1}: make([]byte, 1)},
	} {
		require.ErrorContains(t, WriteChanged(&bytes.Buffer{}, f, changes), "a change of")
	}
}
