package modeltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Products are graphs of products of matrices of 8 bits with constants: extents around those of
// vectors of 32 lanes and groups of 4, types and zero points in each way, one after the other.
type Products struct {
	Name string
	// Rows, Inner and Columns are the extents: Columns[0] of the first product, which the next one sums.
	// Batch is what stands before the rows.
	Batch       []int64
	Rows, Inner int64
	Columns     []int64
	X, W        ir.DType
	XZero       int64
	WZero       int64
	// Lines gives weights that are constants a zero point for each column.
	Lines bool
	// Scaled products are QLinearMatMul; others are MatMulInteger. Factor is what scales the sums; 0:
	// something that spreads results.
	Scaled bool
	Factor float32
	// Given makes the weights inputs.
	Given bool
	// Symbolic makes the rows a symbol.
	Symbolic bool
}

// AllProducts are tried by the tests of several packages.
var AllProducts = []Products{
	{Name: "whole", Rows: 64, Inner: 64, Columns: []int64{64}, X: ir.U8, W: ir.I8},
	{Name: "one_row", Rows: 1, Inner: 40, Columns: []int64{96}, X: ir.U8, W: ir.I8, XZero: 128},
	{Name: "remainders", Rows: 33, Inner: 31, Columns: []int64{65}, X: ir.U8, W: ir.I8, XZero: 7},
	{Name: "below", Rows: 31, Inner: 3, Columns: []int64{33}, X: ir.U8, W: ir.I8, XZero: 255},
	{Name: "one", Rows: 1, Inner: 1, Columns: []int64{1}, X: ir.U8, W: ir.I8},
	{Name: "signed", Rows: 9, Inner: 20, Columns: []int64{40}, X: ir.I8, W: ir.I8, XZero: -3},
	{Name: "unsigned_weights", Rows: 35, Inner: 36, Columns: []int64{34}, X: ir.U8, W: ir.U8, XZero: 3, WZero: 128},
	{Name: "wide_weights", Rows: 5, Inner: 8, Columns: []int64{6}, X: ir.U8, W: ir.U8, WZero: 3},
	{Name: "zero_of_each_column", Rows: 40, Inner: 12, Columns: []int64{37}, X: ir.U8, W: ir.U8, XZero: 9, Lines: true},
	{Name: "batch", Batch: []int64{2, 3}, Rows: 34, Inner: 10, Columns: []int64{33}, X: ir.U8, W: ir.I8, XZero: 4},
	{Name: "weights_given", Rows: 34, Inner: 24, Columns: []int64{36}, X: ir.U8, W: ir.I8, Given: true},
	{Name: "symbolic", Rows: 21, Inner: 18, Columns: []int64{50}, X: ir.U8, W: ir.I8, XZero: 5, Symbolic: true},
	{Name: "scaled", Rows: 37, Inner: 50, Columns: []int64{67}, X: ir.U8, W: ir.I8, XZero: 100, Scaled: true},
	{Name: "wide", Rows: 32, Inner: 32, Columns: []int64{1024}, X: ir.U8, W: ir.I8, XZero: 1},
	{Name: "halves", Rows: 12, Inner: 8, Columns: []int64{64}, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true, Factor: 1.0 / 512},
	{Name: "steep", Rows: 12, Inner: 8, Columns: []int64{64}, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true, Factor: 0.3},
	{Name: "flat", Rows: 12, Inner: 64, Columns: []int64{64}, X: ir.U8, W: ir.I8, XZero: 1, Scaled: true, Factor: 1.7e-6},
	{Name: "nothing", Rows: 12, Inner: 8, Columns: []int64{64}, X: ir.U8, W: ir.I8, XZero: 1, Scaled: true, Factor: 1e-30},
	{Name: "signed_scaled", Rows: 12, Inner: 32, Columns: []int64{64}, X: ir.I8, W: ir.I8, XZero: -20, Scaled: true, Factor: 0.0007},
	{Name: "chain", Rows: 160, Inner: 64, Columns: []int64{64, 64, 32}, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true},
	{Name: "wide_chain", Rows: 64, Inner: 32, Columns: []int64{256, 512}, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true},
	{Name: "chain_remainders", Rows: 70, Inner: 30, Columns: []int64{45, 30, 7}, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true},
}

// LargeProducts are tried where what computes them is a machine of its own.
var LargeProducts = []Products{
	{Name: "large", Rows: 64, Inner: 256, Columns: []int64{512}, X: ir.U8, W: ir.I8, XZero: 100},
	{Name: "large_scaled", Rows: 64, Inner: 256, Columns: []int64{512}, X: ir.U8, W: ir.I8, XZero: 100, Scaled: true},
	{Name: "large_remainders", Rows: 65, Inner: 255, Columns: []int64{511}, X: ir.U8, W: ir.I8, XZero: 100},
	{Name: "deep_chain", Rows: 64, Inner: 32, Columns: []int64{256, 512, 512, 32}, X: ir.U8, W: ir.I8, XZero: 128, Scaled: true},
}

// MACs is the products of numbers of one run.
func (p Products) MACs() int64 {
	n, inner := int64(0), p.Inner
	for _, c := range p.Columns {
		n += p.Rows * inner * c
		inner = c
	}
	for _, b := range p.Batch {
		n *= b
	}
	return n
}

// Graph makes the graph, and inputs for it; the same name gives the same numbers.
func (p Products) Graph() (*ir.Graph, map[string]*ir.Tensor) {
	seed := rand.NewPCG(uint64(len(p.Name)), uint64(p.Rows))
	b := &productBuilder{Rand: rand.New(seed), p: p, g: &ir.Graph{Name: "products", Opset: 21}, inputs: map[string]*ir.Tensor{}}
	dims := append(append([]int64{}, p.Batch...), p.Rows, p.Inner)
	x := b.input("x", p.X, dims...)
	if p.Symbolic {
		b.g.Symbols = []ir.Symbol{{Name: "M", Lo: 1, Hi: 100}}
		x.Shape[len(p.Batch)] = sym.Var("M")
	}
	inner := p.Inner
	for i, columns := range p.Columns {
		x = b.product(i, x, inner, columns)
		inner = columns
	}
	b.g.Outputs = []*ir.Value{x}
	return b.g, b.inputs
}

type productBuilder struct {
	*rand.Rand
	p      Products
	g      *ir.Graph
	inputs map[string]*ir.Tensor
	names  int
}

func (b *productBuilder) bytes(t ir.DType, dims ...int64) *ir.Tensor {
	out := ir.NewTensor(t, dims...)
	for i := range out.Data {
		out.Data[i] = byte(b.IntN(256))
	}
	return out
}

func (b *productBuilder) input(name string, t ir.DType, dims ...int64) *ir.Value {
	v := &ir.Value{Name: name, Type: t, Shape: ir.Dims(dims...), HasShape: true}
	b.g.Inputs = append(b.g.Inputs, v)
	b.inputs[name] = b.bytes(t, dims...)
	return v
}

func (b *productBuilder) product(i int, x *ir.Value, inner, columns int64) *ir.Value {
	w := ir.ConstValue(fmt.Sprintf("w%d", i), b.bytes(b.p.W, inner, columns))
	if b.p.Given {
		w = b.input(w.Name, b.p.W, inner, columns)
	}
	wz := byteConst(fmt.Sprintf("wz%d", i), b.p.W, b.p.WZero)
	if b.p.Lines {
		wz = ir.ConstValue(wz.Name, b.bytes(b.p.W, columns))
		for k := range wz.Const.Data {
			wz.Const.Data[k] = 127 + wz.Const.Data[k]%2
		}
		for k := range w.Const.Data { // minus a zero point, they fit 8 bits
			w.Const.Data[k] = 1 + w.Const.Data[k]%254
		}
	}
	xz := byteConst(fmt.Sprintf("xz%d", i), b.p.X, b.p.XZero)
	n := &ir.Node{Op: "MatMulInteger", Name: fmt.Sprintf("product%d", i), Version: 10, Inputs: []*ir.Value{x, w, xz, wz}}
	if b.p.Scaled {
		n.Op, n.Version = "QLinearMatMul", 21
		spread := 1 / math.Sqrt(float64(inner))
		xs, ws, ys := float32(0.5), float32(spread)/64, float32(0.6)
		if b.p.Factor != 0 {
			xs, ws, ys = b.p.Factor, 1, 1
		}
		n.Inputs = []*ir.Value{x, floatConst("xs", xs), xz, w, floatConst("ws", ws), wz, floatConst("ys", ys),
			byteConst(fmt.Sprintf("yz%d", i), b.p.X, b.p.XZero)}
	}
	y := &ir.Value{Name: fmt.Sprintf("y%d", i), Def: n}
	n.Outputs = []*ir.Value{y}
	b.g.Nodes = append(b.g.Nodes, n)
	return y
}

func byteConst(name string, t ir.DType, x int64) *ir.Value {
	out := ir.NewTensor(t)
	out.Data[0] = byte(x)
	return ir.ConstValue(name, out)
}

func floatConst(name string, x float32) *ir.Value {
	out := ir.NewTensor(ir.F32)
	binary.LittleEndian.PutUint32(out.Data, math.Float32bits(x))
	return ir.ConstValue(name, out)
}

// name is one that no other value or node has.
func (b *productBuilder) name(what string) string {
	b.names++
	return fmt.Sprintf("%s%d", what, b.names)
}
