package modeltest

import (
	"math"
	"math/rand/v2"

	"rules_dnn/gen/ir"
)

// Convolution is a graph of one convolution of 8 bits after the other, each of the results of the one before, with constant weights.
type Convolution struct {
	Name string
	// Channels are those of the input, then those of each convolution's results; Size is the side of the pictures.
	Channels []int64
	Size     int64
	// Kernel is the side of the kernels, Stride theirs, and Pad what the pictures are padded with on each side. Group is how many groups of
	// channels there are; 0: one.
	Kernel, Stride, Pad, Group int64
	X, W                       ir.DType
	XZero, WZero               int64
	// Scaled ones are QLinearConv; others are ConvInteger, of which there is one.
	Scaled bool
}

// Convolutions are tried by the tests of several packages.
var Convolutions = []Convolution{
	{Name: "pixels", Channels: []int64{32, 64}, Size: 14, Kernel: 1, Stride: 1, X: ir.U8, W: ir.I8},
	{Name: "pixels_scaled", Channels: []int64{32, 48, 32}, Size: 16, Kernel: 1, Stride: 1, X: ir.U8, W: ir.I8, XZero: 3, Scaled: true},
	{Name: "padded", Channels: []int64{16, 32}, Size: 14, Kernel: 3, Stride: 1, Pad: 1, X: ir.U8, W: ir.I8, XZero: 7},
	{Name: "padded_scaled", Channels: []int64{16, 32, 20}, Size: 12, Kernel: 3, Stride: 1, Pad: 1, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true},
	{Name: "strided", Channels: []int64{3, 32}, Size: 33, Kernel: 7, Stride: 2, Pad: 3, X: ir.U8, W: ir.I8, XZero: 9, Scaled: true},
	{Name: "remainders", Channels: []int64{13, 45}, Size: 11, Kernel: 2, Stride: 1, X: ir.U8, W: ir.U8, XZero: 9, WZero: 3},
	{Name: "signed", Channels: []int64{8, 12}, Size: 10, Kernel: 3, Stride: 1, Pad: 1, X: ir.I8, W: ir.I8, XZero: -5, Scaled: true},
	{Name: "groups", Channels: []int64{16, 32}, Size: 10, Kernel: 3, Stride: 1, Pad: 1, Group: 2, X: ir.U8, W: ir.I8, XZero: 4, Scaled: true},
	{Name: "depthwise", Channels: []int64{16, 16}, Size: 12, Kernel: 3, Stride: 1, Pad: 1, Group: 16, X: ir.U8, W: ir.I8, XZero: 4, Scaled: true},
	{Name: "one_pixel", Channels: []int64{64, 40}, Size: 1, Kernel: 1, Stride: 1, X: ir.U8, W: ir.I8, XZero: 4},
}

// MACs is the products of numbers of one run.
func (c Convolution) MACs() int64 {
	n, size := int64(0), c.Size
	for i := range c.Channels[1:] {
		size = (size+2*c.Pad-c.Kernel)/c.Stride + 1
		n += size * size * c.Kernel * c.Kernel * c.Channels[i] * c.Channels[i+1] / max(c.Group, 1)
	}
	return n
}

// Graph makes the graph, and an input for it; the same name gives the same numbers.
func (c Convolution) Graph() (*ir.Graph, map[string]*ir.Tensor) {
	b := &productBuilder{Rand: rand.New(rand.NewPCG(uint64(len(c.Name)), uint64(c.Size))), g: &ir.Graph{Name: "convolutions", Opset: 21}, inputs: map[string]*ir.Tensor{}}
	x := b.input("x", c.X, 2, c.Channels[0], c.Size, c.Size)
	group := max(c.Group, 1)
	for i, filters := range c.Channels[1:] {
		w := ir.ConstValue(b.name("w"), b.bytes(c.W, filters, c.Channels[i]/group, c.Kernel, c.Kernel))
		xz, wz := byteConst(b.name("xz"), c.X, c.XZero), byteConst(b.name("wz"), c.W, c.WZero)
		n := &ir.Node{Op: "ConvInteger", Name: b.name("conv"), Version: 10, Inputs: []*ir.Value{x, w, xz, wz}}
		if c.Scaled {
			spread := float32(1 / math.Sqrt(float64(c.Channels[i]/group*c.Kernel*c.Kernel)) / 64)
			n.Op = "QLinearConv"
			n.Inputs = []*ir.Value{x, floatConst(b.name("xs"), 0.5), xz, w, floatConst(b.name("ws"), spread), wz, floatConst(b.name("ys"), 0.6), xz}
		}
		n.Attrs = ir.Attrs{"kernel_shape": []int64{c.Kernel, c.Kernel}, "strides": []int64{c.Stride, c.Stride}, "pads": []int64{c.Pad, c.Pad, c.Pad, c.Pad}, "group": group}
		x = &ir.Value{Name: b.name("y"), Def: n}
		n.Outputs = []*ir.Value{x}
		b.g.Nodes = append(b.g.Nodes, n)
	}
	b.g.Outputs = []*ir.Value{x}
	return b.g, b.inputs
}
