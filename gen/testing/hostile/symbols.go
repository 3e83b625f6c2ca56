package hostile

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// symbolCases are symbolic dimensions that are bound to other numbers, by the model, by flags and by runs.
func symbolCases(m *maker) error {
	two := func(a, b any) *onnxpb.ModelProto {
		return onnxtest.Model(append(onnxtest.Floats("x", a), onnxtest.Floats("z", b)...), onnxtest.Op("Add", "x z", "y"))
	}
	vec := func(n int64) *ir.Tensor { return filled(ir.F32, 1, n) }
	for _, n := range []int64{0, 1, 2, 63, 64} {
		m.right(fmt.Sprintf("N is %d", n), two("N", "N"), run(is(filled(ir.F32, 2, n)), "x", vec(n), "z", vec(n))).with("--dim=N=0..64")
	}
	for _, n := range append([]int64{65, -1}, extremes...) {
		c := m.status(fmt.Sprintf("N is %d of 1 to 64", n), two("N", "N"), BadDims, []string{"N"}, values("x", vec(1), "z", vec(1))...)
		c.with("--dim=N=1..64").Runs[0].Dims = map[string]int64{"N": n}
		c = m.status(fmt.Sprintf("N is %d, which nothing bounds", n), two("N", "N"), BadDims, []string{"N"}, values("x", vec(1), "z", vec(1))...)
		if c.Runs[0].Dims = map[string]int64{"N": n}; n > 0 && n <= 1<<31-1 {
			m.cases = m.cases[:len(m.cases)-1] // it is right
		}
	}
	for i, c := range [][3]int64{{2, 3, -1}, {1, 3, 3}, {3, 1, 3}, {4, 4, 4}, {0, 1, 0}, {1, 0, 0}, {0, 2, -1}, {64, 63, -1}} {
		name := fmt.Sprintf("N is %d and M is %d, %d", c[0], c[1], i)
		if c[2] < 0 {
			m.status(name, two("N", "M"), BadDims, []string{`"n_y"`}, values("x", vec(c[0]), "z", vec(c[1]))...).with("--dim=N=0..64", "--dim=M=0..64")
		} else {
			m.right(name, two("N", "M"), run(is(filled(ir.F32, 2, c[2])), "x", vec(c[0]), "z", vec(c[1]))).with("--dim=N=0..64", "--dim=M=0..64")
		}
	}
	m.operators()
	m.bindings(two)
	return nil
}

// operators that a symbol's value makes malformed: the status names the node.
func (m *maker) operators() {
	for _, c := range []struct {
		op       string
		attrs    []any
		in       string // N and M are 7 and 9
		bad      map[string]int64
		constant bool
	}{
		{op: "MatMul", in: "f32[2,N] f32[M,3]"},
		{op: "Gemm", in: "f32[2,N] f32[M,3]"},
		{op: "Concat", attrs: []any{"axis", 0}, in: "f32[2,N] f32[2,M]"},
		{op: "Conv", in: "f32[1,N,4,4] f32[5,M,2,2]"},
		{op: "Where", in: "bool[N]=1 f32[M] f32[1]"},
		{op: "PRelu", in: "f32[2,N] f32[M]"},
		{op: "Einsum", attrs: []any{"equation", "ij,jk->ik"}, in: "f32[2,N] f32[M,3]"},
		{op: "LayerNormalization", in: "f32[2,N] f32[M]"},
		{op: "BatchNormalization", in: "f32[2,N,3] f32[M] f32[M] f32[M] f32[M]"},
		{op: "Sum", in: "f32[N] f32[M] f32[1]"},
		{op: "Equal", in: "i64[N] i64[M]"},
		{op: "Expand", in: "x:f32[N] S:i64[1]=9"},
		{op: "Reshape", in: "x:f32[N] S:i64[2]=2,3"},
		{op: "Squeeze", in: "x:f32[N,2] A:i64[1]=0"},
		{op: "MaxPool", attrs: []any{"kernel_shape", []int64{8, 8}}, in: "x:f32[1,1,N,9]"},
		{op: "Conv", in: "x:f32[1,1,N,9] w:f32[1,1,8,8]"},
		{op: "GatherND", in: "x:f32[N,3] i:i64[M,3]=0"},
		{op: "ScatterND", in: "x:f32[9] i:i64[N,1]=0 u:f32[M]"},
		{op: "LSTM", attrs: []any{"hidden_size", 3}, in: "f32[2,1,N] f32[1,12,M] f32[1,12,3]"},
		{op: "TopK", in: "x:f32[N] K:i64[1]=8"},
		{op: "DepthToSpace", attrs: []any{"blocksize", 2}, in: "f32[1,N,2,2]"},
		{op: "SpaceToDepth", attrs: []any{"blocksize", 2}, in: "f32[1,1,N,2]"},
		{op: "Split", attrs: []any{"axis", 0}, in: "x:f32[N] S:i64[1]=9"},
		{op: "Det", in: "f32[N,M]"},
		{op: "GatherElements", attrs: []any{"axis", 0}, in: "x:f32[4,N] i:i64[4,M]=0"},
		{op: "CenterCropPad", in: "x:f32[N,M] S:i64[3]=1"},
	} {
		s := &spec{op: c.op, attrs: c.attrs, in: replaceSymbols(c.in)}
		model, in := s.model("", false)
		for _, v := range model.Graph.Input {
			for _, d := range v.Type.GetTensorType().Shape.Dim {
				switch d.GetDimValue() {
				case 7:
					d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "N"}
				case 9:
					if c.in != "x:f32[1,1,N,9]" && c.in != "x:f32[1,1,N,9] w:f32[1,1,8,8]" && c.in != "x:f32[9] i:i64[N,1]=0 u:f32[M]" {
						d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "M"}
					}
				}
			}
		}
		m.rejected(c.op+" "+c.in, model, []string{`"n_y"`}, in...).with("--dim=N=1..64").with(maybeM(model)...)
	}
}

func maybeM(model *onnxpb.ModelProto) []string {
	for _, v := range model.Graph.Input {
		for _, d := range v.Type.GetTensorType().Shape.Dim {
			if d.GetDimParam() == "M" {
				return []string{"--dim=M=1..64"}
			}
		}
	}
	return nil
}

// replaceSymbols puts 7 in place of N and 9 in place of M, in shapes.
func replaceSymbols(in string) string {
	out := []byte(in)
	for i := 1; i < len(out); i++ {
		if out[i-1] == '[' || out[i-1] == ',' {
			switch out[i] {
			case 'N':
				out[i] = '7'
			case 'M':
				out[i] = '9'
			}
		}
	}
	return string(out)
}

// bindings are flags that bind symbols, rightly and wrongly, and declarations that contradict what is computed.
func (m *maker) bindings(two func(a, b any) *onnxpb.ModelProto) {
	x := f32(1, 2)
	right := run(is(f32(2, 4)), "x", x, "z", x)
	m.boundDims(two, right)
	m.declarations(two, right)
	m.inputShapes(two, right)
	m.manySymbols()
	big := two("N", "N")
	big.Graph.Input[0] = onnxtest.Floats("x", "N", 1<<20, 1<<20)[0]
	m.open("a size that leaves memory for most symbols", big, []string{`"x" | "n_y"`})
}

// boundDims are flags.
func (m *maker) boundDims(two func(a, b any) *onnxpb.ModelProto, right Run) {
	m.right("bound to 2", two("N", "N"), right).with("--dim=N=2")
	m.right("both bound to 2", two("N", "M"), right).with("--dim=N=2", "--dim=M=2")
	m.right("bounded by 2", two("N", "N"), right).with("--dim=N=2..2")
	m.right("a number and a symbol", two(2, "N"), right).with("--dim=N=0..9")
	m.refused("bound to numbers that do not fit", two("N", "M"), `"n_y"`).with("--dim=N=2", "--dim=M=3")
	m.refused("a number and a symbol that do not fit", two(2, "N"), `"n_y"`).with("--dim=N=3")
	for _, f := range []string{"--dim=N=-1", "--dim=N=", "--dim=N", "--dim==3", "--dim=N=3..2", "--dim=N=1..99999999999", "--dim=N=9223372036854775808", "--dim=N=1.5", "--dim=N=0x2", "--dim=N=1...2", "--dim=N=..3",
		"--dim=N=2147483648", "--dim=N=1..2147483648", "--dim=N=-9223372036854775808..3", "--dim=N=nan"} {
		c := m.refused("a flag "+f, two("N", "N"), "dim")
		c.Flag = true
		c.with(f)
	}
	c := m.refused("a flag twice", two("N", "N"), "twice")
	c.Flag = true
	c.with("--dim=N=2", "--dim=N=2")
	m.refused("a flag of no symbol", two("N", "N"), "Q").with("--dim=N=2", "--dim=Q=2")
}

// declarations are what a model says of its result.
func (m *maker) declarations(two func(a, b any) *onnxpb.ModelProto, right Run) {
	declared := func(t onnxpb.TensorProto_DataType, dims ...any) *onnxpb.ModelProto {
		model := two("N", "N")
		model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Input("y", t, dims...)}
		return model
	}
	m.right("a result is declared as it is", declared(onnxpb.TensorProto_FLOAT, "N"), right)
	m.open("a result is declared by another symbol", declared(onnxpb.TensorProto_FLOAT, "other"), []string{`"y"`}, right)
	m.refused("a result of another type is declared", declared(onnxpb.TensorProto_INT64, "N"), `"y"`)
	m.refused("a result of another rank is declared", declared(onnxpb.TensorProto_FLOAT, "N", 1), `"y"`)
	m.right("a result of another size is declared", declared(onnxpb.TensorProto_FLOAT, 3), right)
	m.open("a result of a size is declared that a run may not have", declared(onnxpb.TensorProto_FLOAT, 2), []string{`"y"`}, right)
}

// inputShapes are dimensions without names, and inputs without a shape.
func (m *maker) inputShapes(two func(a, b any) *onnxpb.ModelProto, right Run) {
	unnamed := two("N", "N")
	unnamed.Graph.Input[0].Type.GetTensorType().Shape.Dim[0].Value, unnamed.Graph.Input[1].Type.GetTensorType().Shape.Dim[0].Value = nil, nil
	m.right("dimensions without names", unnamed, right)
	noShape := two("N", "N")
	noShape.Graph.Input[0].Type.GetTensorType().Shape = nil
	m.refused("an input without a shape", noShape, `"x"`)
}

// manySymbols are dimensions and symbols, many of them.
func (m *maker) manySymbols() {
	deep := make([]any, 33)
	for i := range deep {
		deep[i] = 1
	}
	m.refused("an input of 33 dimensions", onnxtest.Model(onnxtest.Floats("x", deep...), onnxtest.Op("Neg", "x", "y")), `"x"`, "33")
	for i := range 3 {
		many := make([]any, 30)
		for k := range many {
			many[k] = fmt.Sprintf("D%d_%d", i, k)
		}
		model := onnxtest.Model(onnxtest.Floats("x", many...), onnxtest.Op("Neg", "x", "y"))
		ones := make([]int64, 30)
		for k := range ones {
			ones[k] = 1
		}
		m.right(fmt.Sprintf("30 symbols %d", i), model, run(is(filled(ir.F32, -2, ones...)), "x", filled(ir.F32, 2, ones...)))
	}
	var lots []*onnxpb.ValueInfoProto
	for i := range 300 {
		lots = append(lots, onnxtest.Floats(fmt.Sprint("x", i), fmt.Sprint("S", i))...)
	}
	m.refused("300 symbols", onnxtest.Model(lots, onnxtest.Op("Neg", "x0", "y")), "256")
}
