package hostile

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// declaredCases are models that declare other shapes than they compute, as ONNX's own shape inference writes them, and
// inputs with default values.
func declaredCases(m *maker) error {
	relu := func(t onnxpb.TensorProto_DataType, dims ...any) *onnxpb.ModelProto {
		model := onnxtest.Model(onnxtest.Floats("x", 2, "N"), onnxtest.Op("Relu", "x", "y"))
		model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Input("y", t, dims...)}
		return model
	}
	x := filled(ir.F32, 2, 2, 3)
	float := onnxpb.TensorProto_FLOAT
	for _, dims := range [][]any{{2, "N"}, {3, "N"}, {2, 70}, {2, "M"}} {
		m.right(fmt.Sprintf("declares %v", dims), relu(float, dims...), run(is(x), "x", x)).with("--dim=N=1..64")
	}
	m.refused("declares another rank", relu(float, 2, "N", 1), `Relu "n_y"`, "rank")
	m.refused("declares another type", relu(onnxpb.TensorProto_INT64, 2, "N"), `Relu "n_y"`, "declares")
	pool := onnxtest.Model(onnxtest.Floats("x", 1, 1, 5, 4), onnxtest.Op("MaxPool", "x", "y", "kernel_shape", []int64{2, 2}, "strides", []int64{3, 3}, "pads", []int64{0, 0, 1, 1}, "ceil_mode", 1))
	pool.Graph.Output = onnxtest.Floats("y", 1, 1, 3, 2)
	m.right("a pool with ceil_mode before opset 22", pool, run(is(tensor(ir.F32, []int64{1, 1, 2, 2}, 6, 8, 18, 20)), "x", tensor(ir.F32, []int64{1, 1, 5, 4}, numbersOf(seq(20))...)))
	between := onnxtest.Model(onnxtest.Floats("x", 2, 3), onnxtest.Op("Relu", "x", "t"), onnxtest.Op("Neg", "t", "y"))
	between.Graph.ValueInfo = onnxtest.Floats("t", 1, 3)
	m.right("a value between", between, run(is(filled(ir.F32, -2, 2, 3)), "x", x))
	m.defaults(x)
	return nil
}

// defaults are inputs that initializers are, too: constants, unless an option keeps them.
func (m *maker) defaults(x *ir.Tensor) {
	model := func(version int64) *onnxpb.ModelProto {
		p := onnxtest.Model(append(onnxtest.Floats("x", 2, 3), onnxtest.Floats("b", 3)...), onnxtest.Op("Add", "x b", "y"))
		p.IrVersion = ptr(version)
		return onnxtest.With(p, onnxtest.Tensor("b", f32(5, 5, 5)))
	}
	for _, version := range []int64{3, 4, 10} {
		m.right("a default value, IR version "+string(rune('0'+version%10)), model(version), run(is(filled(ir.F32, 7, 2, 3)), "x", x))
	}
	m.right("a default value that an input replaces", model(8), run(is(filled(ir.F32, 3, 2, 3)), "x", x, "b", f32(1, 1, 1))).with("--keep-input=b")
	m.refused("a default value of no input", model(8), `"x"`, `"b"`).with("--keep-input=x")
}
