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
