package modeltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Integers is a graph of no purpose on integers, what quantized networks are made of, with inputs for it. Every way to compute it
// gives the same bytes.
type Integers struct {
	Graph  *ir.Graph
	Inputs map[string]*ir.Tensor
	Dims   map[string]int64 // of its symbols
	// Ops are the operators of its nodes.
	Ops []string
}

// NewIntegers makes a graph and inputs; the same seed makes the same ones.
func NewIntegers(seed uint64) *Integers {
	b := &integers{Rand: rand.New(rand.NewPCG(seed, 13)), used: map[*ir.Value]bool{},
		Integers: &Integers{Graph: &ir.Graph{Name: "integers", Opset: 23}, Inputs: map[string]*ir.Tensor{}, Dims: map[string]int64{}}}
	b.input()
	if b.IntN(3) == 0 {
		b.input()
	}
	for want, tries := 2+b.IntN(6), 0; len(b.Graph.Nodes) < want && tries < 60; tries++ {
		x := b.pool[len(b.pool)-1]
		if b.IntN(3) == 0 {
			x = b.pool[b.IntN(len(b.pool))]
		}
		integerSteps[b.IntN(len(integerSteps))](b, x)
	}
	for _, v := range b.pool {
		if v.Def != nil && !b.used[v] {
			b.Graph.Outputs = append(b.Graph.Outputs, v)
		}
	}
	for _, n := range b.Graph.Nodes {
		b.Ops = append(b.Ops, n.Op)
	}
	return b.Integers
}

type integers struct {
	*rand.Rand
	*Integers
	pool  []*ir.Value // of type u8, i8 or i32
	used  map[*ir.Value]bool
	names int
}

// integerSteps add a node, or a few, that read x.
var integerSteps = []func(b *integers, x *ir.Value){
	multiply, multiply, multiply, multiplyScaled, multiplyScaled, multiplyScaled, convolveIntegers, convolveScaled, requantize, requantize, convolveIsland, convolveIsland, convolveIsland, moveIsland, functionIsland,
	wideIsland, channelIsland, productIsland, pairIsland,
	integerArithmetic, integerArithmetic, integerUnary, chooseInteger, convertInteger, poolIntegers, reduceIntegers, moveIntegers, moveIntegers,
}

func (b *integers) among(xs ...int64) int64 { return xs[b.IntN(len(xs))] }

func (b *integers) name(what string) string {
	b.names++
	return fmt.Sprintf("%s%d", what, b.names)
}

// input adds an input of rows or of pictures.
func (b *integers) input() {
	dims := []int64{b.among(1, 2, 3, 33, 64), b.among(1, 3, 8, 20, 32, 40, 64)}
	switch b.IntN(4) {
	case 0, 3:
		dims = []int64{b.among(1, 2), b.among(1, 3, 4, 8, 32, 33), b.among(1, 5, 8), b.among(1, 4, 7, 16)}
	case 1:
		dims = append([]int64{b.among(1, 2, 3)}, dims...)
	}
	v := &ir.Value{Name: b.name("x"), Type: []ir.DType{ir.U8, ir.U8, ir.I8}[b.IntN(3)], Shape: ir.Dims(dims...), HasShape: true}
	if b.IntN(3) == 0 {
		if b.Dims["N"] == 0 {
			b.Dims["N"] = dims[0]
			b.Graph.Symbols = []ir.Symbol{{Name: "N", Lo: 1, Hi: 99}}
		}
		dims[0], v.Shape[0] = b.Dims["N"], sym.Var("N")
	}
	b.Graph.Inputs = append(b.Graph.Inputs, v)
	b.Inputs[v.Name] = b.numbers(v.Type, dims...)
	b.pool = append(b.pool, v)
}

// numbers are any of the type; of i32 such that a few sums and products stay in the type.
func (b *integers) numbers(t ir.DType, dims ...int64) *ir.Tensor {
	out := ir.NewTensor(t, dims...)
	for i := 0; i < len(out.Data); i += t.Size() {
		if t == ir.I32 {
			binary.LittleEndian.PutUint32(out.Data[i:], uint32(b.IntN(4001)-2000))
		} else {
			out.Data[i] = byte(b.IntN(256))
		}
	}
	return out
}

func (b *integers) constant(t ir.DType, dims ...int64) *ir.Value {
	return ir.ConstValue(b.name("w"), b.numbers(t, dims...))
}

func (b *integers) zero(t ir.DType) *ir.Value {
	zeros := map[ir.DType][]int64{ir.U8: {0, 1, 7, 128, 255}, ir.I8: {0, 0, -3, 127, -128}}[t]
	return byteConst(b.name("z"), t, b.among(zeros...))
}

func (b *integers) scale(low, high float64) *ir.Value {
	return floatConst(b.name("s"), float32(math.Exp2(low+b.Float64()*(high-low))))
}

// emit appends a node and gives its result, or nil where it is none that shape inference takes or it is too large.
func (b *integers) emit(op string, attrs ir.Attrs, inputs ...*ir.Value) *ir.Value {
	n := &ir.Node{Op: op, Name: b.name(op), Inputs: inputs, Attrs: attrs}
	v := &ir.Value{Name: b.name("v"), Def: n}
	n.Outputs = []*ir.Value{v}
	b.Graph.Nodes = append(b.Graph.Nodes, n)
	b.Graph.Outputs = n.Outputs
	symbols := len(b.Graph.Symbols)
	ok := shape.Infer(b.Graph) == nil && len(b.Graph.Symbols) == symbols
	b.Graph.Outputs = nil
	if ok {
		size, err := ir.Len(b.dims(v))
		ok = err == nil && size > 0 && size <= 1<<14
	}
	if !ok {
		b.Graph.Nodes, b.Graph.Symbols = b.Graph.Nodes[:len(b.Graph.Nodes)-1], b.Graph.Symbols[:symbols]
		return nil
	}
	for _, x := range inputs {
		b.used[x] = true
	}
	return v
}

// keep adds a result to the pool.
func (b *integers) keep(v *ir.Value) {
	if v != nil {
		b.pool = append(b.pool, v)
	}
}

// dims is the shape in numbers.
func (b *integers) dims(v *ir.Value) []int64 {
	out := make([]int64, len(v.Shape))
	for i, e := range v.Shape {
		out[i], _ = e.Eval(b.Dims)
	}
	return out
}

// weights are constants that x is multiplied by, with their zero point.
func (b *integers) weights(dims ...int64) (w, zero *ir.Value) {
	t := []ir.DType{ir.I8, ir.I8, ir.U8}[b.IntN(3)]
	w, zero = b.constant(t, dims...), b.zero(t)
	if t == ir.U8 && b.IntN(2) == 0 {
		zero = byteConst(zero.Name, t, 128) // minus it, they fit 8 bits
	}
	return w, zero
}

func isByte(x *ir.Value, ranks ...int) bool {
	return (x.Type == ir.U8 || x.Type == ir.I8) && slices.Contains(ranks, len(x.Shape))
}

// matrix is weights for the product of x with a matrix.
func (b *integers) matrix(x *ir.Value) (w, zero *ir.Value) {
	k, known := x.Shape[len(x.Shape)-1].Const()
	if !isByte(x, 2, 3) || !known {
		return nil, nil
	}
	return b.weights(k, b.among(1, 7, 32, 33, 64))
}

func multiply(b *integers, x *ir.Value) {
	if len(x.Shape) == 0 {
		return
	}
	if w, zero := b.matrix(x); w != nil {
		b.keep(b.emit("MatMulInteger", nil, x, w, b.zero(x.Type), zero))
	}
}

func multiplyScaled(b *integers, x *ir.Value) {
	if len(x.Shape) == 0 {
		return
	}
	if w, zero := b.matrix(x); w != nil {
		b.keep(b.emit("QLinearMatMul", nil, x, b.scale(-8, 0), b.zero(x.Type), w, b.scale(-8, 0), zero, b.scale(-3, 3), b.zero(x.Type)))
	}
}

// filters are weights for a convolution of x, and its attributes.
func (b *integers) filters(x *ir.Value) (w, zero *ir.Value, attrs ir.Attrs) {
	if !isByte(x, 4) {
		return nil, nil, nil
	}
	c, known := x.Shape[1].Const()
	if !known {
		return nil, nil, nil
	}
	kernel, group := []int64{b.among(1, 2, 3), b.among(1, 3)}, int64(1)
	if b.IntN(3) == 0 {
		group = c
	}
	w, zero = b.weights(append([]int64{group * b.among(1, 2, 8), c / group}, kernel...)...)
	return w, zero, ir.Attrs{"kernel_shape": kernel, "group": group, "strides": []int64{b.among(1, 2), 1}, "pads": []int64{1, 0, 1, b.Int64N(2)}}
}

func convolveIntegers(b *integers, x *ir.Value) {
	if w, zero, attrs := b.filters(x); w != nil {
		b.keep(b.emit("ConvInteger", attrs, x, w, b.zero(x.Type), zero))
	}
}

func convolveScaled(b *integers, x *ir.Value) {
	if w, zero, attrs := b.filters(x); w != nil {
		b.keep(b.emit("QLinearConv", attrs, x, b.scale(-8, 0), b.zero(x.Type), w, b.scale(-8, 0), zero, b.scale(-3, 3), b.zero(x.Type), b.constant(ir.I32, w.Const.Shape[0])))
	}
}

// requantize makes bytes of sums, or of bytes of another scale.
func requantize(b *integers, x *ir.Value) {
	in := []*ir.Value{x, b.scale(-12, 0)}
	if x.Type != ir.I32 {
		in = append(in, b.zero(x.Type))
	}
	if f := b.emit("DequantizeLinear", nil, in...); f != nil {
		y := b.emit("QuantizeLinear", nil, f, b.scale(-4, 4), b.zero([]ir.DType{ir.U8, ir.I8}[b.IntN(2)]))
		if y == nil { // then the floats must not stay
			b.Graph.Nodes = b.Graph.Nodes[:len(b.Graph.Nodes)-1]
			return
		}
		b.keep(y)
	}
}
