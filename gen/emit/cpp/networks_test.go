package cpp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

// network builds a graph layer by layer; weights are zero.
type network struct {
	g *ir.Graph
	x *ir.Value // what the last layer gives
	c int64     // its channels
}

func newNetwork(name string, shape ...int64) *network {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(shape...), HasShape: true}
	return &network{g: &ir.Graph{Name: name, Inputs: []*ir.Value{x}, Opset: 17}, x: x, c: shape[1]}
}

func (n *network) node(op string, attrs ir.Attrs, inputs ...*ir.Value) *ir.Value {
	name := fmt.Sprintf("%s_%d", op, len(n.g.Nodes))
	n.x = &ir.Value{Name: name, Type: inputs[0].Type}
	n.x.Def = &ir.Node{Op: op, Name: name, Attrs: attrs, Inputs: inputs, Outputs: []*ir.Value{n.x}, Origins: []string{name}}
	n.g.Nodes = append(n.g.Nodes, n.x.Def)
	return n.x
}

func (n *network) weights(shape ...int64) *ir.Value {
	return ir.ConstValue(fmt.Sprintf("w%d", len(n.g.Nodes)), ir.NewTensor(ir.F32, shape...))
}

// conv is a convolution of k x k with a bias; depthwise where groups is not 1.
func (n *network) conv(channels, k, stride, groups int64) *ir.Value {
	w := n.weights(channels, n.c/groups, k, k)
	bias := ir.ConstValue(w.Name+"b", ir.NewTensor(ir.F32, channels))
	p := k / 2
	n.c = channels
	return n.node("Conv", ir.Attrs{"strides": []int64{stride, stride}, "pads": []int64{p, p, p, p}, "group": groups}, n.x, w, bias)
}

func (n *network) relu() *ir.Value { return n.node("Relu", nil, n.x) }

// head is what classifies: the mean of each channel, then a product with a matrix.
func (n *network) head(classes int64) *ir.Graph {
	n.node("GlobalAveragePool", nil, n.x)
	n.node("Flatten", ir.Attrs{"axis": int64(1)}, n.x)
	n.node("Gemm", ir.Attrs{"transB": int64(1)}, n.x, n.weights(classes, n.c), n.weights(classes))
	n.g.Outputs = []*ir.Value{n.x}
	return n.g
}

// residual adds x, brought to the last layer's shape, to it.
func (n *network) residual(x *ir.Value, from, stride int64) {
	y, c := n.x, n.c
	if from != c || stride != 1 {
		n.x, n.c = x, from
		x = n.conv(c, 1, stride, 1)
	}
	n.node("Add", nil, y, x)
	n.relu()
}

// resnet50 has two of the blocks of each stage; the others repeat the second.
func resnet50() *ir.Graph {
	n := newNetwork("resnet50", 1, 3, 224, 224)
	n.conv(64, 7, 2, 1)
	n.relu()
	n.node("MaxPool", ir.Attrs{"kernel_shape": []int64{3, 3}, "strides": []int64{2, 2}, "pads": []int64{1, 1, 1, 1}}, n.x)
	for i, c := range []int64{64, 128, 256, 512} {
		for b := range 2 {
			x, from, stride := n.x, n.c, int64(1)
			if i > 0 && b == 0 {
				stride = 2
			}
			n.conv(c, 1, 1, 1)
			n.relu()
			n.conv(c, 3, stride, 1)
			n.relu()
			n.conv(4*c, 1, 1, 1)
			n.residual(x, from, stride)
		}
	}
	return n.head(1000)
}

// resnet20 is the small one for pictures of 32 x 32.
func resnet20() *ir.Graph {
	n := newNetwork("resnet20", 1, 3, 32, 32)
	n.conv(16, 3, 1, 1)
	n.relu()
	for i, c := range []int64{16, 32, 64} {
		for b := range 2 {
			x, from, stride := n.x, n.c, int64(1)
			if i > 0 && b == 0 {
				stride = 2
			}
			n.conv(c, 3, stride, 1)
			n.relu()
			n.conv(c, 3, 1, 1)
			n.residual(x, from, stride)
		}
	}
	return n.head(10)
}

// mobilenetV2 has at most two of the blocks of each stage.
func mobilenetV2() *ir.Graph {
	n := newNetwork("mobilenet_v2", 1, 3, 224, 224)
	n.conv(32, 3, 2, 1)
	n.relu()
	for _, s := range []struct{ expand, channels, blocks, stride int64 }{
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 2, 2}, {6, 64, 2, 2}, {6, 96, 2, 1}, {6, 160, 2, 2}, {6, 320, 1, 1},
	} {
		for b := int64(0); b < s.blocks; b++ {
			x, from, stride := n.x, n.c, int64(1)
			if b == 0 {
				stride = s.stride
			}
			if s.expand > 1 {
				n.conv(from*s.expand, 1, 1, 1)
				n.relu()
			}
			n.conv(n.c, 3, stride, n.c)
			n.relu()
			n.conv(s.channels, 1, 1, 1)
			if b > 0 {
				n.node("Add", nil, n.x, x)
			}
		}
	}
	n.conv(1280, 1, 1, 1)
	n.relu()
	return n.head(1000)
}

// compiled are the kernels of a graph.
func compiled(t *testing.T, g *ir.Graph, c *target.Target) []*loop.Kernel {
	s := &pipeline.State{Graph: g, Target: c}
	_, err := pipeline.Run(pipeline.GraphPasses, s, pipeline.Options{})
	require.NoError(t, err)
	_, err = pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{StopAfter: "lower"})
	require.NoError(t, err)
	var out []*loop.Kernel
	for _, step := range s.Program.Calls() {
		out = append(out, step.Kernel)
	}
	return out
}

// networkMicros are the micro-kernels of all networks, in order of first use.
func networkMicros(t *testing.T, c *target.Target) []*loop.MicroKernel {
	var out []*loop.MicroKernel
	for _, g := range []*ir.Graph{resnet50(), mobilenetV2(), resnet20()} {
		n := len(out)
		for _, k := range compiled(t, g, c) {
			loop.Tiles(k.Body, func(x loop.Tile) { out = append(out, x.Micro) })
		}
		require.Greater(t, len(out)-n, 5, "%s has hardly any micro-kernels", g.Name)
	}
	return out
}
