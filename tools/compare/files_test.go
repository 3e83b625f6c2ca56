package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// TestNoFile: a pipe, a device or a folder where a file is to be read is refused at once.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	for path, kind := range map[string]string{pipe: "a pipe", "/dev/zero": "a device", dir: "a folder"} {
		for what, read := range map[string]func() error{
			"model": func() error { _, err := open(&options{model: path}, t.TempDir()); return err },
			"fill":  func() error { _, err := open(&options{model: path, fill: true}, t.TempDir()); return err },
			"list":  func() error { _, err := readList(path); return err },
			"input": func() error {
				m := &model{graph: &ir.Graph{Inputs: []*ir.Value{{Name: "x", Type: ir.F32}}}}
				_, err := m.inputsOf(&options{inputs: list{"x=" + path}, intLimit: 1}, nil)
				return err
			},
		} {
			done := make(chan error, 1)
			go func() { done <- read() }()
			select {
			case err := <-done:
				assert.ErrorContains(t, err, path+" is "+kind+", not a file", what)
			case <-time.After(waited(t)):
				t.Fatalf("%s %s: it waits", what, path)
			}
		}
	}
}

// waited is how long something may take on a busy machine: until shortly before the test itself has
// to be over.
func waited(t *testing.T) time.Duration {
	const beforeTheEnd, usual = 5 * time.Second, 10 * time.Minute
	if end, ok := t.Deadline(); ok {
		return time.Until(end) - beforeTheEnd
	}
	return usual
}

// TestKeepsOthers: in a folder that a user names, what is the user's stays.
func TestKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "kernels", "mine.cc")
	require.NoError(t, os.MkdirAll(filepath.Dir(mine), 0o755))
	require.NoError(t, os.WriteFile(mine, nil, 0o644))
	work, done, err := workFolder(&options{keep: dir})
	require.NoError(t, err)
	done()
	assert.Equal(t, dir, work)
	assert.FileExists(t, mine)

	model := network(t)
	assert.ErrorContains(t, tune(&options{model: model, tune: model, keep: dir}, nil), "is the same file as the model")
}

// TestFilledBeside: weights that fill put beside the model are found there, and the model's own
// files in its own folder.
func TestFilledBeside(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	external := func(name, location string, more ...string) *onnxpb.TensorProto {
		w := &onnxpb.TensorProto{Name: proto.String(name), Dims: []int64{300 << 20}, DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), DataLocation: onnxpb.TensorProto_EXTERNAL.Enum()}
		for _, e := range append([]string{"location=" + location}, more...) {
			key, value, _ := strings.Cut(e, "=")
			w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)})
		}
		return w
	}
	own := external("own", "own.bin")
	own.Dims = []int64{4}
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}, Graph: &onnxpb.GraphProto{
		Name: proto.String("g"), Initializer: []*onnxpb.TensorProto{external("w", "filled.onnx.data"), own},
		Output: []*onnxpb.ValueInfoProto{{Name: proto.String("w")}, {Name: proto.String("own")}}}}
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "net.onnx"), data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "own.bin"), make([]byte, 16), 0o644))
	// What fill would write takes long; a hole of that size does not.
	require.NoError(t, os.WriteFile(filepath.Join(work, "filled.onnx.data"), nil, 0o644))
	require.NoError(t, os.Truncate(filepath.Join(work, "filled.onnx.data"), 1200<<20))
	got, err := open(&options{model: filepath.Join(dir, "net.onnx"), fill: true}, work)
	require.NoError(t, err)
	assert.True(t, got.large)
	assert.Equal(t, []string{"filled.onnx.data=" + filepath.Join(work, "filled.onnx.data"), "own.bin=" + filepath.Join(dir, "own.bin")}, got.external)
}
