package hostile

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// scaleCases are quantized operators whose scales are zero, denormal, negative, infinite or no numbers. ONNX's formulas say what they compute; an
// integer made of what is no number is 0.
func scaleCases(m *maker) error {
	for _, constant := range []bool{true, false} {
		for _, t := range []ir.DType{ir.U8, ir.I8, ir.U16, ir.I16} {
			m.quantizesBy(t, constant)
		}
		for _, t := range []ir.DType{ir.U8, ir.I8, ir.U16, ir.I16, ir.I32} {
			m.dequantizesBy(t, constant)
		}
		m.multipliesBy(constant)
		m.convolvesBy(constant)
	}
	m.scaledOnce()
	m.dynamic()
	for i, s := range append([]float64{0x1p-100, 0x1p100}, hostileScales...) {
		for place := range 3 {
			m.convolutionIsland(i, place, s)
		}
		m.functionIslands(i, s)
	}
	return nil
}

var hostileScales = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), -0.5, 0x1p-149, 0x1p-130, 0x1p-126, math.MaxFloat32}

const zeroPoint = 3

// arithmetic is that of f32: fold's where the compiler may compute, and run's. Either takes denormals for zeros or does not.
type arithmetic struct{ fold, run func(float64) float64 }

func (a arithmetic) folded(x float64) float64 { return a.fold(float64(float32(x))) }
func (a arithmetic) of(x float64) float64     { return a.run(float64(float32(x))) }

// quantized is the number of a type that x becomes.
func (a arithmetic) quantized(t ir.DType, x, scale float64) float64 {
	q := a.of(a.of(x) / a.of(scale))
	if math.IsNaN(q) {
		return 0
	}
	lo, hi := integerEnds(t)
	return min(max(math.RoundToEven(q)+zeroPoint, lo), hi)
}

func integerEnds(t ir.DType) (lo, hi float64) {
	n := 8 * t.Size()
	if t == ir.U8 || t == ir.U16 {
		return 0, float64(int64(1)<<n - 1)
	}
	return -float64(int64(1) << (n - 1)), float64(int64(1)<<(n-1) - 1)
}

// computed wants what a function of f32's arithmetic gives, denormals being zeros in all of it, in what a run computes, or nowhere.
func computed(t ir.DType, shape []int64, f func(i int, a arithmetic) float64) Want {
	keep, flush := func(x float64) float64 { return x }, func(x float64) float64 { return flushed(ir.F32, x) }
	w := Want{Shape: shape, Type: t}
	for i := range int(ir.NewTensor(t, shape...).Len()) {
		var of []float64
		for _, a := range []arithmetic{{keep, keep}, {flush, flush}, {keep, flush}} {
			of = append(of, f(i, a))
		}
		w.Elements = append(w.Elements, of)
	}
	if t.IsFloat() {
		w.Absolute = 0x1p-126 // results that are denormal may be zeros
	}
	return w
}

// named are constants or inputs of a model, by name.
type named struct {
	name     string
	tensor   *ir.Tensor
	constant bool
}

// scaled adds a case of a model whose operands are constants or inputs.
func (m *maker) scaled(name string, w Want, operands []named, nodes ...*onnxpb.NodeProto) *Case {
	var inputs []*onnxpb.ValueInfoProto
	var constants []*onnxpb.TensorProto
	var given []any
	for _, x := range operands {
		if x.constant {
			constants = append(constants, onnxtest.Tensor(x.name, x.tensor))
			continue
		}
		inputs, given = append(inputs, like(x.name, x.tensor)...), append(given, x.name, x.tensor)
	}
	c := m.add(Right, name, onnxtest.With(onnxtest.Model(inputs, nodes...), constants...))
	c.Runs = both(run(w, given...))
	return c
}

func origin(constant bool) string {
	if constant {
		return "constant"
	}
	return "given"
}

// quantizesBy quantizes the same numbers by each scale.
func (m *maker) quantizesBy(t ir.DType, constant bool) {
	inf := math.Inf(1)
	row := []float64{0, math.Copysign(0, -1), 1, -1, 3.75, 1e30, 0x1p-130, inf, -inf, math.NaN()}
	var xs []float64
	n := int64(len(hostileScales))
	for range n {
		xs = append(xs, row...)
	}
	w := computed(t, []int64{n, int64(len(row))}, func(i int, a arithmetic) float64 {
		return a.quantized(t, xs[i], hostileScales[i/len(row)])
	})
	m.scaled(fmt.Sprintf("QuantizeLinear %s, scales %s", t, origin(constant)), w, []named{
		{"x", tensor(ir.F32, w.Shape, xs...), false}, {"scale", f32(hostileScales...), constant}, {"zero", filled(t, zeroPoint, n), constant},
	}, onnxtest.Op("QuantizeLinear", "x scale zero", "y", "axis", 0))
}

// dequantizesBy dequantizes the same integers by each scale.
func (m *maker) dequantizesBy(t ir.DType, constant bool) {
	row := []float64{3, 0, 4, 100}
	var xs []float64
	n := int64(len(hostileScales))
	for range n {
		xs = append(xs, row...)
	}
	w := computed(ir.F32, []int64{n, int64(len(row))}, func(i int, a arithmetic) float64 {
		return a.of((xs[i] - zeroPoint) * a.of(hostileScales[i/len(row)]))
	})
	m.scaled(fmt.Sprintf("DequantizeLinear %s, scales %s", t, origin(constant)), w, []named{
		{"x", tensor(t, w.Shape, xs...), false}, {"scale", f32(hostileScales...), constant}, {"zero", filled(t, zeroPoint, n), constant},
	}, onnxtest.Op("DequantizeLinear", "x scale zero", "y", "axis", 0))
}

// requantized is the integer that a sum becomes.
func (a arithmetic) requantized(sum, x, w, y float64) float64 {
	factor := a.folded(a.folded(a.folded(x)*a.folded(w)) / a.folded(y))
	return a.quantized(ir.U8, a.of(sum*a.of(factor)), 1)
}

// product is a product of integers, one sum of which is 0, and its sums.
var (
	productLeft  = []float64{3, 3, 7, 5, 9, 3}
	productRight = []float64{1, -3}
	productSums  = []float64{0, -2, 6}
)

func productOf(a, b, y *ir.Tensor, columns int64, constant bool) []named {
	w := make([]float64, 2*columns)
	for i := range w {
		w[i] = productRight[i/int(columns)]
	}
	return []named{
		{"a", tensor(ir.U8, []int64{3, 2}, productLeft...), false}, {"as", a, constant}, {"az", scalar(ir.U8, zeroPoint), true},
		{"b", tensor(ir.I8, []int64{2, columns}, w...), true}, {"bs", b, constant}, {"bz", scalar(ir.I8, 0), true},
		{"ys", y, constant}, {"yz", scalar(ir.U8, zeroPoint), true},
	}
}

func productNode() *onnxpb.NodeProto {
	return onnxtest.Op("QLinearMatMul", "a as az b bs bz ys yz", "y")
}

// multipliesBy has a scale for each column.
func (m *maker) multipliesBy(constant bool) {
	n := int64(len(hostileScales))
	w := computed(ir.U8, []int64{3, n}, func(i int, a arithmetic) float64 {
		return a.requantized(productSums[i/int(n)], 0.5, hostileScales[i%int(n)], 0.25)
	})
	m.scaled("QLinearMatMul, scales of columns "+origin(constant), w, productOf(scalar(ir.F32, 0.5), f32(hostileScales...), scalar(ir.F32, 0.25), n, constant), productNode())
}

// convolvesBy has a scale for each channel.
func (m *maker) convolvesBy(constant bool) {
	n := int64(len(hostileScales))
	xs := []float64{3, 7, 1}
	w := computed(ir.U8, []int64{1, n, 1, 3}, func(i int, a arithmetic) float64 {
		return a.requantized((xs[i%3]-zeroPoint)*2, 0.5, hostileScales[i/3], 0.25)
	})
	m.scaled("QLinearConv, scales of channels "+origin(constant), w, []named{
		{"x", tensor(ir.U8, []int64{1, 1, 1, 3}, xs...), false}, {"xs", scalar(ir.F32, 0.5), constant}, {"xz", scalar(ir.U8, zeroPoint), true},
		{"w", filled(ir.I8, 2, n, 1, 1, 1), true}, {"ws", f32(hostileScales...), constant}, {"wz", scalar(ir.I8, 0), true},
		{"ys", scalar(ir.F32, 0.25), constant}, {"yz", scalar(ir.U8, zeroPoint), true},
	}, onnxtest.Op("QLinearConv", "x xs xz w ws wz ys yz", "y"))
}

// scaledOnce has the data's scale or the result's, given by runs of one model, and as constants.
func (m *maker) scaledOnce() {
	var all *Case
	for i, s := range hostileScales {
		for place, name := range []string{"data", "result"} {
			scales := []float64{0.5, 0.25}
			scales[place] = s
			w := computed(ir.U8, []int64{3, 1}, func(i int, a arithmetic) float64 { return a.requantized(productSums[i], scales[0], 1, scales[1]) })
			a, y := scalar(ir.F32, scales[0]), scalar(ir.F32, scales[1])
			m.scaled(fmt.Sprintf("QLinearMatMul, scale %d of the %s, %v", i, name, s), w, productOf(a, scalar(ir.F32, 1), y, 1, true), productNode())
			operands := productOf(a, scalar(ir.F32, 1), y, 1, false)
			if all == nil {
				all = m.scaled("QLinearMatMul, scales of data and results given", w, operands, productNode())
				continue
			}
			var given []any
			for _, x := range operands {
				if !x.constant {
					given = append(given, x.name, x.tensor)
				}
			}
			all.Runs = append(all.Runs, both(run(w, given...))...)
		}
	}
}

// dynamic quantizes numbers of which no scale can be made.
func (m *maker) dynamic() {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name  string
		x     []float64
		scale float64
	}{{"inf", []float64{0, inf, 1}, inf}, {"-inf", []float64{-inf, 1}, inf}, {"both", []float64{-inf, inf, 1}, inf}, {"NaN", []float64{nan, 1}, nan}} {
		node := onnxtest.Op("DynamicQuantizeLinear", "x", "y")
		node.Output = append(node.Output, "scale", "zero")
		model := onnxtest.Model(like("x", f32(c.x...)), node)
		model.Graph.Output = append(model.Graph.Output, onnxtest.Output("scale"), onnxtest.Output("zero"))
		r := Run{Inputs: values("x", f32(c.x...)), Want: []Want{is(filled(ir.U8, 0, int64(len(c.x)))), is(scalar(ir.F32, c.scale)), is(scalar(ir.U8, 0))}}
		m.right("DynamicQuantizeLinear of "+c.name, model, r)
	}
}

// convolutionIsland is a convolution between DequantizeLinear and QuantizeLinear, of which one has the scale: of data, weights or results.
func (m *maker) convolutionIsland(i, place int, s float64) {
	scales := []float64{0.5, 0.25, 0.125}
	scales[place] = s
	xs := []float64{3, 7, 1, 255}
	w := computed(ir.U8, []int64{1, 1, 1, 4}, func(i int, a arithmetic) float64 {
		x := a.of((xs[i] - zeroPoint) * a.of(scales[0]))
		return a.quantized(ir.U8, a.of(x*a.of(a.folded(2*a.folded(scales[1])))), scales[2])
	})
	m.scaled(fmt.Sprintf("island of Conv, scale %d of the %s, %v", i, []string{"data", "weights", "result"}[place], s), w, []named{
		{"q", tensor(ir.U8, w.Shape, xs...), false}, {"xs", scalar(ir.F32, scales[0]), true}, {"z", scalar(ir.U8, zeroPoint), true},
		{"w", filled(ir.I8, 2, 1, 1, 1, 1), true}, {"ws", scalar(ir.F32, scales[1]), true}, {"ys", scalar(ir.F32, scales[2]), true},
	}, onnxtest.Op("DequantizeLinear", "q xs z", "x"), onnxtest.Op("DequantizeLinear", "w ws", "v"), onnxtest.Op("Conv", "x v", "c"), onnxtest.Op("QuantizeLinear", "c ys z", "y"))
}

// functionIslands are moves and functions between integers of one scale: neither is left out where x/s*s is not x.
func (m *maker) functionIslands(i int, s float64) {
	xs := []float64{3, 7, 1, 255}
	for _, f := range []struct {
		op string
		of func(float64) float64
	}{
		{"Identity", func(x float64) float64 { return x }},
		{"Transpose", func(x float64) float64 { return x }},
		{"Relu", func(x float64) float64 {
			if x > 0 || math.IsNaN(x) {
				return x
			}
			return 0
		}},
		{"Sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	} {
		result := s
		if f.op == "Sigmoid" {
			result = 0.125
		}
		w := computed(ir.U8, []int64{4}, func(i int, a arithmetic) float64 {
			return a.quantized(ir.U8, f.of(a.of((xs[i]-zeroPoint)*a.of(s))), result)
		})
		m.scaled(fmt.Sprintf("island of %s, scale %d, %v", f.op, i, s), w, []named{
			{"q", tensor(ir.U8, w.Shape, xs...), false}, {"xs", scalar(ir.F32, s), true}, {"ys", scalar(ir.F32, result), true}, {"z", scalar(ir.U8, zeroPoint), true},
		}, onnxtest.Op("DequantizeLinear", "q xs z", "x"), onnxtest.Op(f.op, "x", "v"), onnxtest.Op("QuantizeLinear", "v ys z", "y"))
	}
}
