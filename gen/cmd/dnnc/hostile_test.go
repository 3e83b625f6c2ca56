package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
)

// TestHostile: models that ask for the absurd, or are wrong, give an error that names the file, the
// node, the operator and what is wrong; nothing takes long or much memory.
func TestHostile(t *testing.T) {
	x := func(dims ...any) []*onnxpb.ValueInfoProto { return floats("x", dims...) }
	body := func(nodes ...*onnxpb.NodeProto) *onnxpb.GraphProto {
		g := hostileModel([]*onnxpb.ValueInfoProto{input("i", onnxpb.TensorProto_INT64), input("go", onnxpb.TensorProto_BOOL)}, nodes...).Graph
		g.Output = append([]*onnxpb.ValueInfoProto{{Name: proto.String("go")}}, g.Output...)
		return g
	}
	for _, c := range []struct {
		name  string
		model *onnxpb.ModelProto
		want  []string // none: it may be compiled
	}{
		{"unknown operator", hostileModel(x(3), op("Frobnicate", "x", "y")), []string{`node "n_y", operator "Frobnicate"`, "no such operator"}},
		{"types", hostileModel(append(x(3), input("i", onnxpb.TensorProto_INT64, 3)), op("Add", "x i", "y")), []string{`Add "n_y"`, "one type", "f32", "i64"}},
		{"negative input", hostileModel(x(-5), op("Relu", "x", "y")), []string{`input "x"`, "dimension 0 is -5", "supported are 0 to 2147483647"}},
		{"huge input dimension", hostileModel(x(1<<40), op("Relu", "x", "y")), []string{`input "x"`, "1099511627776", "supported are 0 to"}},
		{"huge input", hostileModel(x(1<<30, 1<<30), op("Relu", "x", "y")), []string{`input "x"`, "1099511627776 bytes"}},
		{"overflowing input", hostileModel(x(1<<30, 1<<30, 1<<30), op("Relu", "x", "y")), []string{`input "x"`, "1099511627776 bytes"}},
		{"rank", hostileModel(floats("x", make([]any, 1000)...), op("Relu", "x", "y")), []string{`input "x" has 1000 dimensions; supported are at most 32`}},
		{"ConstantOfShape", hostileModel(x(1), vector("s", 1<<20, 1<<20), op("ConstantOfShape", "s", "y")), []string{`ConstantOfShape "n_y"`, "1099511627776 bytes"}},
		{"ConstantOfShape, negative", hostileModel(x(1), vector("s", -1), op("ConstantOfShape", "s", "y")), []string{`ConstantOfShape "n_y"`, "-1"}},
		{"ConstantOfShape, overflow", hostileModel(x(1), vector("s", most, most), op("ConstantOfShape", "s", "y")), []string{`ConstantOfShape "n_y"`}},
		{"ConstantOfShape, 2^38 elements that fit", hostileModel(x(1), vector("s", 1<<37), op("ConstantOfShape", "s", "c"), op("Shape", "c", "y")), nil},
		{"Expand", hostileModel(x(1), vector("s", 1<<20, 1<<20), op("Expand", "x s", "y")), []string{`Expand "n_y"`, "1099511627776 bytes"}},
		{"Range", hostileModel(x(1), op("Constant", "", "a", "value_int", 0), op("Constant", "", "b", "value_int", most), op("Constant", "", "c", "value_int", 1), op("Range", "a b c", "y")),
			[]string{`Range "n_y"`, "more than 2147483647 numbers"}},
		{"Tile", hostileModel(x(16), vector("s", 1<<40), op("Tile", "x s", "y")), []string{`Tile "n_y"`, "bytes"}},
		{"Tile, overflow", hostileModel(x(16), vector("s", most), op("Tile", "x s", "y")), []string{`Tile "n_y"`, "overflows"}},
		{"Pad", hostileModel(x(16), vector("s", 1<<40, 1<<40), op("Pad", "x s", "y")), []string{`Pad "n_y"`, "bytes"}},
		{"Pad, overflow", hostileModel(x(16), vector("s", most, most), op("Pad", "x s", "y")), []string{`Pad "n_y"`}},
		{"Resize", hostileModel(x(1, 1, 4, 4), vector("s", 1, 1, 1<<30, 1<<30), op("Resize", "x   s", "y")), []string{`Resize "n_y"`, "bytes"}},
		{"OneHot", hostileModel([]*onnxpb.ValueInfoProto{input("x", onnxpb.TensorProto_INT64, 4)}, vector("d", 1<<40), vector("v", 0, 1), op("OneHot", "x d v", "y")), []string{`OneHot "n_y"`, "bytes"}},
		{"Reshape", hostileModel(x(6), vector("s", -1, -1), op("Reshape", "x s", "y")), []string{`Reshape "n_y"`, "-1 at 0 and 1"}},
		{"Split", hostileModel(x(6), op("Split", "x", "y", "num_outputs", 1<<40)), []string{`Split "n_y"`, "num_outputs is 1099511627776"}},
		{"TopK", hostileModel(x(6), vector("k", 1<<40), op("TopK", "x k", "y")), []string{`TopK "n_y"`}},
		{"DepthToSpace", hostileModel(x(1, 8, 2, 2), op("DepthToSpace", "x", "y", "blocksize", 1<<40)), []string{`DepthToSpace "n_y"`, "blocksize"}},
		{"SpaceToDepth", hostileModel(x(1, 8, 2, 2), op("SpaceToDepth", "x", "y", "blocksize", 0)), []string{`SpaceToDepth "n_y"`, "blocksize"}},
		{"Concat", hostileModel(x(2), op("Concat", "x x", "y", "axis", most)), []string{`Concat "n_y"`, "axis"}},
		{"Flatten", hostileModel(x(2), op("Flatten", "x", "y", "axis", -1<<63)), []string{`Flatten "n_y"`, "axis"}},
		{"a kernel that does not fit", hostileModel(x(1, 1, 8, 8), op("MaxPool", "x", "y", "kernel_shape", []int64{most, most})), []string{`MaxPool "n_y"`, "kernel_shape", "at most"}},
		{"a kernel beyond the picture", hostileModel(x(1, 1, 8, 8), op("MaxPool", "x", "y", "kernel_shape", []int64{1 << 31, 1 << 31})), []string{`MaxPool "n_y"`, "window"}},
		{"a kernel of zeros", hostileModel(x(1, 1, 8, 8), op("MaxPool", "x", "y", "kernel_shape", []int64{0, 0})), []string{`MaxPool "n_y"`, "kernel_shape"}},
		{"a kernel that is almost padding", hostileModel(x(1, 1, 1, 1), op("AveragePool", "x", "y", "kernel_shape", []int64{1 << 31, 1 << 31}, "pads", []int64{1 << 30, 1 << 30, 1<<30 - 1, 1<<30 - 1})), nil},
		{"strides", hostileModel(x(1, 1, 8, 8), op("MaxPool", "x", "y", "kernel_shape", []int64{1, 1}, "strides", []int64{-1, most})), []string{`MaxPool "n_y"`, "strides"}},
		{"dilations", hostileModel(x(1, 1, 8, 8), op("MaxPool", "x", "y", "kernel_shape", []int64{3, 3}, "dilations", []int64{most, most})), []string{`MaxPool "n_y"`}},
		{"a folded window", with(hostileModel(x(1), op("LRN", "w", "l", "size", 1<<31-1), op("Add", "x l", "y")), ones("w", 1, 1, 1, 1)), nil},
		{"an unknown attribute", hostileModel(x(3), op("Relu", "x", "y", "alpha", 1)), []string{`Relu "n_y"`, `attribute "alpha" is unknown`}},
		{"an attribute of the wrong type", hostileModel(x(3), op("Softmax", "x", "y", "axis", "one")), []string{`Softmax "n_y"`, `attribute "axis" has type STRING`}},
		{"an attribute twice", hostileModel(x(3), op("Softmax", "x", "y", "axis", 0, "axis", 0)), []string{`operator "Softmax"`, `attribute "axis"`, "taken"}},
		{"too few operands", hostileModel(x(3), op("Add", "x", "y")), []string{`Add "n_y"`, "operand 1 (B) is absent"}},
		{"no operand", hostileModel(x(3), op("Relu", "", "y")), []string{`Relu "n_y"`, "operand 0 (X) is absent"}},
		{"a cycle", hostileModel(x(3), op("Add", "x b", "a"), op("Relu", "a", "b")), []string{`"n_a"`, `"n_b" form a cycle`}},
		{"its own result", hostileModel(x(3), op("Add", "x y", "y")), []string{`"n_y"`, "uses its own result"}},
		{"a result twice", hostileModel(x(3), op("Relu", "x", "y"), op("Neg", "x", "y")), []string{`operator "Neg"`, `"y" is defined twice`}},
		{"If of more than one condition", hostileModel([]*onnxpb.ValueInfoProto{input("x", onnxpb.TensorProto_BOOL, 2)}, op("If", "x", "y",
			"then_branch", hostileModel(nil, op("Not", "x", "r")).Graph, "else_branch", hostileModel(nil, op("Not", "x", "r")).Graph)), []string{`If "n_y"`, "one element"}},
		{"a loop without end", hostileModel(x(1), op("Loop", "  x", "y", "body", body(op("Identity", "x", "r")))), []string{`Loop "n_y"`}},
		{"a loop that stacks 2^62 results", hostileModel(x(1), op("Constant", "", "m", "value_int", 1<<62), op("Loop", "m", "y", "body", body(op("Identity", "x", "r")))), []string{"bytes"}},
		{"Einsum", hostileModel(x(1), op("Einsum", "x", "y", "equation", strings.Repeat("...", 5000))), []string{`Einsum "n_y"`, "equation"}},
		{"Gather far outside", hostileModel(x(4), op("Constant", "", "i", "value_int", most), op("Gather", "x i", "y")), []string{`Gather "n_y"`, "9223372036854775807"}},
		{"Pad beyond both ends", hostileModel(x(16), vector("s", least, most), op("Pad", "x s", "y")), []string{`Pad "n_y"`, "element 0 of pads is -9223372036854775808", "supported are"}},
		{"Trilu far below", hostileModel(x(3, 4), op("Constant", "", "k", "value_int", least), op("Trilu", "x k", "y")), nil},
		{"EyeLike far above", hostileModel(x(3, 4), op("EyeLike", "x", "y", "k", most)), nil},
		{"Range at the end", hostileModel(x(3), op("Constant", "", "a", "value_int", least), op("Constant", "", "b", "value_int", least+3), op("Constant", "", "c", "value_int", 1), op("Range", "a b c", "r"), op("Cast", "r", "f", "to", 1), op("Add", "x f", "y")), nil},
		{"Resize to nothing", hostileModel(x(1, 1, 4, 4), vector("s", 1, 1, 0, 8), op("Resize", "x   s", "y")), nil},
		{"Resize of nothing", hostileModel(x(0, 1, 4, 4), vector("s", 0, 1, 8, 8), op("Resize", "x   s", "y")), nil},
		{"MatMul by no column", with(hostileModel(x(3, 4), op("MatMul", "x w", "y")), ones("w", 4, 0)), nil},
		{"Conv without channels", with(hostileModel(x(1, 4, 5, 5), op("Conv", "x w", "y")), ones("w", 0, 4, 3, 3)), nil},
		{"Cast to no type", hostileModel(x(4), op("Cast", "x", "y", "to", -1<<63)), []string{`Cast "n_y"`, "attribute to"}},
		{"Transpose", hostileModel(x(4), op("Transpose", "x", "y", "perm", make([]int64, 1<<16))), []string{`Transpose "n_y"`, "perm"}},
		{"Unsqueeze", hostileModel(x(4), vector("a", make([]int64, 200)...), op("Unsqueeze", "x a", "y")), []string{`Unsqueeze "n_y"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t)
			err := attempt(t, marshal(t, c.model))
			attemptPrune(t)
			if c.want == nil {
				assert.NoError(t, err)
				return
			}
			for _, w := range append(c.want, "model.onnx: ") {
				assert.ErrorContains(t, err, w)
			}
		})
	}
}
