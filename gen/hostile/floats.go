package hostile

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/ops"
)

// floatCases are scalar operators on floats at the ends of their types, in each type that the operator takes.
func floatCases(m *maker) error {
	for _, f := range unaryFloats {
		for _, t := range floatTypes {
			if takes(f.op, t) {
				m.unary(f, t)
			}
		}
	}
	for _, f := range binaryFloats {
		for _, t := range floatTypes {
			if takes(f.op, t) {
				m.binary(f, t)
			}
		}
	}
	m.floatCasts()
	m.floatSums()
	m.floatRest()
	return nil
}

// takes reports whether an operator's first operand may have a type, by its row, which a test compares with ONNX's schemas.
func takes(op string, t ir.DType) bool {
	row := ops.Lookup(op)
	return row != nil && slices.Contains(row.Inputs[0].Types, t)
}

// limits of a type: its greatest number, its least normal one, its least one.
func limitsOf(t ir.DType) (most, normal, least float64) {
	switch t {
	case ir.F16:
		return 65504, 0x1p-14, 0x1p-24
	case ir.BF16:
		return 0x1.fep127, 0x1p-126, 0x1p-133
	case ir.F32:
		return math.MaxFloat32, 0x1p-126, 0x1p-149
	}
	return math.MaxFloat64, 0x1p-1022, 0x1p-1074
}

// ends are numbers of a type on which functions go wrong.
func ends(t ir.DType) []float64 {
	most, normal, least := limitsOf(t)
	inf := math.Inf(1)
	return []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 10, -10, 88, -88, 104, -104, 1024, -1024,
		most, -most, most / 2, normal, -normal, normal / 4, -normal / 4, least, -least, inf, -inf, math.NaN()}
}

// round is a number in a type, as ONNX's reference stores it.
func round(t ir.DType, x float64) float64 { return numbersOf(scalar(t, x))[0] }

// flushed is a number where denormals are zeros: those of f16 are computed as f32, which has them.
func flushed(t ir.DType, x float64) float64 {
	if t == ir.F16 {
		return x
	}
	if _, normal, _ := limitsOf(t); math.Abs(x) < normal {
		return math.Copysign(0, x)
	}
	return x
}

// elementwise is a want of a function of numbers, where denormals count or are zeros.
func elementwise(t, result ir.DType, shape []int64, n int, f func(i int, flush func(float64) float64) float64) Want {
	w := Want{Shape: shape, Type: result}
	for i := range n {
		w.Elements = append(w.Elements, []float64{
			round(result, f(i, func(x float64) float64 { return x })),
			round(result, f(i, func(x float64) float64 { return flushed(t, x) })),
		})
	}
	if result.IsFloat() {
		w.Relative, w.Absolute = tolerance(result)
	}
	return w
}

// both are two runs: denormals are zeros, and they count.
func both(r Run) []Run {
	kept := r
	kept.KeepDenormals = true
	return []Run{r, kept}
}

type unaryFloat struct {
	op    string
	attrs []any
	f     func(float64) float64
	bools bool // the result
}

func (m *maker) unary(f unaryFloat, t ir.DType) {
	xs := numbersOf(tensor(t, nil, ends(t)...))
	in, result := tensor(t, nil, xs...), t
	if f.bools {
		result = ir.Bool
	}
	n := int64(len(xs))
	w := elementwise(t, result, []int64{n}, len(xs), func(i int, flush func(float64) float64) float64 { return f.f(flush(xs[i])) })
	// The least results of exp and its kin are denormal, and functions of f16 and bf16 may be computed in f32.
	name := fmt.Sprintf("%s %s", f.op, t)
	if len(f.attrs) > 0 {
		name += fmt.Sprint(" ", f.attrs)
	}
	model := onnxtest.Model(input("x", t, n), onnxtest.Op(f.op, "x", "y", f.attrs...))
	model.OpsetImport[0].Version = ptr(int64(23))
	if opset24[f.op] {
		model.OpsetImport[0].Version = ptr(int64(24))
	}
	m.add(Right, name, model).Runs = both(run(w, "x", in))
}

var opset24 = map[string]bool{"Swish": true}

func ptr[T any](x T) *T { return &x }

// input is one input of a type.
func input(name string, t ir.DType, dims ...any) []*onnxpb.ValueInfoProto {
	return []*onnxpb.ValueInfoProto{onnxtest.Input(name, onnxtest.Types[t], dims...)}
}

// like is an input of a tensor's type and shape.
func like(name string, t *ir.Tensor) []*onnxpb.ValueInfoProto {
	var dims []any
	for _, d := range t.Shape {
		dims = append(dims, d)
	}
	return input(name, t.Type, dims...)
}

type binaryFloat struct {
	op    string
	attrs []any
	f     func(x, y float64) float64
	bools bool
}

func (m *maker) binary(f binaryFloat, t ir.DType) {
	xs := numbersOf(tensor(t, nil, ends(t)...))
	n := int64(len(xs))
	a, b, result := tensor(t, []int64{n, 1}, xs...), tensor(t, []int64{n}, xs...), t
	if f.op == "PRelu" { // its first operand has the result's shape
		a = tensor(t, []int64{n, n}, repeated(xs)...)
	}
	if f.bools {
		result = ir.Bool
	}
	w := elementwise(t, result, []int64{n, n}, len(xs)*len(xs), func(i int, flush func(float64) float64) float64 {
		x, y := flush(xs[i/len(xs)]), flush(xs[i%len(xs)])
		if t == ir.F64 {
			return f.f(x, y)
		}
		return f.f(x, y) // of a narrow type, exact in float64 or rounded once more
	})
	name := fmt.Sprintf("%s %s", f.op, t)
	node := onnxtest.Op(f.op, "a b", "y", f.attrs...)
	m.add(Right, name, onnxtest.Model(append(like("a", a), like("b", b)...), node)).Runs = both(run(w, "a", a, "b", b))
	// The same with constants, which the compiler folds: it keeps denormals or not.
	folded := onnxtest.With(onnxtest.Model(input("x", t, 1), onnxtest.Op(f.op, "a b", "c", f.attrs...), onnxtest.Op("Identity", "c", "y")),
		onnxtest.Tensor("a", a), onnxtest.Tensor("b", b))
	m.right(name+" folded", folded, run(w, "x", scalarIn1(t)))
}

// repeated are numbers, each as often as there are numbers.
func repeated(xs []float64) []float64 {
	var out []float64
	for _, x := range xs {
		out = append(out, slices.Repeat([]float64{x}, len(xs))...)
	}
	return out
}

// scalarIn1 is an input that nothing reads.
func scalarIn1(t ir.DType) *ir.Tensor { return tensor(t, nil, 1) }

// floatCasts are casts between floats, of numbers that the narrower one does not hold, to bool, and to integers that
// hold the number; a cast of another number is undefined.
func (m *maker) floatCasts() {
	for _, from := range floatTypes {
		xs := numbersOf(tensor(from, nil, ends(from)...))
		in := tensor(from, nil, xs...)
		for _, to := range append([]ir.DType{ir.Bool}, floatTypes...) {
			if from == to {
				continue
			}
			w := elementwise(from, to, in.Shape, len(xs), func(i int, flush func(float64) float64) float64 {
				if x := flush(xs[i]); to != ir.Bool {
					return flushedResult(to, x, flush)
				} else if x == 0 {
					return 0
				}
				return 1
			})
			w.Relative = 0
			node := onnxtest.Op("Cast", "x", "y", "to", int(onnxtest.Types[to]))
			m.add(Right, fmt.Sprintf("Cast %s to %s", from, to), onnxtest.Model(like("x", in), node)).Runs = both(run(w, "x", in))
		}
		ints := []float64{0, 1, -1, 2.5, -2.5, 100.9, -100.9, 127, -128}
		x := tensor(from, nil, ints...)
		for _, to := range signed {
			var want []int64
			for _, v := range numbersOf(x) {
				want = append(want, int64(math.Trunc(v)))
			}
			node := onnxtest.Op("Cast", "x", "y", "to", int(onnxtest.Types[to]))
			m.right(fmt.Sprintf("Cast %s to %s", from, to), onnxtest.Model(like("x", x), node), run(is(intTensor(to, nil, want...)), "x", x))
		}
	}
}

// flushedResult is a number that is rounded to a type, a zero where that is denormal and flush makes zeros.
func flushedResult(t ir.DType, x float64, flush func(float64) float64) float64 {
	if flush(0x1p-1074) == 0 {
		return flushed(t, round(t, x))
	}
	return x
}

// floatSums are reductions of lists with infinities and NaN.
func (m *maker) floatSums() {
	inf, nan := math.Inf(1), math.NaN()
	lists := map[string][]float64{"infinities": {inf, -inf, 1}, "infinity": {inf, 2, 3}, "least infinity": {-inf, 2, 3}, "NaN": {1, nan, 2}, "zeros": {0, 0, 0}}
	for _, r := range []struct {
		op   string
		want map[string]float64
	}{
		{"ReduceSum", map[string]float64{"infinities": nan, "infinity": inf, "least infinity": -inf, "NaN": nan, "zeros": 0}},
		{"ReduceMean", map[string]float64{"infinities": nan, "infinity": inf, "least infinity": -inf, "NaN": nan, "zeros": 0}},
		{"ReduceMax", map[string]float64{"infinities": inf, "infinity": inf, "least infinity": 3, "NaN": nan, "zeros": 0}},
		{"ReduceMin", map[string]float64{"infinities": -inf, "infinity": 2, "least infinity": -inf, "NaN": nan, "zeros": 0}},
		{"ReduceProd", map[string]float64{"infinities": -inf, "infinity": inf, "least infinity": -inf, "NaN": nan, "zeros": 0}},
		{"ReduceL1", map[string]float64{"infinities": inf, "infinity": inf, "least infinity": inf, "NaN": nan, "zeros": 0}},
		{"ReduceL2", map[string]float64{"infinities": inf, "infinity": inf, "least infinity": inf, "NaN": nan, "zeros": 0}},
		{"ReduceSumSquare", map[string]float64{"infinities": inf, "infinity": inf, "least infinity": inf, "NaN": nan, "zeros": 0}},
		{"ReduceLogSum", map[string]float64{"infinities": nan, "infinity": inf, "least infinity": nan, "NaN": nan, "zeros": -inf}},
		{"ReduceLogSumExp", map[string]float64{"NaN": nan, "zeros": math.Log(3)}},
	} {
		for _, key := range sortedKeys(r.want) {
			for _, t := range []ir.DType{ir.F32, ir.F64} {
				in := tensor(t, nil, lists[key]...)
				node := onnxtest.Op(r.op, "x", "y", "keepdims", 0)
				m.right(fmt.Sprintf("%s of %s %s", r.op, key, t), onnxtest.Model(like("x", in), node), run(about(scalar(t, r.want[key])), "x", in))
			}
		}
	}
}

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
