package modeltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
)

// convolution is a Conv of a constant, and what follows it.
type convolution struct {
	name     string
	x, w     []int64 // shapes
	pads     []int64
	strides  []int64 // nil: 1
	dilated  []int64 // dilations, nil: 1
	symbolic bool    // the extents of the window's axes
	fixed    int     // of these, so many last ones are not
	add      bool    // a tensor and Relu after it
	group    int64
	swish    bool     // a product with a sigmoid of itself after it
	squeeze  bool     // a product with a function of all channels' means after it
	between  bool     // other convolutions, of one point each: values in the layout that these prefer
	half     ir.DType // f16 or bf16; Invalid: f32
	share    int64    // W is pruned, the same in so many neighbouring filters; 0: it is dense
	pool     []int64  // windows of a MaxPool after it, side by side; nil: there is none. It is computed where the convolution is, whatever that gains
	shortcut bool     // a dense convolution of one point of x is added to what the other gives

	zeros func(w *ir.Tensor) // clears weights; nil: none
}

func (c convolution) dtype() ir.DType {
	if c.half != ir.Invalid {
		return c.half
	}
	return ir.F32
}

func (c convolution) graph(r *rand.Rand) (*ir.Graph, map[string]*ir.Tensor) {
	floats := func(dims ...int64) *ir.Tensor {
		t := ir.NewTensor(c.dtype(), dims...)
		for i := range t.Len() {
			setNumber(t, i, r.Float32()*2-1)
		}
		return t
	}
	g := &ir.Graph{Name: c.name, Opset: 17}
	x := &ir.Value{Name: "x", Type: c.dtype(), HasShape: true}
	for i, d := range c.x {
		x.Shape = append(x.Shape, sym.Const(d))
		if c.symbolic && i >= 2 && i < len(c.x)-c.fixed {
			name := fmt.Sprintf("S%d", i)
			g.Symbols = append(g.Symbols, ir.Symbol{Name: name, Lo: 1, Hi: 100})
			x.Shape[i] = sym.Var(name)
		}
	}
	g.Inputs = []*ir.Value{x}
	inputs := map[string]*ir.Tensor{"x": floats(c.x...)}
	op := func(name string, version int, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		n := &ir.Node{Op: name, Version: version, Name: strings.ToLower(name), Inputs: in, Attrs: attrs}
		n.Outputs = []*ir.Value{{Name: fmt.Sprintf("y%d_%s", len(g.Nodes), strings.ToLower(name)), Def: n}}
		g.Nodes = append(g.Nodes, n)
		return n.Outputs[0]
	}
	attrs := ir.Attrs{"pads": c.pads}
	if c.dilated != nil {
		attrs["dilations"] = c.dilated
	}
	if c.strides != nil {
		attrs["strides"] = c.strides
	}
	if c.group > 1 {
		attrs["group"] = c.group
	}
	from := x
	point := func(x *ir.Value, out, in int64) *ir.Value {
		ones := slices.Repeat([]int64{1}, len(c.x)-2)
		return op("Conv", 11, ir.Attrs{}, x, ir.ConstValue("p", floats(append([]int64{out, in}, ones...)...)))
	}
	if c.between {
		from = point(x, c.x[1], c.x[1])
	}
	w := floats(c.w...)
	if c.share > 0 {
		prune(w, 0, c.share)
	}
	if c.zeros != nil {
		c.zeros(w)
	}
	y := op("Conv", 11, attrs, from, ir.ConstValue("w", w), ir.ConstValue("b", floats(c.w[0])))
	if c.add {
		y = op("Relu", 14, nil, op("Add", 14, nil, y, ir.ConstValue("t", floats(append([]int64{c.w[0]}, slices.Repeat([]int64{1}, len(c.x)-2)...)...))))
	}
	if c.pool != nil {
		y = op("MaxPool", 12, ir.Attrs{"kernel_shape": c.pool, "strides": c.pool}, y)
	}
	if c.shortcut {
		y = op("Add", 14, nil, y, point(from, c.w[0], c.x[1]))
	}
	if c.swish {
		y = op("Mul", 14, nil, y, op("Sigmoid", 13, nil, y))
	}
	if c.squeeze {
		y = op("Mul", 14, nil, y, op("Sigmoid", 13, nil, point(op("GlobalAveragePool", 1, nil, y), c.w[0], c.w[0])))
	}
	if c.between {
		y = point(y, 32, c.w[0])
	}
	g.Outputs = []*ir.Value{y}
	return g, inputs
}

// TestFiltering: convolutions by fewer products are what they are by all of them, with tiles that reach beyond
// the edges, channels that fill no block, and tasks that share tiles.
func TestFiltering(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "whole tiles", x: []int64{1, 16, 8, 8}, w: []int64{16, 16, 3, 3}, pads: same},
		{name: "edges", x: []int64{1, 16, 9, 11}, w: []int64{16, 16, 3, 3}, pads: same, add: true},
		{name: "unpadded", x: []int64{2, 32, 13, 8}, w: []int64{16, 32, 3, 3}, pads: none},
		{name: "more pads on one side", x: []int64{1, 16, 10, 9}, w: []int64{16, 16, 3, 3}, pads: []int64{2, 0, 1, 3}},
		{name: "channels", x: []int64{1, 21, 12, 12}, w: []int64{37, 21, 3, 3}, pads: same, add: true},
		{name: "few tiles", x: []int64{1, 32, 7, 7}, w: []int64{512, 32, 3, 3}, pads: same},
		{name: "one tile", x: []int64{2, 64, 2, 2}, w: []int64{64, 64, 3, 3}, pads: []int64{2, 2, 1, 1}},
		{name: "many tiles", x: []int64{1, 16, 60, 36}, w: []int64{16, 16, 3, 3}, pads: same},
		{name: "depth", x: []int64{1, 16, 4, 9, 8}, w: []int64{16, 16, 3, 3, 3}, pads: []int64{1, 1, 1, 1, 1, 1}},
		{name: "planes", x: []int64{1, 16, 3, 9, 8}, w: []int64{24, 16, 1, 3, 3}, pads: []int64{0, 1, 1, 0, 1, 1}},
		{name: "an axis behind", x: []int64{1, 16, 8, 8, 5}, w: []int64{24, 16, 3, 3, 1}, pads: []int64{1, 1, 0, 1, 1, 0}},
		{name: "symbolic", x: []int64{1, 16, 14, 19}, w: []int64{16, 16, 3, 3}, pads: same, symbolic: true, add: true},
		{name: "symbolic, small", x: []int64{1, 16, 1, 2}, w: []int64{16, 16, 3, 3}, pads: same, symbolic: true},
		{name: "of 16 bits", x: []int64{1, 64, 9, 11}, w: []int64{32, 64, 3, 3}, pads: same, add: true, half: ir.F16},
		{name: "of bf16", x: []int64{1, 64, 9, 11}, w: []int64{32, 64, 3, 3}, pads: same, half: ir.BF16},
	} {
		t.Run(c.name, func(t *testing.T) {
			used := false
			for _, p := range c.run(t) {
				used = used || filters(p)
				assertPieces(t, p)
			}
			assert.True(t, used, "no chip's code filters")
		})
	}
}

// TestPadding: convolutions of which some taps see nothing but padding, for every result or for those of some tiles, are what they are by all taps.
func TestPadding(t *testing.T) {
	for _, c := range []convolution{
		{name: "one pixel", x: []int64{1, 40, 1, 1}, w: []int64{32, 40, 3, 3}, pads: []int64{1, 1, 1, 1}, add: true},
		{name: "one row", x: []int64{2, 24, 1, 9}, w: []int64{32, 24, 3, 3}, pads: []int64{1, 1, 1, 1}},
		{name: "pixels", x: []int64{1, 24, 2, 3}, w: []int64{32, 24, 5, 5}, pads: []int64{2, 3, 2, 1}},
		{name: "pixels, pruned", x: []int64{1, 32, 2, 2}, w: []int64{32, 32, 5, 5}, pads: []int64{2, 2, 2, 2}, share: 16},
		{name: "one pixel, pruned", x: []int64{1, 32, 1, 1}, w: []int64{32, 32, 3, 3}, pads: []int64{1, 1, 1, 1}, share: 1},
		{name: "taps far apart", x: []int64{1, 24, 14, 14}, w: []int64{32, 24, 3, 3}, pads: []int64{12, 18, 12, 18}, dilated: []int64{12, 18}},
		{name: "far apart, in steps", x: []int64{1, 24, 9, 14}, w: []int64{32, 24, 3, 3}, pads: []int64{6, 12, 6, 12}, dilated: []int64{6, 12}, strides: []int64{2, 2}},
		{name: "each channel by itself", x: []int64{1, 32, 2, 2}, w: []int64{32, 1, 7, 7}, pads: []int64{3, 3, 3, 3}, group: 32},
		{name: "more taps than frames", x: []int64{1, 96, 23}, w: []int64{96, 48, 64}, pads: []int64{32, 32}, group: 2, add: true},
		{name: "as many taps as pixels", x: []int64{1, 24, 6, 20}, w: []int64{32, 24, 5, 19}, pads: []int64{2, 9, 2, 9}},
		{name: "of 16 bits", x: []int64{1, 64, 2, 2}, w: []int64{32, 64, 5, 5}, pads: []int64{2, 2, 2, 2}, half: ir.F16},
		{name: "images of some pixels", x: []int64{1, 24, 3, 1}, w: []int64{32, 24, 3, 3}, pads: []int64{1, 1, 1, 1}, symbolic: true, fixed: 1},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

// TestWindowsApart: windows of three points along two axes that are no neighbours have no tiles that could run as one.
func TestWindowsApart(t *testing.T) {
	for _, c := range []convolution{
		{name: "an axis between", x: []int64{1, 16, 8, 8, 9}, w: []int64{24, 16, 3, 1, 3}, pads: []int64{1, 0, 1, 1, 0, 1}},
		{name: "an axis of one row between", x: []int64{1, 16, 6, 1, 7}, w: []int64{24, 16, 3, 1, 3}, pads: []int64{1, 0, 0, 1, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for chip, p := range c.run(t) {
				assert.False(t, filters(p), chip)
			}
		})
	}
}

// run compiles the convolution for each chip, compares what the programs compute with the interpreter, and
// gives them.
func (c convolution) run(t *testing.T) map[string]*plan.Program {
	t.Helper()
	_, inputs := c.graph(rand.New(rand.NewPCG(1, 2)))
	return everywhere(t, func() *ir.Graph {
		g, _ := c.graph(rand.New(rand.NewPCG(1, 2)))
		return g
	}, inputs)
}

// assertPieces: whichever part of a packed constant is read, it is that part of the whole.
func assertPieces(t *testing.T, p *plan.Program) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range p.Constants {
		whole, err := c.Value.Const.Bytes()
		require.NoError(t, err)
		for range 5 {
			from := r.Int64N(int64(len(whole)))
			b := make([]byte, r.Int64N(min(5000, int64(len(whole))-from)+1))
			require.NoError(t, c.Value.Const.ReadBytes(b, from))
			require.True(t, slices.Equal(whole[from:from+int64(len(b))], b), "%s: %d bytes from %d on", c.Value.Name, len(b), from)
		}
	}
}

// TestRows: of a known number of columns rows and columns run as one axis, in steps of the stride.
func TestRows(t *testing.T) {
	for _, rows := range []int64{3, 4, 9, 40} {
		c := convolution{name: "rows", x: []int64{2, 64, rows, 4}, w: []int64{40, 64, 3, 1}, pads: []int64{0, 0, 0, 0}, strides: []int64{1, 2}, symbolic: true, fixed: 1}
		c.run(t)
	}
}

// filters reports whether a kernel takes fewer products than the convolution has.
func filters(p *plan.Program) bool {
	return slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return strings.HasPrefix(c.Kernel.Anchor, "winograd") })
}

// assertClose compares relative to the greatest number: transforms add numbers of its size.
func assertClose(t *testing.T, want, got *ir.Tensor, chip string) {
	t.Helper()
	assertWithin(t, want, got, tolerances[want.Type], chip)
}
