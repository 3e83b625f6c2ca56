package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/pipeline"
)

// TestDeep: what is nested or grows by itself ends at a limit, which the message names.
func TestDeep(t *testing.T) {
	nested := hostileModel(floats("x", 3), op("Relu", "x", "r")).Graph
	for i := range 100 {
		condition := op("Constant", "", "c", "value_int", i)
		nested = hostileModel(nil, condition, op("If", "b", "r", "then_branch", nested, "else_branch", nested)).Graph
		if i > 8 { // the messages are doubled at each level
			nested.Node[1].Attribute[1].G = hostileModel(nil, op("Relu", "x", "r")).Graph
		}
	}
	deep := hostileModel(floats("x", 3))
	deep.Graph = nested
	deep.Graph.Input = append(floats("x", 3), input("b", onnxpb.TensorProto_BOOL))

	function := func(name string, nodes ...*onnxpb.NodeProto) *onnxpb.FunctionProto {
		return &onnxpb.FunctionProto{Domain: proto.String("my"), Name: &name, Input: []string{"a"}, Output: []string{"r"}, Node: nodes,
			OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(21)}}}
	}
	call := func(name, in, out string) *onnxpb.NodeProto {
		n := op(name, in, out)
		n.Domain = proto.String("my")
		return n
	}
	with := func(fs ...*onnxpb.FunctionProto) *onnxpb.ModelProto {
		m := hostileModel(floats("x", 3), call("F0", "x", "y"))
		m.Functions = fs
		m.OpsetImport = append(m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: proto.String("my"), Version: proto.Int64(1)})
		return m
	}
	var chain, bomb []*onnxpb.FunctionProto
	for i := range 100 {
		next := fmt.Sprint("F", i+1)
		chain = append(chain, function(fmt.Sprint("F", i), call(next, "a", "r")))
		if i < 40 {
			bomb = append(bomb, function(fmt.Sprint("F", i), call(next, "a", "b"), call(next, "b", "r")))
		}
	}
	chain = append(chain, function("F100", op("Relu", "a", "r")))
	bomb = append(bomb, function("F40", op("Relu", "a", "r")))

	// Each node squares the number of elements, in an expression of the symbols.
	grows := hostileModel(floats("x", "N", "M"), op("Shape", "x", "s0"))
	for i := range 40 {
		grows.Graph.Node = append(grows.Graph.Node, op("Mul", fmt.Sprintf("s%d s%d", i, i), fmt.Sprintf("t%d", i)), op("Add", fmt.Sprintf("t%d s%d", i, i), fmt.Sprintf("s%d", i+1)))
	}
	grows.Graph.Node = append(grows.Graph.Node, op("Expand", "x s40", "y"))
	grows.Graph.Output = []*onnxpb.ValueInfoProto{{Name: proto.String("y")}}

	// Each node doubles a constant.
	doubles := hostileModel(floats("x", 1), op("Concat", "w w", "c0", "axis", 0))
	doubles.Graph.Initializer = []*onnxpb.TensorProto{ones("w", 64)}
	for i := range 20 {
		doubles.Graph.Node = append(doubles.Graph.Node, op("Concat", fmt.Sprintf("c%d c%d", i, i), fmt.Sprintf("c%d", i+1), "axis", 0))
	}
	doubles.Graph.Output = []*onnxpb.ValueInfoProto{{Name: proto.String("c20")}}

	for name, c := range map[string]struct {
		model []byte
		want  []string
	}{
		"graphs":           {marshal(t, deep), []string{"nested deeper than"}},
		"messages":         {bytes.Repeat([]byte{0x3a, 0x7f}, 64), []string{"ends within a field"}},
		"functions":        {marshal(t, with(chain...)), []string{`function "F`, "functions call each other deeper than 64"}},
		"calls":            {marshal(t, with(bomb...)), []string{"functions expand to more than"}},
		"recursion":        {marshal(t, with(function("F0", call("F1", "a", "r")), function("F1", call("F0", "a", "r")))), []string{"F0", "calls itself; recursion is not supported"}},
		"growing shapes":   {marshal(t, grows), []string{"nothing bounds d_s40_symbols_0", `"n_y"`}},
		"growing constant": {marshal(t, doubles), nil},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t)
			err := attempt(t, c.model)
			if c.want == nil {
				assert.NoError(t, err)
				return
			}
			for _, w := range append(c.want, "model.onnx: ") {
				assert.ErrorContains(t, err, w)
			}
		})
	}
}

// TestExternalData: weights lie in declared files below the model's folder only.
func TestExternalData(t *testing.T) {
	inFolder(t)
	for _, c := range []struct {
		location, offset, length, want string
	}{
		{"../secret", "0", "16", `external data at "../secret" is refused: it leaves the model's folder`},
		{"a/../../secret", "0", "16", "it leaves the model's folder"},
		{"/etc/passwd", "0", "16", "it is not a path relative to the model"},
		{"C:\\x", "0", "16", "refused"},
		{"a\x00b", "0", "16", "zero byte"},
		{".", "0", "16", "it is a folder"},
		{"", "0", "16", "location is missing"},
		{"none.bin", "0", "16", `external data is not declared: "none.bin" (1 tensors)`},
		{"w.bin", "4", "16", `16 bytes from byte 4 on, ends beyond the file (16 bytes)`},
		{"w.bin", "9223372036854775807", "16", "16 bytes from byte 9223372036854775807 on, ends beyond the file (16 bytes)"},
		{"w.bin", "-1", "16", `offset is "-1"`},
		{"w.bin", "0", "17", "has 17 bytes; the tensor needs 16"},
		{"w.bin", "0", "1e3", `length is "1e3"`},
		{"w.bin", "0", "16", ""},
	} {
		w := ones("w", 4)
		w.RawData, w.DataLocation = nil, onnxpb.TensorProto_EXTERNAL.Enum()
		for key, value := range map[string]string{"location": c.location, "offset": c.offset, "length": c.length} {
			w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)})
		}
		require.NoError(t, os.WriteFile("w.bin", make([]byte, 16), 0o644))
		model := marshal(t, with(hostileModel(floats("x", 4), op("Add", "x w", "y")), w))
		require.NoError(t, os.WriteFile("model.onnx", model, 0o644))
		before := tree(t)
		_, err := dnnc(graphArgs("model.onnx", "--external=w.bin=w.bin")...)
		if c.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, "model.onnx: ", c.location)
		assert.ErrorContains(t, err, c.want, c.location)
		assert.Equal(t, before, tree(t))
	}
}

// TestBroken cuts models off and flips bits of them: an error, or another model, but no panic.
func TestBroken(t *testing.T) {
	inFolder(t)
	small := marshal(t, with(hostileModel(floats("x", "N", 3), op("MatMul", "x w", "m"), op("Softmax", "m", "y", "axis", -1)), ones("w", 3, 4)))
	failed, r := 0, rand.New(rand.NewSource(1))
	for cut := range small {
		if attempt(t, small[:cut]) != nil {
			failed++
		}
	}
	assert.Greater(t, failed, len(small)/2)
	for range 400 {
		b := bytes.Clone(small)
		for range 1 + r.Intn(3) {
			b[r.Intn(len(b))] ^= 1 << r.Intn(8)
		}
		_ = attempt(t, b)
	}
}

// TestBrokenNetwork cuts the application's network off, and flips bits in its first bytes and in its weights.
func TestBrokenNetwork(t *testing.T) {
	whole, err := os.ReadFile(absolute(t, resnet))
	require.NoError(t, err)
	inFolder(t)
	for _, cut := range []int{1, 100, len(whole) / 2, len(whole) - 1} {
		assert.ErrorContains(t, attempt(t, whole[:cut]), "model.onnx: reading ONNX model: at byte")
	}
	for i := range 8 {
		b := bytes.Clone(whole)
		b[i*len(b)/8] ^= 0x10
		_ = attempt(t, b)
	}
}

// TestShorten: a message stays readable.
func TestShorten(t *testing.T) {
	err := fmt.Errorf("%w: %s", os.ErrNotExist, "short")
	assert.Equal(t, err, shorten(err))
	long := shorten(fmt.Errorf("the reason: %s\n%s", strings.Repeat("x", 5000), strings.Repeat("line\n", 1000))).Error()
	assert.Contains(t, long, "xx ... (3012 more characters) ... xx")
	assert.Contains(t, long, "(802 more lines)")
	assert.Less(t, len(long), 10000)
}

// TestBug: a panic of a pass is an error that says whose mistake it is.
func TestBug(t *testing.T) {
	err := bug(&pipeline.Bug{Pass: "fuse", Value: "index out of range", Stack: []byte("where")})
	assert.EqualError(t, err, "internal error, a bug of dnnc: pass fuse: index out of range; please report it with the model\nwhere")
}
