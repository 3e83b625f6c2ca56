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
	for _, c := range slices.Concat(zeroRejected, zeroSampled()) {
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
