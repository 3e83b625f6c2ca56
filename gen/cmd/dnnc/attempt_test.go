package main

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/testing/wildtest"
)

// Models of ONNX's messages, as no exporter would write them.
var (
	hostileModel = onnxtest.Model
	input        = onnxtest.Input
	floats       = onnxtest.Floats
	op           = onnxtest.Op
	vector       = onnxtest.Vector
	with         = onnxtest.With
	ones         = onnxtest.Ones
)

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
	chipFile = factsFile(t, "x86_64")
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
