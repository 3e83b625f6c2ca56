package onnx

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/testing/wildtest"
)

// fuzzSeeds are models that use what the importer knows.
func fuzzSeeds() []*onnxpb.ModelProto {
	external := raw("e", onnxpb.TensorProto_FLOAT, nil, 1, 4)
	external.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
	for key, value := range map[string]string{"location": "w.bin", "offset": "16", "length": "16"} {
		external.ExternalData = append(external.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)})
	}
	typed := &onnxpb.TensorProto{Name: proto.String("i"), Dims: []int64{2}, DataType: proto.Int32(int32(onnxpb.TensorProto_INT64)), Int64Data: []int64{-1, 4}}
	constants := modelOf(names("x"), names("z"),
		node("Constant", nil, names("c"), "value", raw("", onnxpb.TensorProto_FLOAT, le(float32(3)), 1)),
		node("Constant", nil, names("d"), "value_ints", []int64{-1, 4}),
		node("Add", names("x", "c"), names("y")), node("Add", names("y", "e"), names("s")), node("Reshape", names("s", "d"), names("t")),
		node("Reshape", names("t", "i"), names("z")))
	constants.Graph.Initializer = []*onnxpb.TensorProto{external, typed}

	branch := graphOf(nil, names("r"), node("Add", names("x", "x"), names("r")))
	control := modelOf(names("x"), names("z"), node("Greater", names("x", "x"), names("g")), node("ReduceMax", names("g"), names("c"), "keepdims", 0),
		node("If", names("c"), names("z"), "then_branch", branch, "else_branch", branch))

	functions := modelOf(names("x"), names("z"), inDomain("my", node("F", names("x"), names("y"), "k", 3)), inDomain("my", node("F", names("y"), names("z"))))
	functions.OpsetImport = opsets("", 17, "my", 1)
	f := function("my", "F", names("a"), names("b"), node("Softmax", names("a"), names("s"), "axis", ref("k")), node("Identity", names("s"), names("b")))
	f.Attribute = names("k")
	functions.Functions = []*onnxpb.FunctionProto{f}

	old := modelOf(names("x"), names("y"), node("Clip", names("x"), names("c"), "min", float32(0), "consumed_inputs", []int64{0}), node("Dropout", names("c"), names("y"), "ratio", float32(0.5), "is_test", 1))
	old.OpsetImport = opsets("", 1)
	return []*onnxpb.ModelProto{constants, control, functions, old}
}

// FuzzImport reads broken files. What it can read survives the text form, and is read again where it
// is written as ONNX.
func FuzzImport(f *testing.F) {
	for _, m := range fuzzSeeds() {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		_, err = Read(bytesFile(b), map[string]*ir.File{"w.bin": bytesFile(make([]byte, 64))}, Options{})
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		wildtest.Guard(t, func() string { return "" })
		external := map[string]*ir.File{"w.bin": bytesFile(bytes.Repeat([]byte{1, 0, 0, 0}, 64))}
		g, err := Read(bytesFile(data), external, Options{Fill: true})
		if err != nil {
			require.Less(t, len(err.Error()), 10000, "a message shows parts of names only")
			return
		}
		require.NoError(t, ir.Verify(g))
		reads(t, g)
	})
}

func reads(t *testing.T, g *ir.Graph) {
	hide(g)
	want := text(t, g)
	files := map[string]*ir.File{}
	for i := range 100 {
		files[fmt.Sprint(i)] = &ir.File{Name: fmt.Sprint(i), R: zeros{}, Size: 1 << 40}
	}
	back, err := ir.Parse(strings.NewReader(want), files)
	require.NoError(t, err)
	require.Equal(t, want, text(t, back))
	var model bytes.Buffer
	if err := WriteExternal(&model, io.Discard, "weights", g); err != nil {
		return // operators of another opset, from a function
	}
	_, err = Read(bytesFile(model.Bytes()), map[string]*ir.File{"weights": {R: zeros{}, Size: 1 << 40}}, Options{})
	require.NoError(t, err, want)
}
