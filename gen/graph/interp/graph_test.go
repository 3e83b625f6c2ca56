package interp

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx"
)

// dense is y = relu(x + x*w) for x of shape [N, 3] in a graph with a dead node.
func dense() *ir.Graph {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Shape{sym.Var("N"), sym.Const(3)}, HasShape: true}
	w := ir.ConstValue("w", tensor(ir.F32, 3, 3))
	out := func(name string) *ir.Value { return &ir.Value{Name: name, Type: ir.F32} }
	p, s, y, dead := out("p"), out("s"), out("y"), out("dead")
	nodes := []*ir.Node{
		{Op: "MatMul", Name: "p", Inputs: []*ir.Value{x, w}, Outputs: []*ir.Value{p}},
		{Op: "Add", Name: "s", Inputs: []*ir.Value{x, p}, Outputs: []*ir.Value{s}},
		{Op: "Relu", Name: "y", Inputs: []*ir.Value{s}, Outputs: []*ir.Value{y}},
		{Op: "Neg", Name: "dead", Inputs: []*ir.Value{x}, Outputs: []*ir.Value{dead}},
	}
	return &ir.Graph{Name: "g", Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y, w}, Nodes: nodes,
		Symbols: []ir.Symbol{{Name: "N", Lo: 1, Hi: 8}}}
}

func floats(t *testing.T, x *ir.Tensor) []float32 {
	t.Helper()
	b, err := bufferOf(x)
	require.NoError(t, err)
	return b.F32
}

func TestGraphRunsForTheShapesOfItsInputs(t *testing.T) {
	g := dense()
	w := floats(t, g.Outputs[1].Const)
	for _, n := range []int64{1, 5} {
		x := tensor(ir.F32, n, 3)
		got, err := Graph(g, map[string]*ir.Tensor{"x": x})
		require.NoError(t, err)
		require.Equal(t, []int64{n, 3}, got[0].Shape)
		assert.Same(t, g.Outputs[1].Const, got[1])
		xs, ys := floats(t, x), floats(t, got[0])
		for i := range ys {
			r, c := i/3*3, i%3
			sum := float32(0)
			for k := range 3 {
				sum += float32(xs[r+k] * w[3*k+c])
			}
			require.Equal(t, max(xs[i]+sum, 0), ys[i])
		}
	}
}

func TestGraphGivesUpIntermediates(t *testing.T) {
	g := dense()
	x := &execution{tensors: map[*ir.Value]*ir.Tensor{g.Inputs[0]: tensor(ir.F32, 2, 3)}, uses: map[*ir.Value]int{}}
	x.countUses(g)
	for _, n := range g.Nodes {
		require.NoError(t, x.node(n))
	}
	assert.Len(t, x.tensors, 1, "only the output is left")
	assert.NotNil(t, x.tensors[g.Outputs[0]])
}

func TestGraphChecksItsInputs(t *testing.T) {
	for _, c := range []struct {
		input *ir.Tensor
		want  string
	}{
		{nil, `input "x" is missing`},
		{tensor(ir.F64, 2, 3), `input "x" has type f64; the model wants f32`},
		{tensor(ir.F32, 2), `input "x" has shape [2]; the model wants rank 2, [N, 3]`},
		{tensor(ir.F32, 2, 4), `input "x" has shape [2 4]; the model wants [N, 3]`},
		{tensor(ir.F32, 9, 3), "symbol N is 9; the model takes 1 to 8"},
	} {
		inputs := map[string]*ir.Tensor{}
		if c.input != nil {
			inputs["x"] = c.input
		}
		_, err := Graph(dense(), inputs)
		assert.EqualError(t, err, c.want)
	}
}

func TestGraphErrorsNameTheNode(t *testing.T) {
	g := dense()
	g.Nodes[2].Op = "Frobnicate"
	_, err := Graph(g, map[string]*ir.Tensor{"x": tensor(ir.F32, 2, 3)})
	assert.ErrorContains(t, err, `Frobnicate "y"`)
	g = dense()
	g.Nodes = g.Nodes[1:]
	_, err = Graph(g, map[string]*ir.Tensor{"x": tensor(ir.F32, 2, 3)})
	assert.ErrorContains(t, err, `operand 1 ("p") is not computed before`)
	_, err = Interp{MaxBytes: 10}.Graph(dense(), map[string]*ir.Tensor{"x": tensor(ir.F32, 2, 3)})
	assert.ErrorContains(t, err, `node MatMul "p"`)
	assert.ErrorContains(t, err, "limit of 10 bytes")
}

// pictures are the first n rows of the picture, normalised as the network was trained.
func pictures(t *testing.T, path string, n int) *ir.Tensor {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	sheet, err := png.Decode(f)
	require.NoError(t, err)
	mean, dev := [3]float32{0.4914, 0.4822, 0.4465}, [3]float32{0.2470, 0.2435, 0.2616}
	x := ir.NewTensor(ir.F32, int64(n), 3, 32, 32)
	for i := range n {
		for k := range 1024 {
			r, g, b, _ := sheet.At(k, i).RGBA()
			for ch, v := range [3]uint32{r, g, b} {
				y := (float32(v>>8)/255 - mean[ch]) / dev[ch]
				binary.LittleEndian.PutUint32(x.Data[4*((i*3+ch)*1024+k):], math.Float32bits(y))
			}
		}
	}
	return x
}

// A trained network on real pictures must give what ONNX Runtime gave.
func TestTrainedNetworkAgreesWithReference(t *testing.T) {
	const n = 7
	model, err := os.ReadFile("../../../app/resnet20_cifar10.onnx")
	require.NoError(t, err)
	logits, err := os.ReadFile("../../../app/testdata/resnet20_cifar10_logits.npy")
	require.NoError(t, err)
	g, err := onnx.Read(&ir.File{R: bytes.NewReader(model), Size: int64(len(model))}, nil, onnx.Options{})
	require.NoError(t, err)
	x := pictures(t, "../../../app/testdata/cifar10_test_500.png", n)
	got, err := Graph(g, map[string]*ir.Tensor{g.Inputs[0].Name: x})
	require.NoError(t, err)
	want := make([]float32, 500*10)
	require.NoError(t, binary.Read(bytes.NewReader(logits[len(logits)-4*len(want):]), binary.LittleEndian, want))
	for i, y := range floats(t, got[0]) {
		assert.InDelta(t, want[i], y, 1e-4, "picture %d, class %d", i/10, i%10)
	}
}
