package fill

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/onnx/onnxpb"
)

// model writes a model whose weights were taken out.
func model(t *testing.T, path, location string) {
	t.Helper()
	w := &onnxpb.TensorProto{Name: proto.String("w"), Dims: []int64{1000}, DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), DataLocation: onnxpb.TensorProto_EXTERNAL.Enum()}
	for _, e := range []string{"location=" + location, "seed=7", "mean=0", "std=1", "min=-2", "max=2"} {
		key, value, _ := strings.Cut(e, "=")
		w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)})
	}
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}, Graph: &onnxpb.GraphProto{
		Name: proto.String("g"), Initializer: []*onnxpb.TensorProto{w}, Output: []*onnxpb.ValueInfoProto{{Name: proto.String("w")}}}}
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// weights are those of a model that File wrote.
func weights(t *testing.T, path string) []byte {
	t.Helper()
	f, size, err := files.Open(path)
	require.NoError(t, err)
	defer f.Close()
	file := &ir.File{R: f, Size: size}
	locations, err := onnx.ExternalLocations(file)
	require.NoError(t, err)
	external := map[string]*ir.File{}
	for _, l := range locations {
		data, size, err := files.Open(l)
		require.NoError(t, err)
		defer data.Close()
		external[l] = &ir.File{R: data, Size: size}
	}
	g, err := onnx.Read(file, external, onnx.Options{})
	require.NoError(t, err)
	b, err := g.Outputs[0].Const.Bytes()
	require.NoError(t, err)
	return b
}

// TestFile: weights are the same in the model and beside it.
func TestFile(t *testing.T) {
	t.Chdir(t.TempDir())
	model(t, "in.onnx", "random")
	require.NoError(t, File("in.onnx", "one.onnx", ""))
	assert.NoFileExists(t, "one.onnx.data")
	require.NoError(t, File("in.onnx", "two.onnx", "two.data"))
	assert.FileExists(t, "two.data")
	assert.Len(t, weights(t, "one.onnx"), 4000)
	assert.Equal(t, weights(t, "one.onnx"), weights(t, "two.onnx"))
	require.NoError(t, File("one.onnx", "three.onnx", "three.data"))
	st, err := os.Stat("three.data")
	require.NoError(t, err, "a rule may expect it")
	assert.Zero(t, st.Size())
}

// TestRefused: what is no model, or would be lost, is refused and stays.
func TestRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	model(t, "in.onnx", "random")
	require.NoError(t, os.Symlink("in.onnx", "link.onnx"))
	require.NoError(t, os.WriteFile("text.onnx", []byte("text"), 0o644))
	require.NoError(t, syscall.Mkfifo("pipe", 0o644))
	require.NoError(t, os.Mkdir("folder", 0o755))
	before, err := os.ReadFile("in.onnx")
	require.NoError(t, err)
	for _, c := range []struct{ in, out, data, want string }{
		{"in.onnx", "in.onnx", "", "in.onnx is the same file as in.onnx, which is read"},
		{"in.onnx", "link.onnx", "", "link.onnx is the same file as in.onnx, which is read"},
		{"in.onnx", "out.onnx", "in.onnx", "in.onnx is the same file as in.onnx, which is read"},
		{"in.onnx", "out.onnx", "OUT.onnx", "same path"},
		{"in.onnx", "out.onnx", "folder/x", "not in the folder of out.onnx"},
		{"in.onnx", "folder", "", "folder is a folder"},
		{"pipe", "out.onnx", "", "pipe is a pipe, not a file"},
		{"/dev/zero", "out.onnx", "", "is a device, not a file"},
		{"folder", "out.onnx", "", "folder is a folder, not a file"},
		{"text.onnx", "out.onnx", "", "text.onnx: filling ONNX model: "},
		{"none.onnx", "out.onnx", "", "none.onnx: no such file"},
	} {
		assert.ErrorContains(t, File(c.in, c.out, c.data), c.want)
		assert.NoFileExists(t, "out.onnx")
	}
	after, err := os.ReadFile("in.onnx")
	require.NoError(t, err)
	assert.Equal(t, before, after)
}
