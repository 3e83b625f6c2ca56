package hostile

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// floatRest are operators of several numbers.
func (m *maker) floatRest() {
	inf, nan := math.Inf(1), math.NaN()
	most := math.MaxFloat32
	for _, c := range []struct {
		name  string
		in    []float64
		want  []float64
		op    string
		attrs []any
	}{
		{"Softmax of the least", []float64{-most, -most, -most, -most}, []float64{.25, .25, .25, .25}, "Softmax", nil},
		{"Softmax of the greatest", []float64{most, most, 0, -most}, []float64{.5, .5, 0, 0}, "Softmax", nil},
		{"Softmax of -inf", []float64{-inf, 0, 0, -inf}, []float64{0, .5, .5, 0}, "Softmax", nil},
		{"Softmax of -inf alone", []float64{-inf, -inf}, []float64{nan, nan}, "Softmax", nil},
		{"Softmax of NaN", []float64{nan, 1}, []float64{nan, nan}, "Softmax", nil},
		{"LogSoftmax of the greatest", []float64{most, most}, []float64{-math.Ln2, -math.Ln2}, "LogSoftmax", nil},
		{"LogSoftmax of -inf", []float64{-inf, 0}, []float64{-inf, 0}, "LogSoftmax", nil},
		{"IsInf, positive alone", []float64{inf, -inf, nan, most}, []float64{1, 0, 0, 0}, "IsInf", []any{"detect_negative", 0}},
		{"IsInf, negative alone", []float64{inf, -inf, nan, most}, []float64{0, 1, 0, 0}, "IsInf", []any{"detect_positive", 0}},
		{"Round of halves", []float64{0.5, 1.5, 2.5, -0.5, -1.5, 8388609, 0x1p31, 1e30}, []float64{0, 2, 2, 0, -2, 8388609, 0x1p31, 1e30}, "Round", nil},
		{"CumSum with inf", []float64{1, inf, 1, -inf, 1}, []float64{1, inf, inf, nan, nan}, "CumSum", nil},
		{"Hardmax of -inf", []float64{-inf, -inf, -inf}, []float64{1, 0, 0}, "Hardmax", nil},
	} {
		in := f32(c.in...)
		result := ir.F32
		if c.op == "IsInf" {
			result = ir.Bool
		}
		operands, nodes := "x", []*onnxpb.NodeProto{}
		if c.op == "CumSum" {
			operands = "x axis"
			nodes = append(nodes, onnxtest.Op("Constant", "", "axis", "value_int", 0))
		}
		nodes = append(nodes, onnxtest.Op(c.op, operands, "y", c.attrs...))
		m.right(c.name, onnxtest.Model(like("x", in), nodes...), run(about(tensor(result, nil, c.want...)), "x", in))
	}
	m.quantized()
	m.products()
	m.clips()
	m.reflected()
}

// quantized saturates.
func (m *maker) quantized() {
	inf := math.Inf(1)
	in := f32(inf, -inf, 1e30, -1e30, 0.5, 1.5, 2.5, -0.5, 300, -300)
	for _, c := range []struct {
		t    ir.DType
		want []int64
	}{
		{ir.U8, []int64{255, 0, 255, 0, 0, 2, 2, 0, 255, 0}},
		{ir.I8, []int64{127, -128, 127, -128, 0, 2, 2, 0, 127, -128}},
		{ir.U16, []int64{65535, 0, 65535, 0, 0, 2, 2, 0, 300, 0}},
		{ir.I16, []int64{32767, -32768, 32767, -32768, 0, 2, 2, 0, 300, -300}},
	} {
		model := onnxtest.With(onnxtest.Model(like("x", in), onnxtest.Op("QuantizeLinear", "x scale zero", "y")),
			onnxtest.Tensor("scale", scalar(ir.F32, 1)), onnxtest.Tensor("zero", scalar(c.t, 0)))
		m.right(fmt.Sprintf("QuantizeLinear of what %s does not hold", c.t), model, run(is(intTensor(c.t, nil, c.want...)), "x", in))
	}
}

// products with infinities, NaN and zeros: a kernel that skips zeros, or pads, would hide them.
func (m *maker) products() {
	inf, nan := math.Inf(1), math.NaN()
	for _, n := range []int64{1, 3, 17} {
		a, b := filled(ir.F32, 0, 2, n), filled(ir.F32, 1, n, 3)
		a = tensor(ir.F32, a.Shape, replace(numbersOf(a), 0, inf)...) // row 0 begins with inf, row 1 is zeros
		b = tensor(ir.F32, b.Shape, replace(numbersOf(b), 2, inf)...) // column 2 begins with inf
		want := tensor(ir.F32, []int64{2, 3}, inf, inf, inf, 0, 0, nan)
		for _, constant := range []bool{false, true} {
			model := onnxtest.Model(append(like("a", a), like("b", b)...), onnxtest.Op("MatMul", "a b", "y"))
			r := run(is(want), "a", a, "b", b)
			if constant {
				model = onnxtest.With(onnxtest.Model(like("a", a), onnxtest.Op("MatMul", "a b", "y")), onnxtest.Tensor("b", b))
				r = run(is(want), "a", a)
			}
			m.right(fmt.Sprintf("MatMul with inf and zeros, %d, constant %v", n, constant), model, r)
		}
	}
}

func replace(xs []float64, i int, x float64) []float64 {
	xs[i] = x
	return xs
}

// clips have bounds at the ends.
func (m *maker) clips() {
	inf := math.Inf(1)
	in := f32(-inf, -1, 0, 1, inf)
	for _, c := range []struct {
		name   string
		lo, hi float64
		want   []float64
	}{
		{"infinite bounds", -inf, inf, []float64{-inf, -1, 0, 1, inf}},
		{"all at +inf", inf, inf, []float64{inf, inf, inf, inf, inf}},
		{"the greatest", -math.MaxFloat32, math.MaxFloat32, []float64{-math.MaxFloat32, -1, 0, 1, math.MaxFloat32}},
		{"bounds that cross: the upper one holds", 2, -2, []float64{-2, -2, -2, -2, -2}},
	} {
		model := onnxtest.With(onnxtest.Model(like("x", in), onnxtest.Op("Clip", "x lo hi", "y")), onnxtest.Tensor("lo", scalar(ir.F32, c.lo)), onnxtest.Tensor("hi", scalar(ir.F32, c.hi)))
		m.right("Clip, "+c.name, model, run(is(f32(c.want...)), "x", in))
	}
}

// reflected samples a row at places far outside, where a coordinate is reflected many times.
func (m *maker) reflected() {
	const width = 4
	row := tensor(ir.F32, []int64{1, 1, 2, width}, 10, 20, 30, 40, 10, 20, 30, 40)
	for _, align := range []int{0, 1} {
		var grid, want []float64
		for k := -40; k <= 40; k++ {
			x := float64(k)*0.3 + 0.01
			grid = append(grid, x, 0)
			at, lo, hi := ((x+1)*width-1)/2, -0.5, width-0.5
			if align == 1 {
				at, lo, hi = (x+1)/2*(width-1), 0, width-1
			}
			for at < lo || at > hi {
				if at < lo {
					at = 2*lo - at
				} else {
					at = 2*hi - at
				}
			}
			want = append(want, linear([]float64{10, 20, 30, 40}, at))
		}
		n := int64(len(want))
		g := tensor(ir.F32, []int64{1, 1, n, 2}, grid...)
		w := about(tensor(ir.F32, []int64{1, 1, 1, n}, want...))
		w.Relative, w.Absolute = 1e-5, 1e-3
		node := onnxtest.Op("GridSample", "x grid", "y", "mode", "linear", "padding_mode", "reflection", "align_corners", align)
		model := onnxtest.Model(append(like("x", row), like("grid", g)...), node)
		m.add(Right, fmt.Sprintf("GridSample, reflected, align_corners %d", align), model).Runs = both(run(w, "x", row, "grid", g))
	}
}

// linear interpolates a list, whose ends go on.
func linear(xs []float64, at float64) float64 {
	i := math.Floor(at)
	pick := func(k float64) float64 { return xs[int(min(max(k, 0), float64(len(xs)-1)))] }
	return pick(i)*(1-(at-i)) + pick(i+1)*(at-i)
}
