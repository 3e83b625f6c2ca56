package shrink

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// builder makes networks.
type builder struct {
	g *ir.Graph
	r *rand.Rand
	n int
}

func newBuilder(seed uint64, shape ...int64) (*builder, *ir.Value) {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(shape...), HasShape: true}
	return &builder{g: &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}}, r: rand.New(rand.NewPCG(seed, 3))}, x
}

func (b *builder) node(op string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	b.n++
	n := &ir.Node{Op: op, Version: edit.Version(op, b.g), Name: fmt.Sprintf("n%d", b.n), Inputs: in, Attrs: attrs}
	if n.Attrs == nil {
		n.Attrs = ir.Attrs{}
	}
	y := &ir.Value{Name: fmt.Sprintf("v%d", b.n), Type: ir.F32, Def: n}
	n.Outputs = []*ir.Value{y}
	b.g.Nodes = append(b.g.Nodes, n)
	return y
}

// constant is random numbers; positive ones.
func (b *builder) constant(positive bool, shape ...int64) *ir.Value {
	b.n++
	t := ir.NewTensor(ir.F32, shape...)
	for i := range t.Len() {
		x := b.r.NormFloat64()
		if positive {
			x = math.Abs(x) + 0.1
		}
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(float32(x)))
	}
	return ir.ConstValue(fmt.Sprintf("w%d", b.n), t)
}

// zero clears a row of weights along an axis.
func zero(v *ir.Value, axis int, rows ...int) {
	inner := 4
	for _, d := range v.Const.Shape[axis+1:] {
		inner *= int(d)
	}
	row := int(v.Const.Shape[axis]) * inner
	for at := 0; at < len(v.Const.Data); at += row {
		for _, c := range rows {
			clear(v.Const.Data[at+c*inner : at+(c+1)*inner])
		}
	}
}

// set writes an element.
func set(v *ir.Value, at int, x float32) {
	binary.LittleEndian.PutUint32(v.Const.Data[4*at:], math.Float32bits(x))
}

var padded = ir.Attrs{"pads": []int64{1, 1, 1, 1}}

func (b *builder) finish(y *ir.Value) { b.g.Outputs = []*ir.Value{y} }

// outputs runs a network on random inputs.
func outputs(t *testing.T, g *ir.Graph) []float64 {
	shape, ok := g.Inputs[0].Static()
	require.True(t, ok)
	x := ir.NewTensor(ir.F32, shape...)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range x.Len() {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(r.NormFloat64())))
	}
	out, err := interp.Graph(g, map[string]*ir.Tensor{"x": x})
	require.NoError(t, err)
	y, err := edit.Floats(out[0])
	require.NoError(t, err)
	return y
}

// agrees shrinks a network, which must compute the same, and can be written and read.
func agrees(t *testing.T, g *ir.Graph, channels int) *Result {
	t.Helper()
	want := outputs(t, g)
	r, err := Run(g)
	require.NoError(t, err)
	require.Equal(t, channels, r.Channels)
	require.NoError(t, ir.Verify(g))
	require.InDeltaSlice(t, want, outputs(t, g), 1e-5)
	var b bytes.Buffer
	require.NoError(t, onnx.Write(&b, g))
	again, err := onnx.Read(&ir.File{R: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}, nil, onnx.Options{})
	require.NoError(t, err)
	require.InDeltaSlice(t, want, outputs(t, again), 1e-5)
	return r
}

func shapeOf(g *ir.Graph, node, operand int) []int64 {
	return g.Nodes[node].Inputs[operand].Const.Shape
}

// TestEmptyFilters: filters without kernels and bias go, after an activation also those whose bias it makes zero.
func TestEmptyFilters(t *testing.T) {
	b, x := newBuilder(1, 1, 3, 6, 6)
	w1, b1, w2 := b.constant(false, 8, 3, 3, 3), b.constant(false, 8), b.constant(false, 4, 8, 3, 3)
	zero(w1, 0, 1, 5, 6)
	set(w1, 27, float32(math.Copysign(0, -1))) // a mask that multiplies leaves such zeros
	set(b1, 1, 0)
	set(b1, 5, -2)
	set(b1, 6, 2) // constant, and read with padding: it stays
	y := b.node("Relu", nil, b.node("Conv", padded, x, w1, b1))
	b.finish(b.node("Conv", padded, y, w2))
	r := agrees(t, b.g, 2)
	require.Equal(t, []int64{6, 3, 3, 3}, shapeOf(b.g, 0, 1))
	require.Equal(t, []int64{6}, shapeOf(b.g, 0, 2))
	require.Equal(t, []int64{4, 6, 3, 3}, shapeOf(b.g, 2, 1))
	require.Equal(t, []int{0, 2, 3, 4, 6, 7}, r.Weights[w1.Name][0])
	require.Equal(t, []int{0, 2, 3, 4, 6, 7}, r.Weights[w2.Name][1])
	require.Nil(t, r.Weights[w2.Name][0])
}

// TestUnread: channels that no kernel reads go, and then what only they read.
func TestUnread(t *testing.T) {
	b, x := newBuilder(2, 2, 3, 6, 6)
	w1, w2, w3 := b.constant(false, 8, 3, 3, 3), b.constant(false, 8, 8, 1, 1), b.constant(false, 4, 8, 3, 3)
	zero(w3, 1, 0, 3)
	for f := range 8 { // only filters 0 and 3 read channel 7
		if f != 0 && f != 3 {
			set(w2, f*8+7, 0)
		}
	}
	bn := func(x *ir.Value) *ir.Value {
		return b.node("BatchNormalization", nil, x, b.constant(true, 8), b.constant(false, 8), b.constant(false, 8), b.constant(true, 8))
	}
	y := b.node("Sigmoid", nil, bn(b.node("Conv", padded, x, w1)))
	y = b.node("MaxPool", ir.Attrs{"kernel_shape": []int64{2, 2}, "strides": []int64{2, 2}}, y)
	y = bn(b.node("Conv", nil, y, w2))
	b.finish(b.node("Conv", padded, y, w3))
	agrees(t, b.g, 3)
	require.Equal(t, []int64{7, 3, 3, 3}, shapeOf(b.g, 0, 1))
	require.Equal(t, []int64{6, 7, 1, 1}, shapeOf(b.g, 4, 1))
	require.Equal(t, []int64{6}, shapeOf(b.g, 5, 3))
	require.Equal(t, []int64{4, 6, 3, 3}, shapeOf(b.g, 6, 1))
}

// residual is a block with a residual addition, whose branches' filters and readers may be cleared.
func residual(clear func(first, branch, last *ir.Value)) *ir.Graph {
	b, x := newBuilder(3, 1, 3, 6, 6)
	first, branch, last := b.constant(false, 8, 3, 3, 3), b.constant(false, 8, 8, 3, 3), b.constant(false, 5, 8, 3, 3)
	clear(first, branch, last)
	y := b.node("Relu", nil, b.node("Conv", padded, x, first))
	y = b.node("Relu", nil, b.node("Add", nil, b.node("Conv", padded, y, branch), y))
	b.finish(b.node("Conv", padded, y, last))
	return b.g
}

// TestResidual: a channel goes only where both operands of the addition are zero, or all that read either agree.
func TestResidual(t *testing.T) {
	agrees(t, residual(func(first, _, _ *ir.Value) { zero(first, 0, 2) }), 0)
	agrees(t, residual(func(_, branch, _ *ir.Value) { zero(branch, 0, 2) }), 0)
	agrees(t, residual(func(first, branch, _ *ir.Value) { zero(first, 0, 2, 4); zero(branch, 0, 2, 3) }), 1)
	agrees(t, residual(func(_, _, last *ir.Value) { zero(last, 1, 2) }), 0)
	agrees(t, residual(func(_, branch, last *ir.Value) { zero(last, 1, 2, 6); zero(branch, 1, 2, 5) }), 1)
	agrees(t, residual(func(first, branch, _ *ir.Value) {
		zero(first, 0, 0, 1, 2, 3, 4, 5, 6, 7)
		zero(branch, 0, 0, 1, 2, 3, 4, 5, 6, 7)
	}), 7)
}

// TestHead: a classifier's neurons, those that a Flatten makes of channels among them.
func TestHead(t *testing.T) {
	for _, trans := range []int64{0, 1} {
		b, x := newBuilder(4, 2, 3, 4, 4)
		w1, w2, w3 := b.constant(false, 6, 3, 3, 3), b.constant(false, 6*16, 10), b.constant(false, 10, 3)
		if trans == 1 {
			w2 = b.constant(false, 10, 6*16)
		}
		rows := make([]int, 16)
		for i := range rows {
			rows[i] = 2*16 + i
		}
		zero(w2, int(trans), rows...) // channel 2 is not read
		zero(w2, 1-int(trans), 7)     // neuron 7 is empty
		zero(w1, 0, 4)
		bias := b.constant(false, 10)
		set(bias, 7, -1)
		y := b.node("Flatten", nil, b.node("Relu", nil, b.node("Conv", padded, x, w1)))
		y = b.node("Relu", nil, b.node("Gemm", ir.Attrs{"transB": trans}, y, w2, bias))
		b.finish(b.node("MatMul", nil, y, w3))
		agrees(t, b.g, 3)
	}
}

// TestDepthwise: its filters are channels of its operand.
func TestDepthwise(t *testing.T) {
	b, x := newBuilder(5, 1, 3, 6, 6)
	w1, w2, w3 := b.constant(false, 8, 3, 1, 1), b.constant(false, 8, 1, 3, 3), b.constant(false, 4, 8, 1, 1)
	zero(w2, 0, 1)
	zero(w3, 1, 3)
	y := b.node("Clip", nil, b.node("Conv", nil, x, w1), ir.ConstValue("lo", edit.FloatTensor(ir.F32, []float64{0})), ir.ConstValue("hi", edit.FloatTensor(ir.F32, []float64{6})))
	y = b.node("Conv", ir.Attrs{"pads": []int64{1, 1, 1, 1}, "group": int64(8)}, y, w2)
	b.finish(b.node("Conv", nil, y, w3))
	agrees(t, b.g, 2)
	require.Equal(t, []int64{6, 1, 3, 3}, shapeOf(b.g, 2, 1))
	require.Equal(t, int64(6), b.g.Nodes[2].Int("group", 1))
}

// TestKept: what something else touches stays.
func TestKept(t *testing.T) {
	for name, use := range map[string]func(b *builder, y *ir.Value) *ir.Value{
		"output":        func(_ *builder, y *ir.Value) *ir.Value { return y },
		"concatenation": func(b *builder, y *ir.Value) *ir.Value { return b.node("Concat", ir.Attrs{"axis": int64(1)}, y, y) },
		"softmax":       func(b *builder, y *ir.Value) *ir.Value { return b.node("Softmax", ir.Attrs{"axis": int64(1)}, y) },
		"groups": func(b *builder, y *ir.Value) *ir.Value {
			return b.node("Conv", ir.Attrs{"group": int64(2)}, y, b.constant(false, 4, 4, 1, 1))
		},
		"not zero": func(b *builder, y *ir.Value) *ir.Value {
			return b.node("Conv", padded, b.node("Exp", nil, y), b.constant(false, 4, 8, 3, 3))
		},
		"nine as a vector": func(b *builder, y *ir.Value) *ir.Value { return b.node("MatMul", nil, y, b.constant(false, 6, 6)) },
	} {
		t.Run(name, func(t *testing.T) {
			b, x := newBuilder(6, 1, 3, 6, 6)
			w := b.constant(false, 8, 3, 3, 3)
			zero(w, 0, 2)
			b.finish(use(b, b.node("Conv", padded, x, w)))
			agrees(t, b.g, 0)
		})
	}
	// Integers.
	b, x := newBuilder(8, 1, 6)
	y := b.node("Cast", ir.Attrs{"to": int64(6)}, x)
	y.Type = ir.I32
	w := ir.ConstValue("w", edit.IntTensor(ir.I32, make([]int64, 24), 6, 4))
	y = b.node("MatMul", nil, y, w)
	y.Type = ir.I32
	b.finish(b.node("Cast", ir.Attrs{"to": int64(1)}, y))
	agrees(t, b.g, 0)

	// Two nodes read the same weights.
	b, x = newBuilder(7, 1, 8, 6, 6)
	w = b.constant(false, 8, 8, 3, 3)
	zero(w, 0, 2)
	b.finish(b.node("Conv", padded, b.node("Conv", padded, b.node("Conv", padded, x, w), w), b.constant(false, 2, 8, 3, 3)))
	agrees(t, b.g, 0)
}
