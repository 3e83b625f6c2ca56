package hostile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// extremes are integers at the ends of their types, and of what sums and products of two of them leave.
var extremes = []int64{math.MinInt64, math.MinInt64 + 1, -1 << 33, math.MinInt32 - 1, math.MinInt32, -1000, 1000, math.MaxInt32, 1 << 31, 1 << 33, 1 << 40, 1 << 62,
	math.MaxInt64 - 1, math.MaxInt64}

// number names an extreme.
func number(x int64) string {
	switch {
	case x == math.MinInt64 || x == math.MaxInt64:
		return fmt.Sprintf("%+d", x)
	}
	return strconv.FormatInt(x, 10)
}

// integerCases have integers at the ends of int64 and int32 in attributes, in constant operands and in inputs.
func integerCases(m *maker) error {
	for _, v := range extremes {
		for _, s := range refusedAt {
			m.extreme(s, v, Refused)
		}
		for _, s := range negativeRefused {
			switch {
			case v < 0 || v >= 1<<40:
				m.extreme(s, v, Refused)
			default:
				m.extreme(s, v, Open)
			}
		}
		for _, s := range rejectedAt {
			m.extreme(s, v, Rejected)
		}
		m.extremeRight(v)
	}
	m.wrapping()
	m.ranges()
	return nil
}

// at puts a number in place of $ in a spec's text, and of each attribute that is "$".
func (s spec) at(v int64) *spec {
	out := &spec{op: s.op, in: strings.ReplaceAll(s.in, "$", strconv.FormatInt(v, 10)), out: s.out}
	for _, a := range s.attrs {
		switch x := a.(type) {
		case string:
			if x == "$" {
				a = v
			}
		case []string: // numbers, of which some are $
			var xs []int64
			for _, e := range x {
				if e == "$" {
					e = strconv.FormatInt(v, 10)
				}
				xs = append(xs, parseInt(e))
			}
			a = xs
		}
		out.attrs = append(out.attrs, a)
	}
	return out
}

// extreme adds a case of a spec at a number.
func (m *maker) extreme(s spec, v int64, kind Kind) {
	at := s.at(v)
	model, in := at.model("", false)
	name := at.label()
	switch kind {
	case Refused:
		m.refused(name, model, `"n_y"`)
	case Open: // beyond what a run of a test can hold
		m.open(name, model, []string{`"n_y"`})
	case Rejected:
		m.rejected(name, model, []string{`"n_y"`}, in...)
	}
}

func nums(xs ...string) []string { return xs }

// extremeRight are cases in which ONNX says what happens at every integer: places are cut at the ends, what is
// beyond a diagonal is empty, a loop's negative number of iterations is none.
func (m *maker) extremeRight(v int64) {
	x := tensor(ir.F32, []int64{2, 2}, 1, 2, 3, 4)
	add := func(s spec, want *ir.Tensor, inputs ...any) {
		at := s.at(v)
		model, in := at.model("", false)
		if len(inputs) > 0 {
			in = values(inputs...)
		}
		m.right(at.label(), model, Run{Inputs: in, Want: []Want{is(want)}})
	}
	zeros := filled(ir.F32, 0, 2, 2)
	low, high := x, zeros // of a diagonal far below, and far above
	if v > 0 {
		low, high = zeros, x
	}
	for _, k := range []string{"K:i64[]=$", "k:i64[]=$", "k:i64[1]=$"} {
		add(spec{op: "Trilu", in: "x:f32[2,2]=1,2,3,4 " + k}, low)
		add(spec{op: "Trilu", attrs: []any{"upper", 0}, in: "x:f32[2,2]=1,2,3,4 " + k}, high)
	}
	add(spec{op: "EyeLike", attrs: []any{"k", "$"}, in: "f32[2,2]"}, zeros)
	four := f32(1, 2, 3, 4)
	none, all := f32(), four
	upTo, from := none, all
	if v > 0 {
		upTo, from = all, none
	}
	add(spec{op: "Slice", in: "x:f32[4]=1,2,3,4 S:i64[1]=0 E:i64[1]=$"}, upTo)
	add(spec{op: "Slice", in: "x:f32[4]=1,2,3,4 S:i64[1]=$ E:i64[1]=4"}, from)
	add(spec{op: "Slice", in: "x:f32[4]=1,2,3,4 S:i64[1]=$ E:i64[1]=$"}, none)
	step := f32(1)
	if v < 0 {
		step = none
	}
	add(spec{op: "Slice", in: "x:f32[4]=1,2,3,4 S:i64[1]=0 E:i64[1]=4 A:i64[1]=0 T:i64[1]=$"}, step)
	back := f32(4)
	if v > 0 {
		back = none
	}
	add(spec{op: "Slice", in: "x:f32[4]=1,2,3,4 S:i64[1]=-1 E:i64[1]=-9 A:i64[1]=0 T:i64[1]=$"}, back)
	shape := i64(2, 3)
	end, start := i64(), shape
	if v > 0 {
		end, start = shape, i64()
	}
	add(spec{op: "Shape", attrs: []any{"end", "$"}, in: "f32[2,3]"}, end)
	add(spec{op: "Shape", attrs: []any{"start", "$"}, in: "f32[2,3]"}, start)
	m.extremeValues(v)
	m.extremeTrips(v)
}

// extremeValues pass through operators that keep them.
func (m *maker) extremeValues(v int64) {
	x := i64(v, 0, -v)
	for _, c := range []struct {
		name string
		node *onnxpb.NodeProto
		want *ir.Tensor
	}{
		{"Max with itself", onnxtest.Op("Max", "x x", "y"), x},
		{"Min with a constant", onnxtest.Op("Min", "x c", "y"), i64(min(v, v), min(v, 0), min(v, -v))},
		{"Clip at it", onnxtest.Op("Clip", "x s s", "y"), i64(v, v, v)},
		{"Equal to it", onnxtest.Op("Equal", "x s", "y"), intTensor(ir.Bool, nil, 1, 0, boolInt(-v == v))},
		{"Less than it", onnxtest.Op("Less", "x s", "y"), intTensor(ir.Bool, nil, 0, boolInt(0 < v), boolInt(-v < v))},
		{"Sub of it", onnxtest.Op("Sub", "x s", "y"), i64(0, -v, -v-v)},
		{"Mul by 1", onnxtest.Op("Mul", "x o", "y"), x},
		{"Div by 1", onnxtest.Op("Div", "x o", "y"), x},
		{"Mod 1", onnxtest.Op("Mod", "x o", "y"), i64(0, 0, 0)},
		{"Cast to f64", onnxtest.Op("Cast", "x", "y", "to", 11), tensor(ir.F64, nil, float64(v), 0, float64(-v))},
		{"Cast to f32", onnxtest.Op("Cast", "x", "y", "to", 1), f32(float64(float32(v)), 0, float64(float32(-v)))},
		{"Cast to bool", onnxtest.Op("Cast", "x", "y", "to", 9), intTensor(ir.Bool, nil, 1, 0, 1)},
		{"Sign", onnxtest.Op("Sign", "x", "y"), i64(signOf(v), 0, signOf(-v))},
		{"BitwiseNot", onnxtest.Op("BitwiseNot", "x", "y"), i64(^v, -1, ^-v)},
		{"TopK", onnxtest.Op("ReduceMax", "x", "y", "keepdims", 1), i64(max(v, 0, -v))},
		{"ReduceMin", onnxtest.Op("ReduceMin", "x", "y", "keepdims", 1), i64(min(v, 0, -v))},
	} {
		model := onnxtest.With(onnxtest.Model(like("x", x), c.node), onnxtest.Tensor("c", i64(v, v, v)), onnxtest.Tensor("s", scalarInt(v)), onnxtest.Tensor("o", scalarInt(1)))
		if c.name == "Min with a constant" {
			c.want = i64(v, min(0, v), min(-v, v))
		}
		m.right(c.name+" "+number(v), model, run(is(c.want), "x", x))
		folded := onnxtest.With(onnxtest.Model(input("q", ir.F32, 1), c.node), onnxtest.Tensor("x", x), onnxtest.Tensor("c", i64(v, v, v)), onnxtest.Tensor("s", scalarInt(v)),
			onnxtest.Tensor("o", scalarInt(1)))
		m.right(c.name+" "+number(v)+", folded", folded, run(is(c.want), "q", f32(1)))
	}
}

func boolInt(b bool) int64 { return int64(truth(b)) }

func signOf(x int64) int64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// extremeTrips are loops that are bounded by the number, and end after an iteration.
func (m *maker) extremeTrips(v int64) {
	body := onnxtest.Model([]*onnxpb.ValueInfoProto{onnxtest.Input("i", onnxpb.TensorProto_INT64), onnxtest.Input("go", onnxpb.TensorProto_BOOL), onnxtest.Input("s", onnxpb.TensorProto_FLOAT, 1)},
		onnxtest.Op("Add", "s one", "t"), onnxtest.Op("Not", "go", "stop")).Graph
	body.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("stop"), onnxtest.Output("t")}
	want := f32(5)
	if v > 0 {
		want = f32(6)
	}
	model := onnxtest.With(onnxtest.Model(input("x", ir.F32, 1), onnxtest.Op("Loop", "m c x", "y", "body", body)),
		onnxtest.Tensor("m", scalarInt(v)), onnxtest.Tensor("c", intTensor(ir.Bool, []int64{}, 1)), onnxtest.Tensor("one", f32(1)))
	m.right("Loop of at most "+number(v), model, run(is(want), "x", f32(5)))
	model = onnxtest.With(onnxtest.Model(append(input("x", ir.F32, 1), onnxtest.Input("m", onnxpb.TensorProto_INT64)), onnxtest.Op("Loop", "m c x", "y", "body", body)),
		onnxtest.Tensor("c", intTensor(ir.Bool, []int64{}, 1)), onnxtest.Tensor("one", f32(1)))
	m.right("Loop of at most "+number(v)+", at run time", model, run(is(want), "x", f32(5), "m", scalarInt(v)))
}

// wrapping is arithmetic that leaves the type: it is modulo 2^n, as in the reference, at run time and folded.
func (m *maker) wrapping() {
	for _, t := range integers {
		bits := 8 * t.Size()
		least, most := -(int64(1) << (bits - 1)), int64(1)<<(bits-1)-1
		if strings.HasPrefix(t.String(), "u") {
			least, most = 0, int64(uint64(math.MaxUint64)>>(64-bits))
		}
		a := intTensor(t, nil, least, most, least, most, least, most, 0, 1)
		b := intTensor(t, nil, least, most, most, least, 1, 1, most, least)
		as, bs := intsOf(a), intsOf(b)
		for _, o := range []struct {
			op string
			f  func(x, y int64) int64
		}{
			{"Add", func(x, y int64) int64 { return x + y }}, {"Sub", func(x, y int64) int64 { return x - y }}, {"Mul", func(x, y int64) int64 { return x * y }},
			{"Max", func(x, y int64) int64 { return pick(t, x, y, true) }}, {"Min", func(x, y int64) int64 { return pick(t, x, y, false) }},
			{"BitwiseAnd", func(x, y int64) int64 { return x & y }}, {"BitwiseXor", func(x, y int64) int64 { return x ^ y }},
		} {
			var want []int64
			for i := range as {
				want = append(want, o.f(as[i], bs[i]))
			}
			w := is(intTensor(t, nil, want...))
			node := onnxtest.Op(o.op, "a b", "y")
			m.right(fmt.Sprintf("%s at the ends of %s", o.op, t), onnxtest.Model(append(like("a", a), like("b", b)...), node), run(w, "a", a, "b", b))
			folded := onnxtest.With(onnxtest.Model(input("q", ir.F32, 1), node), onnxtest.Tensor("a", a), onnxtest.Tensor("b", b))
			m.right(fmt.Sprintf("%s at the ends of %s, folded", o.op, t), folded, run(w, "q", f32(1)))
		}
		m.divisions(t, least, most)
	}
}

func pick(t ir.DType, x, y int64, greater bool) int64 {
	less := x < y
	if t == ir.U64 {
		less = uint64(x) < uint64(y)
	}
	if less == greater {
		return y
	}
	return x
}

// divisions of the least number by -1 leave the type: nobody says what they are, but they must not end the process.
func (m *maker) divisions(t ir.DType, least, most int64) {
	if least == 0 {
		return
	}
	a, b := intTensor(t, nil, least, least, most), intTensor(t, nil, -1, -1, -1)
	inputs := append(like("a", a), like("b", b)...)
	m.right(fmt.Sprintf("Div of the least %s by -1", t), onnxtest.Model(inputs, onnxtest.Op("Div", "a b", "y")), run(anything(t, 3), "a", a, "b", b))
	m.right(fmt.Sprintf("Mod of the least %s by -1", t), onnxtest.Model(inputs, onnxtest.Op("Mod", "a b", "y")), run(is(intTensor(t, nil, 0, 0, 0)), "a", a, "b", b))
	for _, op := range []string{"Neg", "Abs"} {
		m.right(fmt.Sprintf("%s of the least %s", op, t), onnxtest.Model(like("a", a), onnxtest.Op(op, "a", "y")), run(anything(t, 3), "a", a))
	}
}

// ranges begin and end at the ends.
func (m *maker) ranges() {
	for _, c := range []struct {
		start, limit, delta int64
		want                []int64
		open                bool // the distance is no int64
	}{
		{math.MinInt64, math.MinInt64 + 3, 1, []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 2}, false},
		{math.MaxInt64 - 3, math.MaxInt64, 1, []int64{math.MaxInt64 - 3, math.MaxInt64 - 2, math.MaxInt64 - 1}, false},
		{math.MaxInt64, math.MaxInt64 - 2, -1, []int64{math.MaxInt64, math.MaxInt64 - 1}, false},
		{math.MinInt64, math.MinInt64, 1, []int64{}, false},
		{math.MaxInt64, math.MinInt64, 1, []int64{}, false},
		{math.MinInt64, math.MaxInt64, -1, []int64{}, false},
		{0, 3, math.MaxInt64, []int64{0}, false},
		{0, -3, math.MinInt64, []int64{0}, false},
		{0, math.MaxInt64, math.MaxInt64, []int64{0}, false},
		{0, math.MinInt64, math.MinInt64, []int64{0}, false},
		{math.MinInt64, 0, math.MaxInt64, []int64{math.MinInt64, -1}, false},
		{math.MinInt64, math.MaxInt64, math.MaxInt64, []int64{math.MinInt64, -1, math.MaxInt64 - 1}, true},
		{math.MaxInt64, math.MinInt64, math.MinInt64, []int64{math.MaxInt64, -1}, true},
	} {
		model := onnxtest.With(onnxtest.Model(input("q", ir.F32, 1), onnxtest.Op("Range", "a b c", "y")),
			onnxtest.Tensor("a", scalarInt(c.start)), onnxtest.Tensor("b", scalarInt(c.limit)), onnxtest.Tensor("c", scalarInt(c.delta)))
		name := fmt.Sprintf("Range %d %d %d", c.start, c.limit, c.delta)
		r := run(is(i64(c.want...)), "q", f32(1))
		if c.open {
			m.open(name, model, []string{`"n_y"`}, r)
		} else {
			m.right(name, model, r)
		}
	}
	for _, limit := range []int64{1 << 40, 1 << 62, math.MaxInt64} {
		model := onnxtest.With(onnxtest.Model(input("q", ir.F32, 1), onnxtest.Op("Range", "a b c", "y")),
			onnxtest.Tensor("a", scalarInt(0)), onnxtest.Tensor("b", scalarInt(limit)), onnxtest.Tensor("c", scalarInt(1)))
		m.refused(fmt.Sprintf("Range 0 %d 1", limit), model, `"n_y"`)
	}
}
