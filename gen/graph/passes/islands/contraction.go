package islands

import (
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// contraction is an operator that sums products of two quantized operands, and adds a bias.
type contraction struct {
	n      *ir.Node
	x, w   *ir.Value
	xa, wa *affine
	bias   *ir.Value // of floats; nil: none
	// op is the operator of integers, whose result has W's scales and the bias along an axis; of W's axes it is the one that they lie along.
	op          string
	axis, along int
	turned      bool  // W is stored with its rows as columns
	sums        int64 // products in a sum
}

// contractions find the parts that operators have of their own, and report whether integers compute what the node says.
var contractions = map[string]func(c *contraction) bool{"Conv": (*contraction).convolves, "MatMul": (*contraction).multiplies, "Gemm": (*contraction).gemm}

// newContraction is a node as one of quantized operands; nil where it is none, or none whose sums fit 32 bits.
func newContraction(n *ir.Node) *contraction {
	find := contractions[n.Op]
	if find == nil || result(n) == nil || len(n.Inputs) < 2 || !n.Outputs[0].HasShape {
		return nil
	}
	c := &contraction{n: n, bias: n.Input(2)}
	c.x, c.xa = dequantized(n.Inputs[0])
	c.w, c.wa = dequantized(n.Inputs[1])
	if c.xa == nil || c.wa == nil || !c.xa.isBytes() || !c.wa.isBytes() || !c.xa.sole() || len(c.w.Shape) < 2 || !find(c) {
		return nil
	}
	if c.wa.axis >= 0 && c.wa.axis != c.along || len(c.wa.scale) == 1 && len(c.wa.zero) > 1 {
		return nil
	}
	if c.sums <= 0 || c.sums > mostSum/(c.xa.reach()*c.wa.reach()) {
		return nil
	}
	return c
}

// mostSum is how great a sum may be, so that a bias that is as great still fits 32 bits.
const mostSum = math.MaxInt32 / 2

func (c *contraction) convolves() bool {
	dims, known := c.w.Static()
	if !known {
		return false
	}
	c.op, c.axis, c.along, c.sums = "ConvInteger", 1, 0, 1
	for _, d := range dims[1:] {
		c.sums *= min(d, mostSum)
	}
	return true
}

func (c *contraction) multiplies() bool {
	rank := len(c.w.Shape)
	k, known := c.w.Shape[rank-2].Const()
	c.op, c.axis, c.along, c.sums = "MatMulInteger", len(c.n.Outputs[0].Shape)-1, rank-1, k
	return known && len(c.x.Shape) > 1
}

func (c *contraction) gemm() bool {
	n := c.n
	if n.Int("transA", 0) != 0 || n.Float("alpha", 1) != 1 || n.Float("beta", 1) != 1 {
		return false
	}
	c.turned = n.Int("transB", 0) != 0
	c.op, c.axis, c.along = "MatMulInteger", 1, 1
	summed := 0
	if c.turned {
		c.along, summed = 0, 1
	}
	k, known := c.w.Shape[summed].Const()
	c.sums = k
	return known
}

// scale is what a sum of integers is times, for each of W's scales.
func (c *contraction) scale() []float32 {
	out := make([]float32, len(c.wa.scale))
	for i, s := range c.wa.scale {
		out[i] = float32(c.xa.scale[0] * s)
	}
	return out
}

// factors are the scales of the results' integers: the sums' by those that the results are quantized by.
func (c *contraction) factors(to *affine) []float32 {
	out := c.scale()
	for i, s := range out {
		out[i] = float32(s / to.scale[0])
	}
	return out
}

// integerBias is the bias in the scale of the sums; false where it is none of integers of 32 bits in that scale.
func (c *contraction) integerBias() (*ir.Tensor, bool) {
	if c.bias == nil {
		return nil, true
	}
	q, a := dequantized(c.bias)
	if a == nil || q.Const == nil || q.Type != ir.I32 || slices.ContainsFunc(a.zero, func(z int64) bool { return z != 0 }) || !c.alongChannels(q.Shape) {
		return nil, false
	}
	scale := c.scale()
	for i := range max(len(scale), len(a.scale)) {
		if !near(scale[i%len(scale)], a.scale[i%len(a.scale)]) {
			return nil, false
		}
	}
	xs, err := q.Const.Ints()
	if err != nil || slices.ContainsFunc(xs, func(x int64) bool { return x < -mostSum || x > mostSum }) {
		return nil, false
	}
	shape := slices.Repeat([]int64{1}, len(c.n.Outputs[0].Shape))
	shape[c.axis] = int64(len(xs))
	return edit.IntTensor(ir.I32, xs, shape[c.axis:]...), true
}

// near reports whether two scales are the same but for the rounding of their product.
func near(a, b float32) bool { return math.Abs(float64(a)-float64(b)) <= 0x1p-22*float64(a) }

// alongChannels reports whether a bias has a number for each channel, or one for all of them.
func (c *contraction) alongChannels(s ir.Shape) bool {
	return len(s) <= 1 || len(s) == 2 && c.axis == 1 && len(c.n.Outputs[0].Shape) == 2 && s[0].Is(1)
}

// sum appends the sum of integers, with a bias if there is one.
func (c *contraction) sum(b *builder, bias *ir.Tensor) *ir.Value {
	w, out := c.w, c.n.Outputs[0]
	if c.turned {
		w = b.add("Transpose", 13, w.Type, ir.Shape{w.Shape[1], w.Shape[0]}, ir.Attrs{"perm": []int64{1, 0}}, w)
	}
	var attrs ir.Attrs
	if c.op == "ConvInteger" {
		attrs = c.n.Attrs
	}
	v := b.add(c.op, 10, ir.I32, out.Shape, attrs, c.x, w, c.xa.at, c.wa.at)
	if bias != nil {
		v = b.add("Add", 14, ir.I32, out.Shape, nil, v, b.constant("bias", bias))
	}
	return v
}

// dequantize appends floats of sums.
func (c *contraction) dequantize(b *builder, sum *ir.Value, scale []float32) *ir.Value {
	var attrs ir.Attrs
	if len(scale) > 1 {
		attrs = ir.Attrs{"axis": int64(c.axis)}
	}
	return b.add("DequantizeLinear", 13, ir.F32, c.n.Outputs[0].Shape, attrs, sum, b.floats("scale", scale))
}

// quantizedContraction makes a contraction whose result is quantized, after bounds or none, one of integers, of which one factor makes the result's.
func quantizedContraction(p *pass, n *ir.Node) []*ir.Node {
	to := quantizer(n)
	if to == nil {
		return nil
	}
	from, limits := p.bounded(n.Inputs[0], to)
	if from == nil {
		return nil
	}
	c := newContraction(from)
	if c == nil {
		return nil
	}
	bias, ok := c.integerBias()
	factors := c.factors(to)
	if !ok || slices.ContainsFunc(factors, unusual[float32]) {
		return nil
	}
	b := p.replace(n)
	f := c.dequantize(b, c.sum(b, bias), factors)
	q := b.add("QuantizeLinear", n.Version, to.typ, n.Outputs[0].Shape, n.Attrs, f, b.floats("scale", []float32{1}), to.at)
	limits.add(b, q)
	return b.done()
}

// floatContraction makes any other contraction of quantized operands one of integers whose sums become floats.
func floatContraction(p *pass, n *ir.Node) []*ir.Node {
	c := newContraction(n)
	if c == nil {
		return nil
	}
	bias, ok := c.integerBias()
	out := n.Outputs[0].Shape
	if slices.ContainsFunc(c.scale(), unusual[float32]) {
		return nil
	}
	if !ok && c.axis < len(out)-1 && len(c.bias.Shape) != 1 {
		return nil
	}
	b := p.replace(n)
	f := c.dequantize(b, c.sum(b, bias), c.scale())
	if !ok {
		b.add("Add", 14, ir.F32, out, nil, f, c.floatBias(b))
	}
	return b.done()
}

// floatBias is a bias with the axes of the result that lie within its own.
func (c *contraction) floatBias(b *builder) *ir.Value {
	within := len(c.n.Outputs[0].Shape) - 1 - c.axis
	if within == 0 {
		return c.bias
	}
	dims := append([]int64{-1}, slices.Repeat([]int64{1}, within)...)
	shape := slices.Concat(c.bias.Shape, ir.Dims(dims[1:]...))
	return b.add("Reshape", 14, ir.F32, shape, nil, c.bias, b.constant("shape", edit.IntTensor(ir.I64, dims, int64(len(dims)))))
}
