package hostile

import (
	"slices"
	"strings"
)

// zeroCases have dimensions of 0 at every place of operators of every family: in inputs, in weights and in results, as
// numbers and as symbols that a run makes 0.
func zeroCases(m *maker) error {
	for _, s := range zeroSpecs() {
		m.zero(&s)
	}
	for _, c := range zeroRefused {
		s := &spec{op: c.op, attrs: c.attrs, in: c.in}
		model, _ := s.model("", false)
		m.refused(s.label()+", refused", model, `"n_y"`)
	}
	for _, c := range zeroRejected {
		s := &spec{op: c.op, attrs: c.attrs, in: c.in}
		model, in := s.model("", false)
		m.rejected(s.label()+", rejected", model, []string{`"n_y"`}, in...)
		model, in = s.model("Z", false)
		m.rejected(s.label()+", rejected, a symbol", model, []string{`"n_y"`}, in...).with("--dim=Z=0..8")
	}
	return nil
}

// zero adds a spec's variants: all operands are inputs, all but the first are constants, zeros are a symbol.
func (m *maker) zero(s *spec) {
	model, in := s.model("", false)
	m.right(s.label(), model, Run{Inputs: in, Want: []Want{s.want()}})
	if len(in) > 1 {
		model, in := s.model("", true)
		m.right(s.label()+", constants", model, Run{Inputs: in, Want: []Want{s.want()}})
	}
	for _, x := range in {
		if slices.Contains(x.Tensor.Shape, 0) && !s.numbersOnly() {
			model, in := s.model("Z", false)
			m.right(s.label()+", a symbol", model, Run{Inputs: in, Want: []Want{s.want()}}).with("--dim=Z=0..8")
			return
		}
	}
}

// numbersOnly reports that a symbol in the place of the zero would make another model: it reads the number.
func (s *spec) numbersOnly() bool {
	switch s.op {
	case "Reshape", "Split", "Squeeze", "CenterCropPad":
		return true
	}
	return false
}

// zeroSpecs are the specs of all families.
func zeroSpecs() []spec {
	var out []spec
	for _, op := range strings.Fields("Abs Neg Relu Exp Log Sqrt Reciprocal Sigmoid Tanh Erf Floor Ceil Round Sign Sin Cos Softplus Elu LeakyRelu HardSwish Gelu Mish Softmax LogSoftmax Hardmax Identity Selu Dropout LpNormalization") {
		out = append(out, spec{op, nil, "f32[2,0,3]", "f32[2,0,3]"}, spec{op, nil, "f32[0]", "f32[0]"}, spec{op, nil, "f32[3,0]", "f32[3,0]"})
	}
	for _, op := range strings.Fields("Add Sub Mul Div Pow Min Max Sum Mean") {
		for _, c := range [][3]string{{"0,3", "3", "0,3"}, {"2,0", "1", "2,0"}, {"0,1", "1,4", "0,4"}, {"0", "", "0"}, {"1", "0", "0"}, {"2,0,3", "0,1", "2,0,3"}} {
			out = append(out, spec{op, nil, "f32[" + c[0] + "] f32[" + c[1] + "]", "f32[" + c[2] + "]"})
		}
	}
	for _, op := range strings.Fields("Less Greater Equal LessOrEqual GreaterOrEqual") {
		out = append(out, spec{op, nil, "i64[0,3] i64[3]", "bool[0,3]"}, spec{op, nil, "f32[1] f32[2,0]", "bool[2,0]"})
	}
	for _, op := range strings.Fields("And Or Xor") {
		out = append(out, spec{op, nil, "bool[0,3]=1 bool[3]=1", "bool[0,3]"})
	}
	out = append(out, zeroReductions()...)
	return append(out, zeroTable...)
}

// zeroReductions reduce axes without elements, and others. ONNX says what an empty set gives.
func zeroReductions() []spec {
	var out []spec
	for _, r := range [][2]string{{"ReduceSum", "0"}, {"ReduceProd", "1"}, {"ReduceL1", "0"}, {"ReduceL2", "0"}, {"ReduceSumSquare", "0"},
		{"ReduceMax", "-inf"}, {"ReduceMin", "+inf"}, {"ReduceLogSum", "-inf"}, {"ReduceLogSumExp", "-inf"}, {"ReduceMean", "?"}} {
		for _, c := range []struct {
			attrs   []any
			in, out string
		}{
			{nil, "x:f32[0,3] A:i64[1]=0", "f32[1,3]=" + r[1]},
			{nil, "x:f32[0,3] A:i64[1]=1", "f32[0,1]"},
			{nil, "x:f32[2,0,3] A:i64[2]=0,1", "f32[1,1,3]=" + r[1]},
			{[]any{"keepdims", 0}, "x:f32[2,0]", "f32[]=" + r[1]},
			{[]any{"keepdims", 0}, "x:f32[2,0] A:i64[1]=-1", "f32[2]=" + r[1]},
			{[]any{"noop_with_empty_axes", 1}, "x:f32[2,0] A:i64[0]=", "f32[2,0]"},
		} {
			out = append(out, spec{r[0], c.attrs, c.in, c.out})
		}
	}
	for _, r := range [][4]string{{"ReduceMax", "i32", "-2147483648"}, {"ReduceMin", "i32", "2147483647"}, {"ReduceMax", "u8", "0"}, {"ReduceMin", "u8", "255"},
		{"ReduceMax", "i64", "-9223372036854775808"}, {"ReduceMin", "i64", "9223372036854775807"}, {"ReduceSum", "i64", "0"}, {"ReduceProd", "i32", "1"}} {
		out = append(out, spec{r[0], nil, "x:" + r[1] + "[0,3] A:i64[1]=0", r[1] + "[1,3]=" + r[2]})
	}
	return out
}

var conv2 = []any{"kernel_shape", []int64{2, 2}}

// zeroTable are the other families.
var zeroTable = []spec{
	{"ArgMax", []any{"axis", 1}, "f32[0,3]", "i64[0,1]"},
	{"ArgMin", []any{"axis", 1, "keepdims", 0}, "f32[0,3]", "i64[0]"},
	{"ArgMax", []any{"axis", 0}, "f32[2,0]", "i64[1,0]"},
	{"MatMul", nil, "f32[0,4] f32[4,3]", "f32[0,3]"},
	{"MatMul", nil, "f32[2,4] f32[4,0]", "f32[2,0]"},
	{"MatMul", nil, "f32[2,0] f32[0,3]", "f32[2,3]=0"},
	{"MatMul", nil, "f32[0,0] f32[0,0]", "f32[0,0]"},
	{"MatMul", nil, "f32[0] f32[0]", "f32[]=0"},
	{"MatMul", nil, "f32[0] f32[0,3]", "f32[3]=0"},
	{"MatMul", nil, "f32[0,2,4] f32[4,3]", "f32[0,2,3]"},
	{"MatMul", nil, "f32[2,4] f32[0,4,3]", "f32[0,2,3]"},
	{"MatMul", nil, "f32[1,2,4] f32[0,4,3]", "f32[0,2,3]"},
	{"MatMul", nil, "f32[17,0] f32[0,33]", "f32[17,33]=0"},
	{"MatMul", nil, "i32[2,0] i32[0,3]", "i32[2,3]=0"},
	{"MatMulInteger", nil, "u8[2,0] u8[0,3]", "i32[2,3]=0"},
	{"MatMulInteger", nil, "u8[0,4] u8[4,3]", "i32[0,3]"},
	{"Gemm", nil, "f32[2,0] f32[0,3]", "f32[2,3]=0"},
	{"Gemm", nil, "f32[2,0] f32[0,3] f32[3]=5", "f32[2,3]=5"},
	{"Gemm", nil, "f32[0,4] f32[4,3] f32[3]", "f32[0,3]"},
	{"Gemm", nil, "f32[2,4] f32[4,0]", "f32[2,0]"},
	{"Gemm", []any{"transB", 1}, "f32[2,4] f32[0,4]", "f32[2,0]"},
	{"Gemm", []any{"transA", 1}, "f32[0,2] f32[0,3]", "f32[2,3]=0"},
	{"Gemm", []any{"beta", float32(2)}, "f32[2,0] f32[0,3] f32[]=5", "f32[2,3]=10"},
	{"Einsum", []any{"equation", "ij,jk->ik"}, "f32[2,0] f32[0,3]", "f32[2,3]=0"},
	{"Einsum", []any{"equation", "ij,jk->ik"}, "f32[0,4] f32[4,3]", "f32[0,3]"},
	{"Einsum", []any{"equation", "ij,jk->ik"}, "f32[2,4] f32[4,0]", "f32[2,0]"},
	{"Einsum", []any{"equation", "ij->"}, "f32[2,0]", "f32[]=0"},
	{"Einsum", []any{"equation", "bij->bji"}, "f32[0,2,3]", "f32[0,3,2]"},
	{"Conv", conv2, "f32[0,3,4,4] f32[5,3,2,2]", "f32[0,5,3,3]"},
	{"Conv", conv2, "f32[1,3,4,4] f32[0,3,2,2]", "f32[1,0,3,3]"},
	{"Conv", conv2, "f32[1,0,4,4] f32[5,0,2,2]", "f32[1,5,3,3]=0"},
	{"Conv", conv2, "f32[1,0,4,4] f32[5,0,2,2] f32[5]=7", "f32[1,5,3,3]=7"},
	{"Conv", conv2, "f32[1,3,4,4] f32[0,3,2,2] f32[0]", "f32[1,0,3,3]"},
	{"Conv", nil, "f32[0,3,4] f32[5,3,2]", "f32[0,5,3]"},
	{"Conv", nil, "f32[1,3,4] f32[0,3,2]", "f32[1,0,3]"},
	{"Conv", nil, "f32[1,3,2,2,2] f32[0,3,1,1,1]", "f32[1,0,2,2,2]"},
	{"Conv", nil, "f32[0,3,2,2,2] f32[4,3,1,1,1]", "f32[0,4,2,2,2]"},
	{"Conv", []any{"group", 3}, "f32[0,3,4,4] f32[3,1,2,2]", "f32[0,3,3,3]"},
	{"Conv", nil, "f32[1,16,4,4] f32[0,16,3,3]", "f32[1,0,2,2]"},
	{"Conv", nil, "f32[1,16,4,4] f32[0,16,1,1]", "f32[1,0,4,4]"},
	{"ConvTranspose", nil, "f32[0,3,4,4] f32[3,5,2,2]", "f32[0,5,5,5]"},
	{"ConvTranspose", nil, "f32[1,3,4,4] f32[3,0,2,2]", "f32[1,0,5,5]"},
	{"ConvTranspose", nil, "f32[1,0,4,4] f32[0,5,2,2]", "f32[1,5,5,5]=0"},
	{"ConvInteger", nil, "u8[0,3,4,4] u8[5,3,2,2]", "i32[0,5,3,3]"},
	{"ConvInteger", nil, "u8[1,3,4,4] u8[0,3,2,2]", "i32[1,0,3,3]"},
	{"MaxPool", conv2, "f32[0,3,4,4]", "f32[0,3,3,3]"},
	{"MaxPool", conv2, "f32[1,0,4,4]", "f32[1,0,3,3]"},
	{"AveragePool", conv2, "f32[0,3,4,4]", "f32[0,3,3,3]"},
	{"AveragePool", conv2, "f32[1,0,4,4]", "f32[1,0,3,3]"},
	{"LpPool", conv2, "f32[1,0,4,4]", "f32[1,0,3,3]"},
	{"GlobalAveragePool", nil, "f32[0,3,4,4]", "f32[0,3,1,1]"},
	{"GlobalMaxPool", nil, "f32[1,0,4,4]", "f32[1,0,1,1]"},
	{"BatchNormalization", nil, "f32[0,3,4] f32[3] f32[3] f32[3] f32[3]", "f32[0,3,4]"},
	{"BatchNormalization", nil, "f32[2,0,4] f32[0] f32[0] f32[0] f32[0]", "f32[2,0,4]"},
	{"InstanceNormalization", nil, "f32[0,3,4] f32[3] f32[3]", "f32[0,3,4]"},
	{"InstanceNormalization", nil, "f32[2,0,4] f32[0] f32[0]", "f32[2,0,4]"},
	{"LayerNormalization", nil, "f32[0,4] f32[4] f32[4]", "f32[0,4]"},
	{"LayerNormalization", nil, "f32[2,0] f32[0]", "f32[2,0]"},
	{"GroupNormalization", []any{"num_groups", 2}, "f32[0,4,3] f32[4] f32[4]", "f32[0,4,3]"},
	{"RMSNormalization", nil, "f32[0,4] f32[4]", "f32[0,4]"},
	{"LRN", []any{"size", 3}, "f32[0,3,4,4]", "f32[0,3,4,4]"},
	{"LRN", []any{"size", 3}, "f32[1,0,4,4]", "f32[1,0,4,4]"},
	{"MeanVarianceNormalization", nil, "f32[0,3,2,2]", "f32[0,3,2,2]"},
	{"Concat", []any{"axis", 0}, "f32[0,3] f32[2,3]=4", "f32[2,3]=4"},
	{"Concat", []any{"axis", 0}, "f32[2,3]=4 f32[0,3]", "f32[2,3]=4"},
	{"Concat", []any{"axis", 1}, "f32[0,3] f32[0,2]", "f32[0,5]"},
	{"Concat", []any{"axis", 0}, "f32[0] f32[0] f32[0]", "f32[0]"},
	{"Concat", []any{"axis", 1}, "f32[2,0] f32[2,1]=3 f32[2,0]", "f32[2,1]=3"},
	{"Slice", nil, "x:f32[0,3] S:i64[1]=0 E:i64[1]=2", "f32[0,3]"},
	{"Slice", nil, "x:f32[4,3] S:i64[1]=2 E:i64[1]=2", "f32[0,3]"},
	{"Slice", nil, "x:f32[4,3] S:i64[1]=3 E:i64[1]=1", "f32[0,3]"},
	{"Slice", nil, "x:f32[4] S:i64[1]=9 E:i64[1]=99", "f32[0]"},
	{"Slice", nil, "x:f32[0,3] S:i64[1]=-1 E:i64[1]=-9 A:i64[1]=0 T:i64[1]=-1", "f32[0,3]"},
	{"Slice", nil, "x:f32[2,3] S:i64[0]= E:i64[0]=", "f32[2,3]"},
	{"Gather", nil, "f32[4,3] i64[0]=", "f32[0,3]"},
	{"Gather", nil, "f32[4,0] i64[2]=1", "f32[2,0]"},
	{"Gather", nil, "f32[0,3] i64[0]=", "f32[0,3]"},
	{"Gather", []any{"axis", 1}, "f32[0,3] i64[2]=1", "f32[0,2]"},
	{"Gather", nil, "f32[4] i64[2,0]=", "f32[2,0]"},
	{"GatherElements", nil, "f32[4,3] i64[0,3]=", "f32[0,3]"},
	{"GatherElements", nil, "f32[0,3] i64[0,3]=", "f32[0,3]"},
	{"GatherND", nil, "f32[4,3] i64[0,2]=", "f32[0]"},
	{"GatherND", nil, "f32[4,0] i64[2,1]=1", "f32[2,0]"},
	{"ScatterElements", nil, "f32[4,3]=6 i64[0,3]= f32[0,3]", "f32[4,3]=6"},
	{"ScatterElements", nil, "f32[0,3] i64[0,3]= f32[0,3]", "f32[0,3]"},
	{"ScatterND", nil, "f32[4,3]=6 i64[0,1]= f32[0,3]", "f32[4,3]=6"},
	{"ScatterND", nil, "f32[4,0] i64[2,1]=1 f32[2,0]", "f32[4,0]"},
	{"Expand", nil, "x:f32[1,3] S:i64[2]=0,3", "f32[0,3]"},
	{"Expand", nil, "x:f32[0,1] S:i64[2]=1,4", "f32[0,4]"},
	{"Expand", nil, "x:f32[] S:i64[2]=2,0", "f32[2,0]"},
	{"Expand", nil, "x:f32[3] S:i64[0]=", "f32[3]"},
	{"Tile", nil, "x:f32[2,3] S:i64[2]=0,2", "f32[0,6]"},
	{"Tile", nil, "x:f32[0,3] S:i64[2]=5,2", "f32[0,6]"},
	{"Pad", nil, "x:f32[0,3] P:i64[4]=1,0,1,0 V:f32[]=7", "f32[2,3]=7"},
	{"Pad", nil, "x:f32[2,3] P:i64[4]=-1,0,-1,0", "f32[0,3]"},
	{"Pad", nil, "x:f32[0] P:i64[2]=0,0", "f32[0]"},
	{"Reshape", nil, "x:f32[0,3] S:i64[2]=0,3", "f32[0,3]"},
	{"Reshape", []any{"allowzero", 1}, "x:f32[0,3] S:i64[2]=3,0", "f32[3,0]"},
	{"Reshape", []any{"allowzero", 1}, "x:f32[0,3] S:i64[1]=0", "f32[0]"},
	{"Reshape", nil, "x:f32[0,3] S:i64[3]=0,3,1", "f32[0,3,1]"},
	{"Reshape", nil, "x:f32[2,0,3] S:i64[2]=2,0", "f32[2,0]"},
	{"Reshape", nil, "x:f32[0,3] S:i64[2]=-1,3", "f32[0,3]"},
	{"Transpose", []any{"perm", []int64{1, 0}}, "f32[0,3]", "f32[3,0]"},
	{"Transpose", []any{"perm", []int64{2, 0, 1}}, "f32[2,0,3]", "f32[3,2,0]"},
	{"Flatten", nil, "f32[0,3,4]", "f32[0,12]"},
	{"Flatten", []any{"axis", 2}, "f32[2,0,4]", "f32[0,4]"},
	{"Squeeze", nil, "x:f32[1,0,1] A:i64[2]=0,2", "f32[0]"},
	{"Unsqueeze", nil, "x:f32[0] A:i64[2]=0,2", "f32[1,0,1]"},
	{"Shape", nil, "f32[2,0,3]", "i64[3]=2,0,3"},
	{"Size", nil, "f32[2,0,3]", "i64[]=0"},
	{"ConstantOfShape", nil, "S:i64[2]=2,0", "f32[2,0]"},
	{"ConstantOfShape", nil, "S:i64[0]=", "f32[]=0"},
	{"Range", nil, "A:i64[]=3 B:i64[]=3 C:i64[]=1", "i64[0]"},
	{"Range", nil, "A:i64[]=3 B:i64[]=0 C:i64[]=1", "i64[0]"},
	{"Range", nil, "A:f32[]=0 B:f32[]=3 C:f32[]=-1", "f32[0]"},
	{"NonZero", nil, "f32[0,3]", "i64[2,0]"},
	{"NonZero", nil, "f32[3]=0", "i64[1,0]"},
	{"TopK", nil, "x:f32[3] K:i64[1]=0", "f32[0]"},
	{"TopK", nil, "x:f32[0,3] K:i64[1]=2", "f32[0,2]"},
	{"TopK", nil, "x:f32[2,0] K:i64[1]=0", "f32[2,0]"},
	{"CumSum", nil, "x:f32[0,3] A:i64[]=0", "f32[0,3]"},
	{"CumSum", nil, "x:f32[2,0] A:i64[]=0", "f32[2,0]"},
	{"OneHot", nil, "i64[0]= D:i64[]=4 V:f32[2]=0,1", "f32[0,4]"},
	{"Where", nil, "bool[0,3]=1 f32[3] f32[1]", "f32[0,3]"},
	{"Where", nil, "bool[1]=1 f32[2,0] f32[1]", "f32[2,0]"},
	{"Resize", []any{"mode", "nearest"}, "x:f32[0,1,4,4] _ S:f32[4]=1,1,2,2", "f32[0,1,8,8]"},
	{"Resize", []any{"mode", "linear"}, "x:f32[1,0,4,4] _ S:f32[4]=1,1,2,2", "f32[1,0,8,8]"},
	{"Resize", []any{"mode", "cubic"}, "x:f32[0,1,4,4] _ _ S:i64[4]=0,1,8,8", "f32[0,1,8,8]"},
	{"DepthToSpace", []any{"blocksize", 2}, "f32[0,4,2,2]", "f32[0,1,4,4]"},
	{"DepthToSpace", []any{"blocksize", 2}, "f32[1,0,2,2]", "f32[1,0,4,4]"},
	{"SpaceToDepth", []any{"blocksize", 2}, "f32[1,3,0,4]", "f32[1,12,0,2]"},
	{"Trilu", nil, "f32[0,3,3]", "f32[0,3,3]"},
	{"Trilu", nil, "f32[2,0]", "f32[2,0]"},
	{"EyeLike", nil, "f32[0,3]", "f32[0,3]"},
	{"EyeLike", nil, "f32[3,0]", "f32[3,0]"},
	{"Cast", []any{"to", 7}, "f32[0,3]", "i64[0,3]"},
	{"CastLike", nil, "f32[0,3] i64[0]", "i64[0,3]"},
	{"Clip", nil, "x:f32[0,3] A:f32[]=0 B:f32[]=1", "f32[0,3]"},
	{"QuantizeLinear", nil, "f32[0,3] f32[] u8[]", "u8[0,3]"},
	{"QuantizeLinear", []any{"axis", 1}, "f32[2,0] f32[0] u8[0]", "u8[2,0]"},
	{"DequantizeLinear", nil, "u8[0,3] f32[] u8[]", "f32[0,3]"},
	{"DequantizeLinear", []any{"axis", 0}, "u8[0,3] f32[0] u8[0]", "f32[0,3]"},
	{"QLinearMatMul", nil, "u8[2,0] f32[] u8[]=0 u8[0,3] f32[] u8[]=0 f32[] u8[]=5", "u8[2,3]=5"},
	{"QLinearConv", nil, "u8[0,3,4,4] f32[] u8[] u8[5,3,2,2] f32[] u8[] f32[] u8[]", "u8[0,5,3,3]"},
	{"Compress", nil, "f32[0] bool[0]", "f32[0]"},
	{"Compress", []any{"axis", 0}, "f32[4,3] bool[4]=0", "f32[0,3]"},
	{"Compress", []any{"axis", 0}, "f32[4,0] bool[4]=1", "f32[4,0]"},
	{"Unique", nil, "f32[0]", "f32[0]"},
	{"IsNaN", nil, "f32[0]", "bool[0]"},
	{"Not", nil, "bool[0,3]", "bool[0,3]"},
	{"PRelu", nil, "f32[0,3] f32[3]", "f32[0,3]"},
	{"Mod", nil, "i64[0,3] i64[3]", "i64[0,3]"},
	{"BitShift", []any{"direction", "LEFT"}, "u32[0,3] u32[3]", "u32[0,3]"},
	{"BitwiseAnd", nil, "u32[0,3] u32[3]", "u32[0,3]"},
	{"BitwiseNot", nil, "u32[0,3]", "u32[0,3]"},
	{"Split", []any{"axis", 0}, "x:f32[0,3] S:i64[1]=0", "f32[0,3]"},
	{"ReverseSequence", []any{"batch_axis", 0, "time_axis", 1}, "f32[0,3] i64[0]=", "f32[0,3]"},
	{"GridSample", nil, "f32[0,1,4,4] f32[0,2,2,2]", "f32[0,1,2,2]"},
	{"GridSample", nil, "f32[1,0,4,4] f32[1,2,2,2]", "f32[1,0,2,2]"},
	{"GridSample", nil, "f32[1,1,4,4] f32[1,0,2,2]", "f32[1,1,0,2]"},
	{"LSTM", []any{"hidden_size", 3}, "f32[2,0,4] f32[1,12,4] f32[1,12,3]", "f32[2,1,0,3]"},
	{"LSTM", []any{"hidden_size", 3}, "f32[0,2,4] f32[1,12,4] f32[1,12,3]", "f32[0,1,2,3]"},
	{"GRU", []any{"hidden_size", 3}, "f32[2,0,4] f32[1,9,4] f32[1,9,3]", "f32[2,1,0,3]"},
	{"GRU", []any{"hidden_size", 3}, "f32[0,2,4] f32[1,9,4] f32[1,9,3]", "f32[0,1,2,3]"},
	{"RNN", []any{"hidden_size", 3}, "f32[2,0,4] f32[1,3,4] f32[1,3,3]", "f32[2,1,0,3]"},
	{"RNN", []any{"hidden_size", 3}, "f32[0,2,4] f32[1,3,4] f32[1,3,3]", "f32[0,1,2,3]"},
	{"Attention", nil, "f32[0,2,3,4] f32[0,2,5,4] f32[0,2,5,4]", "f32[0,2,3,4]"},
	{"Attention", nil, "f32[1,2,0,4] f32[1,2,5,4] f32[1,2,5,4]", "f32[1,2,0,4]"},
	{"RoiAlign", []any{"sampling_ratio", 2}, "f32[1,1,4,4] f32[0,4] i64[0]=", "f32[0,1,1,1]"},
	{"RoiAlign", []any{"sampling_ratio", 2}, "f32[1,0,4,4] f32[2,4] i64[2]=0", "f32[2,0,1,1]"},
	{"NonMaxSuppression", nil, "f32[1,0,4] f32[1,1,0] M:i64[1]=3", "i64[0,3]"},
	{"NonMaxSuppression", nil, "f32[1,2,4] f32[1,1,2] M:i64[1]=0", "i64[0,3]"},
	{"Det", nil, "f32[0,3,3]", "f32[0]"},
	{"Det", nil, "f32[0,0]", "f32[]=1"},
	{"CenterCropPad", nil, "x:f32[4,3] S:i64[2]=0,3", "f32[0,3]"},
}

// zeroRefused contradict themselves.
var zeroRefused = []spec{
	{"Add", nil, "f32[0] f32[2]", ""},
	{"Mul", nil, "f32[2,0] f32[3]", ""},
	{"Where", nil, "bool[0] f32[2] f32[1]", ""},
	{"MatMul", nil, "f32[2,0] f32[4,3]", ""},
	{"MatMul", nil, "f32[2,4] f32[0,3]", ""},
	{"Gemm", nil, "f32[2,0] f32[4,3]", ""},
	{"Conv", nil, "f32[1,3,4,4] f32[5,0,2,2]", ""},
	{"Conv", nil, "f32[1,0,4,4] f32[5,3,2,2]", ""},
	{"Conv", nil, "f32[1,3,1,1] f32[5,3,2,2]", ""},
	{"Concat", []any{"axis", 0}, "f32[0,3] f32[2,4]", ""},
	{"Expand", nil, "x:f32[2] S:i64[1]=0", ""},
	{"Reshape", []any{"allowzero", 1}, "x:f32[4] S:i64[1]=0", ""},
	{"Reshape", nil, "x:f32[0,3] S:i64[1]=4", ""},
	{"Reshape", []any{"allowzero", 1}, "x:f32[0,3] S:i64[2]=0,-1", ""},
	{"TopK", nil, "x:f32[0] K:i64[1]=1", ""},
	{"Squeeze", nil, "x:f32[0] A:i64[1]=0", ""},
	{"Det", nil, "f32[3,0]", ""},
	{"DepthToSpace", []any{"blocksize", 0}, "f32[0,4,2,2]", ""},
	{"GroupNormalization", []any{"num_groups", 0}, "f32[0,4,3] f32[4] f32[4]", ""},
	{"Conv", []any{"group", 0}, "f32[1,3,4,4] f32[5,3,2,2]", ""},
	{"Split", []any{"num_outputs", 0}, "f32[0]", ""},
	{"Range", nil, "A:i64[]=0 B:i64[]=3 C:i64[]=0", ""},
	{"Slice", nil, "x:f32[0] S:i64[1]=0 E:i64[1]=2 A:i64[1]=0 T:i64[1]=0", ""},
	{"Concat", []any{"axis", 0}, "", ""},
}

// zeroRejected are defined for no run: an element of an empty axis is asked for.
var zeroRejected = []spec{
	{"ArgMax", []any{"axis", 0}, "f32[0,3]", ""},
	{"ArgMin", []any{"axis", 0, "keepdims", 0}, "f32[0,3]", ""},
	{"ArgMax", []any{"axis", 1}, "f32[2,0]", ""},
	{"ArgMax", []any{"axis", -1, "select_last_index", 1}, "i32[2,0]", ""},
	{"Gather", nil, "f32[0,3] i64[2]=0", ""},
	{"Gather", []any{"axis", 1}, "f32[2,0] i64[1]=0", ""},
	{"GatherElements", nil, "f32[0,3] i64[1,3]=0", ""},
	{"GatherND", nil, "f32[0,3] i64[2,1]=0", ""},
	{"ScatterND", nil, "f32[0,3] i64[2,1]=0 f32[2,3]", ""},
	{"ScatterElements", nil, "f32[0,3] i64[1,3]=0 f32[1,3]", ""},
	{"Pad", []any{"mode", "edge"}, "x:f32[0] P:i64[2]=1,1", ""},
	{"Pad", []any{"mode", "reflect"}, "x:f32[0] P:i64[2]=1,1", ""},
	{"Pad", []any{"mode", "wrap"}, "x:f32[0] P:i64[2]=1,1", ""},
	{"Resize", []any{"mode", "nearest"}, "x:f32[1,1,0,4] _ _ S:i64[4]=1,1,8,8", ""},
}
