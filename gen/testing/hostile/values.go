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

// valueCases are values of a run that an operator does not allow: each run gives a status and names the node, and
// the run after it is right.
func valueCases(m *maker) error {
	for _, t := range []ir.DType{ir.I64, ir.I32} {
		m.badIndices(t)
	}
	for _, t := range integers {
		m.byZero(t)
	}
	m.lengths()
	m.structures()
	m.badRest()
	return nil
}

// indexed is a spec with an index at $, and the indices that it allows.
type indexed struct {
	spec
	least, most int64
	want        *ir.Tensor // of the index that is its least
}

// badIndices are indices outside of an axis, of operators that look elements up.
func (m *maker) badIndices(t ir.DType) {
	data := "x:f32[4]=1,2,3,4"
	for _, s := range []indexed{
		{spec{op: "Gather", in: data + " i:T[1]=$"}, -4, 3, f32(1)},
		{spec{op: "Gather", in: data + " i:T[3]=0,$,0"}, -4, 3, f32(1, 1, 1)},
		{spec{op: "Gather", attrs: []any{"axis", 1}, in: "x:f32[1,4]=1,2,3,4 i:T[1]=$"}, -4, 3, tensor(ir.F32, []int64{1, 1}, 1)},
		{spec{op: "GatherElements", in: data + " i:T[1]=$"}, -4, 3, f32(1)},
		{spec{op: "GatherElements", attrs: []any{"axis", 1}, in: "x:f32[1,4]=1,2,3,4 i:T[1,2]=0,$"}, -4, 3, tensor(ir.F32, []int64{1, 2}, 1, 1)},
		{spec{op: "GatherND", in: data + " i:i64[1,1]=$"}, -4, 3, f32(1)},
		{spec{op: "GatherND", in: "x:f32[1,4]=1,2,3,4 i:i64[1,2]=0,$"}, -4, 3, f32(1)},
		{spec{op: "ScatterElements", in: data + " i:T[1]=$ u:f32[1]=9"}, -4, 3, f32(9, 2, 3, 4)},
		{spec{op: "ScatterElements", attrs: []any{"reduction", "add"}, in: data + " i:T[1]=$ u:f32[1]=9"}, -4, 3, f32(10, 2, 3, 4)},
		{spec{op: "ScatterElements", attrs: []any{"reduction", "mul"}, in: data + " i:T[1]=$ u:f32[1]=9"}, -4, 3, f32(9, 2, 3, 4)},
		{spec{op: "ScatterND", in: data + " i:i64[1,1]=$ u:f32[1]=9"}, -4, 3, f32(9, 2, 3, 4)},
		{spec{op: "ScatterND", attrs: []any{"reduction", "max"}, in: data + " i:i64[1,1]=$ u:f32[1]=9"}, -4, 3, f32(9, 2, 3, 4)},
	} {
		for _, v := range []int64{s.most + 1, s.least - 1, 1000, -1000, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
			if strings.Contains(s.in, "T[") && t == ir.I32 && v != int64(int32(v)) || !strings.Contains(s.in, "T[") && t == ir.I32 {
				continue
			}
			m.bad(s, t, v)
		}
	}
}

// bad adds a case whose run has the index v, and a run after it that is right.
func (m *maker) bad(s indexed, t ir.DType, v int64) {
	s.in = strings.ReplaceAll(s.in, "T[", t.String()+"[")
	wrong := s.at(v)
	model, in := wrong.model("", false)
	good := s.at(s.least)
	_, right := good.model("", false)
	m.status(wrong.label(), model, BadValue, []string{`"n_y"`}, in...).then(Run{Inputs: right, Want: []Want{is(s.want)}})
	// The tensor has another length each time, and the bound with it.
	if strings.Contains(s.in, "x:f32[4]") {
		model, in = wrong.model("", false)
		model.Graph.Input[0] = onnxtest.Input("x", onnxpb.TensorProto_FLOAT, "N")
		m.status(wrong.label()+", a symbol", model, BadValue, []string{`"n_y"`}, in...).with("--dim=N=1..64").then(Run{Inputs: right, Want: []Want{is(s.want)}})
	}
}

// byZero divides integers by zero, which is a value of a run or a constant.
func (m *maker) byZero(t ir.DType) {
	a, zero, b := intTensor(t, nil, 7, 8, 9), intTensor(t, nil, 1, 0, 2), intTensor(t, nil, 1, 4, 2)
	for _, o := range []struct {
		op   string
		want *ir.Tensor
	}{{"Div", intTensor(t, nil, 7, 2, 4)}, {"Mod", intTensor(t, nil, 0, 0, 1)}} {
		node := onnxtest.Op(o.op, "a b", "y")
		name := fmt.Sprintf("%s of %s by zero", o.op, t)
		words := []string{`"n_y"`}
		m.status(name, onnxtest.Model(append(like("a", a), like("b", b)...), node), BadValue, words, values("a", a, "b", zero)...).
			then(run(is(o.want), "a", a, "b", b))
		m.rejected(name+", a constant", onnxtest.With(onnxtest.Model(like("a", a), node), onnxtest.Tensor("b", zero)), words, values("a", a)...)
		m.rejected(name+", folded", onnxtest.With(onnxtest.Model(input("q", ir.F32, 1), node), onnxtest.Tensor("a", a), onnxtest.Tensor("b", zero)), words,
			values("q", f32(1))...)
		// One that is broadcast, and one that another node computes.
		m.status(name+", broadcast", onnxtest.Model(append(like("a", a), input("b", t, 1)...), node), BadValue, words, values("a", a, "b", intTensor(t, nil, 0))...)
		computed := onnxtest.Model(append(like("a", a), like("b", b)...), onnxtest.Op("Mul", "b b", "c"), onnxtest.Op(o.op, "a c", "y"), onnxtest.Op("Add", "y y", "z"))
		m.status(name+", computed", computed, BadValue, words, values("a", a, "b", zero)...)
	}
	// An element that nothing reads does not count: the operator is never asked for it.
	if t == ir.I64 {
		model := onnxtest.With(onnxtest.Model(append(like("a", a), like("b", b)...), onnxtest.Op("Mod", "a b", "y", "fmod", 1)), onnxtest.Tensor("unused", a))
		m.status("Mod with fmod of i64 by zero", model, BadValue, []string{`"n_y"`}, values("a", a, "b", zero)...)
	}
}

// lengths are lengths of sequences beyond their tensors.
func (m *maker) lengths() {
	for _, v := range []int64{-1, 3, 100, math.MaxInt32, math.MinInt32} {
		text := strconv.FormatInt(v, 10)
		for _, s := range []spec{
			{op: "LSTM", attrs: []any{"hidden_size", 3}, in: "f32[2,2,4] f32[1,12,4] f32[1,12,3] _ i32[2]=1," + text},
			{op: "LSTM", attrs: []any{"hidden_size", 3, "direction", "reverse"}, in: "f32[2,2,4] f32[1,12,4] f32[1,12,3] _ i32[2]=1," + text},
			{op: "LSTM", attrs: []any{"hidden_size", 3, "direction", "bidirectional"}, in: "f32[2,2,4] f32[2,12,4] f32[2,12,3] _ i32[2]=1," + text},
			{op: "GRU", attrs: []any{"hidden_size", 3}, in: "f32[2,2,4] f32[1,9,4] f32[1,9,3] _ i32[2]=1," + text},
			{op: "RNN", attrs: []any{"hidden_size", 3}, in: "f32[2,2,4] f32[1,3,4] f32[1,3,3] _ i32[2]=1," + text},
		} {
			model, in := s.model("", false)
			m.status(s.label(), model, BadValue, []string{`"n_y"`}, in...)
			s.in = strings.Replace(s.in, "i32[2]", "L:i32[2]", 1)
			model, in = s.model("", false)
			m.rejected(s.label(), model, []string{`"n_y"`}, in...)
		}
		for _, s := range []spec{
			{op: "ReverseSequence", attrs: []any{"batch_axis", 0, "time_axis", 1}, in: "f32[2,2] i64[2]=1," + text},
			{op: "ReverseSequence", attrs: []any{"batch_axis", 1, "time_axis", 0}, in: "f32[2,2] i64[2]=1," + text},
		} {
			model, in := s.model("", false)
			m.status(s.label(), model, BadValue, []string{`"n_y"`}, in...)
		}
	}
}

// structures are shapes, sizes and counts that are inputs. What nothing bounds the compiler may refuse.
func (m *maker) structures() {
	for _, s := range []spec{
		{op: "Reshape", in: "x:f32[6] s:i64[2]=4,2"},
		{op: "Reshape", in: "x:f32[6] s:i64[2]=-1,4"},
		{op: "Reshape", in: "x:f32[6] s:i64[2]=-1,-1"},
		{op: "Reshape", in: "x:f32[6] s:i64[2]=-2,3"},
		{op: "Reshape", in: "x:f32[6] s:i64[2]=9223372036854775807,2"},
		{op: "Reshape", in: "x:f32[6] s:i64[2]=4611686018427387904,4"},
		{op: "Expand", in: "x:f32[3] s:i64[1]=2"},
		{op: "Expand", in: "x:f32[1] s:i64[1]=-1"},
		{op: "Expand", in: "x:f32[1] s:i64[1]=9223372036854775807"},
		{op: "Tile", in: "x:f32[3] s:i64[1]=-1"},
		{op: "Tile", in: "x:f32[3] s:i64[1]=9223372036854775807"},
		{op: "Tile", in: "x:f32[3] s:i64[1]=1000000"},
		{op: "ConstantOfShape", in: "s:i64[1]=-1"},
		{op: "ConstantOfShape", in: "s:i64[2]=4294967296,4294967296"},
		{op: "Range", in: "a:i64[]=0 b:i64[]=3 c:i64[]=0"},
		{op: "Range", in: "a:i64[]=0 b:i64[]=9223372036854775807 c:i64[]=1"},
		{op: "Range", in: "a:f32[]=0 b:f32[]=inf c:f32[]=1"},
		{op: "Range", in: "a:f32[]=0 b:f32[]=nan c:f32[]=1"},
		{op: "Slice", in: "x:f32[4] s:i64[1]=0 e:i64[1]=4 A:i64[1]=0 t:i64[1]=0"},
		{op: "TopK", in: "x:f32[4] k:i64[1]=5"},
		{op: "TopK", in: "x:f32[4] k:i64[1]=-1"},
		{op: "Pad", in: "x:f32[4] p:i64[2]=-3,-3"},
		{op: "Pad", attrs: []any{"mode", "reflect"}, in: "x:f32[4] p:i64[2]=9,9"},
		{op: "Split", attrs: []any{"axis", 0}, in: "x:f32[4] s:i64[1]=5"},
		{op: "OneHot", in: "x:i64[2] d:i64[]=-1 v:f32[2]"},
		{op: "Resize", in: "x:f32[1,1,4,4] _ _ s:i64[4]=1,1,-1,4"},
		{op: "Resize", in: "x:f32[1,1,4,4] _ s:f32[4]=1,1,-1,1"},
		{op: "Resize", in: "x:f32[1,1,4,4] _ s:f32[4]=1,1,nan,1"},
		{op: "CumSum", in: "x:f32[4] a:i64[]=1"},
		{op: "Trilu", in: "x:f32[2,2] k:i64[2]=1"},
		{op: "Unsqueeze", in: "x:f32[2] a:i64[1]=5"},
		{op: "ReduceSum", in: "x:f32[2] a:i64[1]=5"},
		{op: "HannWindow", in: "s:i64[]=-1"},
	} {
		model, in := s.model("", false)
		m.rejected(s.label(), model, []string{"n_y"}, in...).Runs[0].Words = []string{"n_y | y "}
	}
}

// A GroupQueryAttention of one head, whose cache holds two keys.
const (
	groupedQueries = microsoft + ".GroupQueryAttention"
	cachedKeys     = "q:f32[1,1,8] k:f32[1,1,8] v:f32[1,1,8] c:f32[1,1,2,8] d:f32[1,1,2,8]"
)

var oneHead = []any{"num_heads", 1, "kv_num_heads", 1}

// badRest adds other values: those that a run refuses, then those that only look wrong.
func (m *maker) badRest() {
	m.refusedRest()
	m.alone()
	m.rightRest()
}

// refusedRest adds values that a run refuses.
func (m *maker) refusedRest() {
	for _, s := range []spec{
		{op: "NegativeLogLikelihoodLoss", in: "x:f32[2,3] t:i64[2]=0,3"},
		{op: "NegativeLogLikelihoodLoss", in: "x:f32[2,3] t:i64[2]=0,-1"},
		{op: "SoftmaxCrossEntropyLoss", in: "x:f32[2,3] t:i64[2]=0,3"},
		{op: "SoftmaxCrossEntropyLoss", in: "x:f32[2,3] t:i64[2]=0,-9223372036854775808"},
		{op: "MaxUnpool", attrs: []any{"kernel_shape", []int64{2, 2}, "strides", []int64{2, 2}}, in: "x:f32[1,1,1,1] i:i64[1,1,1,1]=4"},
		{op: "MaxUnpool", attrs: []any{"kernel_shape", []int64{2, 2}, "strides", []int64{2, 2}}, in: "x:f32[1,1,1,1] i:i64[1,1,1,1]=-1"},
		{op: "RoiAlign", attrs: []any{"sampling_ratio", 2}, in: "x:f32[1,1,4,4] r:f32[1,4] b:i64[1]=1"},
		{op: "RoiAlign", attrs: []any{"sampling_ratio", 2}, in: "x:f32[1,1,4,4] r:f32[1,4] b:i64[1]=-1"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4] b:i64[1]=1"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4] b:i64[1]=-1"},
		{op: "TensorScatter", in: "x:f32[1,4,2] u:f32[1,2,2] w:i64[1]=3"},
		{op: "TensorScatter", in: "x:f32[1,4,2] u:f32[1,2,2] w:i64[1]=-1"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=3 T:i32[]=3"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=-1 T:i32[]=3"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=-2 T:i32[]=3"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=2147483647 T:i32[]=3"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=4 T:i32[]=9"}, // more than the cache and the new one
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=-2147483648 T:i32[]=3"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=2 T:i32[]=3 _ _ _ b:f32[1,1,1,2]"},                          // of the last key there is no bias
		{op: groupedQueries, attrs: append(oneHead, "do_rotary", 1), in: cachedKeys + " s:i32[1]=2 T:i32[]=3 E:f32[2,4] F:f32[2,4]"}, // of place 2 there is no angle
		{op: groupedQueries, attrs: append(oneHead, "do_rotary", 1), in: cachedKeys + " s:i32[1]=2 T:i32[]=3 E:f32[3,4] F:f32[3,4] p:i64[1,1]=3"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=2 T:i32[]=3 _ _ _ _ _ _ _ _ _ n:i32[1]=2"},
		{op: groupedQueries, attrs: oneHead, in: cachedKeys + " s:i32[1]=2 T:i32[]=3 _ _ _ _ _ _ _ _ _ n:i32[1]=-1"},
	} {
		model, in := s.model("", false)
		m.rejected(s.label(), model, []string{`"n_y"`}, in...)
	}
	for _, s := range badPlaces() {
		model, in := s.model("", false)
		m.rejected(s.label(), model, []string{`"n_y"`}, in...)
	}
}

// alone adds a QGemm whose result has a zero point and no scale.
func (m *maker) alone() {
	// A zero point alone quantizes the sums by a scale of 1, as ONNX Runtime does: -4 and 604, times 0.125, rounded to even, and 7.
	gemm := spec{op: microsoft + ".QGemm", in: "u8[1,2]=10,20 F:f32[]=0.5 G:u8[]=2 i8[2,2]=4,8,-2,30 H:f32[]=0.25 I:i8[]=0 _ _ J:u8[]=7", out: "u8[1,2]=7,83"}
	model, in := gemm.model("", false)
	m.right(gemm.label(), model, Run{Inputs: in, Want: []Want{gemm.want()}})
}

// rightRest adds values that look wrong and for which ONNX defines a result.
func (m *maker) rightRest() {
	for _, s := range []spec{
		{op: "OneHot", in: "x:i64[4]=5,-6,2,-1 D:i64[]=3 V:f32[2]=0,1", out: "f32[4,3]=0,0,0,0,0,0,0,0,1,0,0,1"},
		{op: "Compress", attrs: []any{"axis", 0}, in: "x:f32[3]=1,2,3 c:bool[2]=0,1", out: "f32[1]=2"},
		{op: "Slice", in: "x:f32[4]=1,2,3,4 S:i64[1]=-100 E:i64[1]=100", out: "f32[4]=1,2,3,4"},
		{op: "ReverseSequence", attrs: []any{"batch_axis", 0, "time_axis", 1}, in: "x:f32[1,3]=1,2,3 s:i64[1]=3", out: "f32[1,3]=3,2,1"},
		{op: "Gather", in: "x:f32[3]=1,2,3 i:i64[3]=-1,-3,2", out: "f32[3]=3,1,3"},
		{op: "Where", in: "c:bool[2]=0,1 x:f32[2]=1,2 y2:f32[2]=3,4", out: "f32[2]=3,2"},
		{op: "BitShift", attrs: []any{"direction", "LEFT"}, in: "x:u8[2]=255,1 s:u8[2]=1,7", out: "u8[2]=254,128"},
		{op: "Pow", in: "x:f32[3]=0,-8,4 p:f32[3]=0,3,-0.5", out: "f32[3]=1,-512,0.5"},
		{op: "RoiAlign", attrs: []any{"sampling_ratio", 2}, in: "x:f32[1,1,4,4] r:f32[1,4]=-100 b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", attrs: []any{"sampling_ratio", 2}, in: "x:f32[1,1,4,4] r:f32[1,4]=nan b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4]=nan b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4]=-100 b:i64[1]=0", out: "f32[1,1,1,1]=0"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4]=0,0,inf,inf b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4]=-inf,-inf,inf,inf b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4]=-1e30,-1e30,1e30,1e30 b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", in: "x:f32[1,1,4,4] r:f32[1,4]=-1e6,-1e6,1e6,1e6 b:i64[1]=0", out: "f32[1,1,1,1]=?"},
		{op: "RoiAlign", attrs: []any{"mode", "max", "coordinate_transformation_mode", "half_pixel"}, in: "x:f32[1,1,4,4] r:f32[1,4]=1e9,1e9,-1e9,-1e9 b:i64[1]=0", out: "f32[1,1,1,1]=0"},
		{op: "RoiAlign", attrs: []any{"mode", "max", "output_width", 3}, in: "x:f32[1,1,4,4] r:f32[1,4]=-1e9,-1e9,1e9,1e9 b:i64[1]=0", out: "f32[1,1,1,3]=?"},
		{op: "GridSample", in: "x:f32[1,1,2,2] g:f32[1,1,1,2]=nan", out: "f32[1,1,1,1]=?"},
		{op: "GridSample", in: "x:f32[1,1,2,2] g:f32[1,1,1,2]=inf", out: "f32[1,1,1,1]=?"},
		{op: "GridSample", attrs: []any{"padding_mode", "border"}, in: "x:f32[1,1,2,2] g:f32[1,1,1,2]=1e30", out: "f32[1,1,1,1]=2"},
		{op: "GridSample", attrs: []any{"padding_mode", "reflection"}, in: "x:f32[1,1,2,2] g:f32[1,1,1,2]=1e30", out: "f32[1,1,1,1]=2"},
		{op: "GridSample", attrs: []any{"mode", "cubic"}, in: "x:f32[1,1,2,2] g:f32[1,1,1,2]=-1e30", out: "f32[1,1,1,1]=?"},
		{op: "NonMaxSuppression", in: "b:f32[1,1,4]=0,0,1,1 s:f32[1,1,1]=1 M:i64[1]=9223372036854775807", out: "i64[1,3]=0"},
		{op: "Cast", attrs: []any{"to", 7}, in: "x:f32[3]=nan,inf,-inf", out: "i64[3]=?"},
		{op: "Cast", attrs: []any{"to", 2}, in: "x:f32[3]=nan,300,-1", out: "u8[3]=?"},
		{op: "Cast", attrs: []any{"to", 5}, in: "x:f64[3]=1e300,-1e300,70000", out: "i16[3]=?"},
		{op: "NonZero", in: "x:f32[4]=nan,0,-0,inf", out: "i64[1,2]=0,3"},
		{op: "TopK", in: "x:f32[4]=inf,-inf,1,2 K:i64[1]=2", out: "f32[2]=inf,2"},
		{op: "TopK", in: "x:f32[3]=nan,1,2 K:i64[1]=3", out: "f32[3]=?"},
		{op: "MaxPool", attrs: []any{"kernel_shape", []int64{2}}, in: "x:f32[1,1,3]=-inf", out: "f32[1,1,2]=-inf"},
		{op: "ArgMax", attrs: []any{"keepdims", 0}, in: "x:f32[3]=-inf", out: "i64[]=0"},
		{op: "CumSum", in: "x:i32[3]=2147483647 A:i64[]=0", out: "i32[3]=2147483647,-2,2147483645"},
		{op: "ReduceSum", attrs: []any{"keepdims", 0}, in: "x:i64[2]=9223372036854775807", out: "i64[]=-2"},
		{op: "ReduceProd", attrs: []any{"keepdims", 0}, in: "x:i32[2]=65536", out: "i32[]=0"},
		{op: "MatMul", in: "i32[1,2]=65536 i32[2,1]=65536", out: "i32[1,1]=0"},
		// What a cache holds behind its keys may be no numbers; ONNX Runtime gives zeros of places outside of a table.
		{op: groupedQueries, attrs: oneHead, in: "q:f32[1,1,8] k:f32[1,1,8] v:f32[1,1,8]=3 c:f32[1,1,2,8]=nan d:f32[1,1,2,8]=nan s:i32[1]=0 T:i32[]=2", out: "f32[1,1,8]=3"},
		{op: microsoft + ".GatherBlockQuantized", attrs: []any{"bits", 8, "block_size", 16}, in: "D:u8[2,2]=130 i:i64[3]=-3,2,-2 S:f32[2,1]=1", out: "f32[3,2]=0,0,0,0,2,2"},
		{op: "Det", in: "f32[2,2]=nan", out: "f32[]=nan"},
	} {
		model, in := s.model("", false)
		m.right(s.label(), model, Run{Inputs: in, Want: []Want{s.want()}})
	}
}
