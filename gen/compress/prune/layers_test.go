package prune

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/graph/passes/bnfold"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
)

// node adds a node to a graph.
func node(g *ir.Graph, op, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	if attrs == nil {
		attrs = ir.Attrs{}
	}
	n := &ir.Node{Op: op, Version: edit.Version(op, g), Name: name, Inputs: in, Attrs: attrs}
	y := &ir.Value{Name: name + "_y", Type: ir.F32, Def: n}
	n.Outputs = []*ir.Value{y}
	g.Nodes = append(g.Nodes, n)
	return y
}

// weights is a constant.
func weights(name string, shape ...int64) *ir.Value {
	n, _ := ir.Len(shape)
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i%17 - 8)
	}
	return ir.ConstValue(name, edit.FloatTensor(ir.F32, values, shape...))
}

func input(shape ...int64) (*ir.Graph, *ir.Value) {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(shape...), HasShape: true}
	return &ir.Graph{Opset: 17, Inputs: []*ir.Value{x}}, x
}

// TestLayers: convolutions, Gemm and MatMul in the order of their use, with which axis is the filters'.
func TestLayers(t *testing.T) {
	g, x := input(2, 4, 8, 8)
	y := node(g, "Conv", "conv", ir.Attrs{"pads": []int64{1, 1, 1, 1}}, x, weights("w0", 6, 4, 3, 3))
	y = node(g, "Conv", "groups", ir.Attrs{"group": int64(2)}, y, weights("w1", 8, 3, 1, 1))
	y = node(g, "Flatten", "flat", nil, node(g, "GlobalAveragePool", "pool", nil, y))
	y = node(g, "Gemm", "gemm", ir.Attrs{"transB": int64(1)}, y, weights("w2", 5, 8))
	y = node(g, "Gemm", "gemm2", nil, y, weights("w3", 5, 7))
	y = node(g, "MatMul", "product", nil, y, weights("w4", 7, 3))
	g.Outputs = []*ir.Value{y}
	require.NoError(t, shape.Infer(g))
	list, skipped := Layers(g)
	require.Empty(t, skipped)
	require.Len(t, list, 5)
	for i, want := range []Layer{
		{Node: "conv", Op: "Conv", Groups: 1, MACs: 2 * 64 * 6 * 4 * 9},
		{Node: "groups", Op: "Conv", Groups: 2, MACs: 2 * 64 * 8 * 3},
		{Node: "gemm", Op: "Gemm", Groups: 1, MACs: 2 * 8 * 5},
		{Node: "gemm2", Op: "Gemm", Groups: 1, FilterAxis: 1, MACs: 2 * 5 * 7},
		{Node: "product", Op: "MatMul", Groups: 1, FilterAxis: 1, MACs: 2 * 7 * 3},
	} {
		l := list[i]
		require.Equal(t, i, l.Position)
		require.Equal(t, want, Layer{Node: l.Node, Op: l.Op, Groups: l.Groups, FilterAxis: l.FilterAxis, MACs: l.MACs})
	}
	f, err := list[3].Floats()
	require.NoError(t, err)
	require.Equal(t, float32(-8), f[0])
}

// TestSkipped: weights that cannot be pruned are named with the reason.
func TestSkipped(t *testing.T) {
	g, x := input(1, 4, 8, 8)
	shared := weights("shared", 4, 4, 3, 3)
	pads := ir.Attrs{"pads": []int64{1, 1, 1, 1}}
	y := node(g, "Conv", "c0", pads, x, shared)
	y = node(g, "Conv", "c1", pads, y, shared) // the same role twice is no hindrance
	y = node(g, "Add", "add", nil, y, weights("b", 4, 4, 3, 3))
	both := weights("both", 4, 4, 1, 1)
	y = node(g, "Conv", "c2", nil, y, both)
	y = node(g, "Mul", "mul", nil, y, both)
	other := weights("other", 8, 8)
	y = node(g, "MatMul", "m0", nil, y, other)
	y = node(g, "Conv", "c3", nil, y, node(g, "Neg", "neg", nil, weights("w", 4, 4, 1, 1)))
	y = node(g, "Conv", "big", nil, y, weights("big", 2, 4, 9, 9))
	y = node(g, "ConvTranspose", "up", nil, y, weights("up", 2, 4, 2, 2))
	y = node(g, "MatMul", "batched", nil, y, weights("batched", 4, 3, 3))
	output := weights("output", 2, 4, 1, 1)
	g.Outputs = []*ir.Value{node(g, "Conv", "last", nil, y, output), output, node(g, "Gemm", "turned", ir.Attrs{"transB": int64(1)}, weights("a", 2, 8), other)}
	list, skipped := Layers(g)
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
	}
	require.Equal(t, []string{"shared"}, names)
	reasons := map[string]string{}
	for _, s := range skipped {
		reasons[s.Name] = s.Reason
	}
	for name, want := range map[string]string{
		"both":    `Mul "mul" also reads its weights`,
		"other":   `Gemm "turned" also reads its weights, with another shape or axis`,
		"neg_y":   `its weights are the result of Neg "neg"`,
		"big":     "its kernels have 81 taps; want at most 64",
		"up":      "weights of this operator are not pruned; supported are Conv, Gemm and MatMul",
		"batched": "its weights have rank 3; want 2",
		"output":  "its weights are an output of the network",
	} {
		require.Contains(t, reasons[name], want)
	}
	require.Len(t, reasons, 7)
}

// TestDiamonds: a value of constants by many paths is looked at once.
func TestDiamonds(t *testing.T) {
	g, x := input(1, 4, 8, 8)
	w := weights("w", 4, 4, 1, 1)
	for range 100 {
		w = node(g, "Add", "add", nil, w, w)
	}
	g.Outputs = []*ir.Value{node(g, "Conv", "c", nil, x, w)}
	list, skipped := Layers(g)
	require.Empty(t, list)
	require.Len(t, skipped, 1)
}

// masked is a network of one layer of 3x3 kernels and a fully connected one.
func masked(t *testing.T) *Network {
	g, x := input(1, 4, 8, 8)
	y := node(g, "Conv", "conv", ir.Attrs{"pads": []int64{1, 1, 1, 1}}, x, weights("conv", 6, 4, 3, 3))
	y = node(g, "Flatten", "flat", nil, node(g, "GlobalAveragePool", "pool", nil, y))
	g.Outputs = []*ir.Value{node(g, "Gemm", "fc", ir.Attrs{"transB": int64(1)}, y, weights("fc", 3, 6))}
	require.NoError(t, shape.Infer(g))
	return Find(g)
}

// TestReport: numbers of a mask that is known.
func TestReport(t *testing.T) {
	n := masked(t)
	m := &masks.Layer{Name: "conv", Shape: []int64{6, 4, 3, 3}, Groups: 1, Share: 1, Patterns: []fkw.Pattern{0x1b, 0x36}, Kernels: make([]uint8, 24)}
	copy(m.Kernels, []uint8{1, 2, 0, 0 /**/, 1, 0, 0, 0 /**/, 0, 0, 0, 0 /**/, 1, 2, 2, 0})
	require.NoError(t, n.Take(&masks.Set{Layers: []*masks.Layer{m}}))
	r := n.Report("net.onnx", nil)
	require.Equal(t, []string{"fc"}, r.Dense)
	l := r.Layers[0]
	require.Equal(t, []int64{24, 6, 216, 24}, []int64{l.Kernels, l.KeptKernels, l.Weights, l.KeptWeights})
	require.Equal(t, []int{3, 1}, []int{l.EmptyFilters, l.Unread})
	require.Equal(t, []int64{6 * 4 * 9 * 64, 24 * 64}, []int64{l.MACs, l.KeptMACs})
	require.Equal(t, []int64{864, 96, 96 + 4*7 + 2*(6+6+6*3)}, []int64{l.Bytes, l.KeptBytes, l.FKWBytes})
	require.Equal(t, []Frequency{{"1b", "3x3", 3}, {"36", "3x3", 3}}, l.Patterns)
	require.InDelta(t, 8.0/9, l.Sparsity, 1e-12)
	require.Equal(t, int64(216+18), r.Total.Weights)
	require.Contains(t, r.Warning(), "without retraining")
	text, err := r.JSON()
	require.NoError(t, err)
	again, err := ParseReport(text)
	require.NoError(t, err)
	require.Equal(t, r, again)
	for _, bad := range []string{"", "{}{}", `{"x": 1}`, "{}"} {
		_, err := ParseReport([]byte(bad))
		require.ErrorContains(t, err, "report of pruning: ")
	}

	// The same masks on what they made drop nothing.
	w, err := n.Pruned(m)
	require.NoError(t, err)
	n.layer("conv").Weights = w
	n.Changed, n.Masks = 0, &masks.Set{}
	require.NoError(t, n.Take(&masks.Set{Layers: []*masks.Layer{m}}))
	require.True(t, n.Report("net.onnx", nil).Retrained)
	require.Empty(t, n.Report("net.onnx", nil).Warning())
}

// TestHalf: of weights in half precision those that are kept stay as they are stored.
func TestHalf(t *testing.T) {
	n := masked(t)
	values := make([]float64, 216)
	for i := range values {
		values[i] = math.Sin(float64(i))
	}
	l := n.layer("conv")
	l.Weights = edit.FloatTensor(ir.F16, values, l.Shape...)
	require.NoError(t, n.Project(Options{Patterns: 4, Entries: map[string]int{"3x3": 3}, Set: SetOfModel, Connectivity: 2, FullyConnected: 1, Share: 1}, nil))
	m := n.Masks.Layer("conv")
	w, err := n.Pruned(m)
	require.NoError(t, err)
	for i, kept := range m.Weights() {
		want := []byte{0, 0}
		if kept {
			want = l.Weights.Data[2*i : 2*i+2]
		}
		require.Equal(t, want, w.Data[2*i:2*i+2])
	}
	_, weights := m.Kept()
	require.Equal(t, int64(12*3), weights)
}

// TestShrinkMasks: masks follow the indices that are left; rows of filters that share kernels may begin elsewhere then.
func TestShrinkMasks(t *testing.T) {
	m := &masks.Layer{Name: "w", Shape: []int64{8, 2, 1, 1}, Groups: 1, Share: 4, Patterns: []fkw.Pattern{1}, Kernels: []uint8{1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1}}
	shrink := func(filters, channels []int) *masks.Layer {
		n := &Network{Masks: &masks.Set{Layers: []*masks.Layer{m}}}
		require.NoError(t, n.Shrink(func(string) [2][]int { return [2][]int{filters, channels} }))
		return n.Masks.Layers[0]
	}
	require.Same(t, m, shrink(nil, nil))
	x := shrink([]int{4, 5, 6, 7}, nil)
	require.Equal(t, []any{4, []int64{4, 2, 1, 1}, []uint8{0, 1, 0, 1, 0, 1, 0, 1}}, []any{x.Share, x.Shape, x.Kernels})
	x = shrink([]int{0, 2, 4}, []int{1})
	require.Equal(t, []any{1, []int64{3, 1, 1, 1}, []uint8{0, 0, 1}}, []any{x.Share, x.Shape, x.Kernels})
}

// TestLabelOfFolded: a layer's label is its node's once BatchNormalizations are folded, also where the node has no name.
func TestLabelOfFolded(t *testing.T) {
	for _, name := range []string{"", "c"} {
		for readers, folds := range []bool{true, false} {
			g, x := input(1, 4, 8, 8)
			conv := node(g, "Conv", "conv", nil, x, weights("w", 6, 4, 3, 3))
			conv.Def.Name = name
			channel := weights("channel", 6)
			y := node(g, "BatchNormalization", "bn", nil, conv, channel, channel, channel, weights("variance", 6))
			y = node(g, "BatchNormalization", "again", nil, y, channel, channel, channel, channel)
			g.Outputs = []*ir.Value{node(g, "Relu", "relu", nil, y)}
			for range readers {
				g.Outputs = append(g.Outputs, node(g, "Relu", "besides", nil, conv))
			}
			require.NoError(t, shape.Infer(g))
			layers, _ := Layers(g)
			_, err := bnfold.Run(g)
			require.NoError(t, err)
			require.Equal(t, folds, len(g.Nodes) == 2, "nodes")
			require.Equal(t, g.Nodes[0].Label(), layers[0].Label)
		}
	}
}

// TestReadByOthers: a report says of all nodes that read a layer's weights.
func TestReadByOthers(t *testing.T) {
	g, x := input(1, 4, 8, 8)
	w := weights("w", 4, 4, 3, 3)
	pads := ir.Attrs{"pads": []int64{1, 1, 1, 1}}
	first := node(g, "Conv", "first", pads, x, w)
	g.Outputs = []*ir.Value{node(g, "Conv", "second", pads, node(g, "Relu", "relu", nil, first), w)}
	layers, _ := Layers(g)
	require.Len(t, layers, 1)
	mask, _, err := Project(layers[0], make([]float32, 4*4*9), Settings{Connectivity: 2, Share: 1})
	require.NoError(t, err)
	r := layers[0].report(mask)
	require.Equal(t, `Conv "first"`, r.Label)
	require.Equal(t, []string{`Conv "second"`}, r.Also)
}
