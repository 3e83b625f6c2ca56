package hostile

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// sparseCases have sparse tensors, which are not supported: where one is read, the message says so; one that nothing
// reads may be there.
func sparseCases(m *maker) error {
	sparse := func(name string, values, indices *ir.Tensor, dims ...int64) *onnxpb.SparseTensorProto {
		return &onnxpb.SparseTensorProto{Values: onnxtest.Tensor(name, values), Indices: onnxtest.Tensor(name+"_indices", indices), Dims: dims}
	}
	tensors := map[string]*onnxpb.SparseTensorProto{
		"a vector":             sparse("w", f32(5), i64(1), 3),
		"a matrix":             sparse("w", f32(5), intTensor(ir.I64, []int64{1, 2}, 0, 1), 1, 3),
		"no elements":          sparse("w", f32(), i64(), 3),
		"indices out of order": sparse("w", f32(5, 6), i64(2, 0), 3),
		"an index twice":       sparse("w", f32(5, 6), i64(1, 1), 3),
		"an index beyond":      sparse("w", f32(5), i64(9), 3),
		"a negative index":     sparse("w", f32(5), i64(-1), 3),
		"huge dims":            sparse("w", f32(5), i64(0), 1<<40, 1<<40),
		"no dims":              sparse("w", f32(5), i64(0)),
		"no indices":           {Values: onnxtest.Tensor("w", f32(5)), Dims: []int64{3}},
		"more values":          sparse("w", f32(5, 6, 7), i64(0), 3),
	}
	for _, name := range sortedKeys(tensors) {
		s := tensors[name]
		used := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Add", "x w", "y"))
		used.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{s}
		m.refused("an initializer, "+name, used, `"w"`, "sparse")
		unused := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Neg", "x", "y"))
		unused.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{s}
		m.open("an initializer that nothing reads, "+name, unused, []string{"sparse"}, run(is(f32(-1, -2, -3)), "x", f32(1, 2, 3)))
		attribute := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Constant", "", "w", "sparse_value", s), onnxtest.Op("Add", "x w", "y"))
		m.refused("a Constant, "+name, attribute, `"n_w"`, "SPARSE_TENSOR | sparse")
		two := onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Add", "x w", "y")), onnxtest.Tensor("w", f32(1, 2, 3)))
		two.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{s}
		m.refused("beside one that is not sparse, "+name, two, `"w"`)
	}
	for i, op := range []string{"MatMul", "Gemm", "Conv", "Gather"} {
		model := onnxtest.Model(onnxtest.Floats("x", 1, 3), onnxtest.Op(op, "x w", "y"))
		model.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{tensors["a matrix"]}
		m.refused(fmt.Sprintf("weights of %s, %d", op, i), model, `"w"`, "sparse")
	}
	branch := onnxtest.Model(nil, onnxtest.Op("Add", "x w", "r")).Graph
	branch.SparseInitializer = []*onnxpb.SparseTensorProto{tensors["a vector"]}
	inputs := append(onnxtest.Floats("x", 3), onnxtest.Input("c", onnxpb.TensorProto_BOOL))
	m.refused("in a branch", onnxtest.Model(inputs, onnxtest.Op("If", "c", "y", "then_branch", branch, "else_branch", branch)), `"w"`, "sparse")
	declared := onnxtest.Model([]*onnxpb.ValueInfoProto{{Name: ptr("x"), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SparseTensorType{
		SparseTensorType: &onnxpb.TypeProto_SparseTensor{ElemType: ptr(int32(1))}}}}}, onnxtest.Op("Relu", "x", "y"))
	m.refused("an input", declared, `"x"`, "sparse")
	return nil
}
