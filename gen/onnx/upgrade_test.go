package onnx

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// TestUpgradesAreComplete: each definition that opset 7 no longer has is in one row, and no other is.
func TestUpgradesAreComplete(t *testing.T) {
	rows := map[string][]int{}
	for _, row := range upgrades {
		for _, op := range row.ops {
			rows[op] = append(rows[op], row.from...)
		}
	}
	for op, versions := range sinceVersions {
		var old []int
		for i, v := range versions[:len(versions)-1] {
			if abs(versions[i+1]) <= modernOpset {
				old = append(old, v)
			}
		}
		if op == "Cast" { // names of types live on
			old = append(old, 6)
		}
		require.Equal(t, old, rows[op], op)
		delete(rows, op)
	}
	require.Empty(t, rows)
}

// oldModel is a model of one node with f32 inputs of shape [N, 4].
func oldModel(opset int, n *onnxpb.NodeProto) *onnxpb.ModelProto {
	m := modelOf(n.Input, n.Output[:1], n)
	m.IrVersion = proto.Int64(3)
	m.OpsetImport = opsets("", opset)
	return m
}

// TestUpgrades: old nodes as they are read.
func TestUpgrades(t *testing.T) {
	consumed := []any{"consumed_inputs", []int64{0}}
	with := func(more ...any) []any { return append(slices.Clone(consumed), more...) }
	n := func(op string, in int, attrs ...any) *onnxpb.NodeProto {
		return node(op, names("x", "w", "v", "u", "t")[:in], names("y"), attrs...)
	}
	for _, c := range []struct {
		opset int
		n     *onnxpb.NodeProto
		want  string // the last node
	}{
		{1, n("Relu", 1, consumed...), `Relu.6(%x) "n_y"`},
		{5, n("Elu", 1, with("alpha", float32(2))...), `Elu.6(%x) {alpha = f32 2} "n_y"`},
		{6, n("Relu", 1), `Relu.6(%x) "n_y"`},
		{1, n("Not", 1), `Not.1(%x) "n_y"`},
		{3, n("AveragePool", 1, "kernel_shape", []int64{2, 2}), `AveragePool.7(%x) {kernel_shape = [2, 2]} "n_y"`},
		{6, n("Add", 2), `Add.7(%x, %w) "n_y"`},
		{6, n("Add", 2, "broadcast", 1), `Add.7(%x, %w) "n_y"`},
		{6, n("Add", 2, "axis", 1), `Add.7(%x, %w) "n_y"`},
		{1, n("Mul", 2, with("broadcast", 1, "axis", 0)...), `Mul.7(%x, %y.Reshape) "n_y"`},
		{6, n("Pow", 2, "broadcast", 1, "axis", 0), `Pow.7(%x, %y.Reshape) "n_y"`},
		{6, n("PRelu", 2), `PRelu.7(%x, %y.Reshape) "n_y"`},
		{6, n("BatchNormalization", 5, "is_test", 1, "epsilon", float32(0.5)), `BatchNormalization.7(%x, %w, %v, %u, %t) {epsilon = f32 0.5} "n_y"`},
		{1, n("Cast", 1, "to", "INT32"), `Cast.6(%x) {to = 6} "n_y"`},
		{6, n("Cast", 1, "to", "DOUBLE"), `Cast.6(%x) {to = 11} "n_y"`},
		{6, n("Cast", 1, "to", 11), `Cast.6(%x) {to = 11} "n_y"`},
		{1, n("Clip", 1, with("max", float32(6))...), `Clip.6(%x) {max = f32 6, min = f32 -Inf} "n_y"`},
		{6, n("Clip", 1), `Clip.6(%x) "n_y"`},
		{3, n("Concat", 2), `Concat.4(%x, %w) {axis = 1} "n_y"`},
		{3, n("Concat", 2, "axis", 0), `Concat.4(%x, %w) {axis = 0} "n_y"`},
		{6, n("Dropout", 1, "is_test", 1, "ratio", float32(0.25)), `Dropout.7(%x) {ratio = f32 0.25} "n_y"`},
		{6, n("Gemm", 3, "broadcast", 1, "transB", 1), `Gemm.7(%x, %w, %v) {transB = 1} "n_y"`},
		{1, n("GlobalLpPool", 1), `GlobalLpPool.2(%x) {p = 2} "n_y"`},
		{1, n("LpPool", 1, "p", float32(3), "kernel_shape", []int64{2, 2}), `LpPool.2(%x) {kernel_shape = [2, 2], p = 3} "n_y"`},
		{6, n("LSTM", 3, "output_sequence", 1, "hidden_size", 4), `LSTM.7(%x, %w, %v) {hidden_size = 4} "n_y"`},
		{2, n("GRU", 3, "hidden_size", 4), `GRU.7(%x, %w, %v) {hidden_size = 4} "n_y"`},
		{1, n("Pad", 1, "paddings", []int64{0, 1, 0, 2}), `Pad.2(%x) {pads = [0, 1, 0, 2]} "n_y"`},
		{4, n("Reshape", 1, with("shape", []int64{0, -1})...), `Reshape.5(%x, @y.const) "n_y"`},
		{5, n("Reshape", 2), `Reshape.5(%x, %w) "n_y"`},
		{5, n("Selu", 1, with("gamma", float32(2))...), `Selu.6(%x) {alpha = f32 1.6732, gamma = f32 2} "n_y"`},
		{1, n("Split", 1, "axis", 1), `Split.2(%x) {axis = 1} "n_y"`},
		{1, n("Split", 2, "axis", 1), `Split.13(%x, %y.Cast) {axis = 1} "n_y"`},
		{5, n("Tile", 3), `Tile.6(%x, %y.Concat) "n_y"`},
		{6, n("Upsample", 1, "height_scale", float32(2), "width_scale", float32(3), "mode", "bilinear"), `Upsample.7(%x) {mode = "linear", scales = f32 [1, 1, 2, 3]} "n_y"`},
	} {
		g := mustRead(t, oldModel(c.opset, c.n))
		require.Equal(t, modernOpset, g.Opset)
		require.Contains(t, text(t, g), "\n  %y f32[N, 4] = "+c.want+"\n  output %y\n")
	}
}

// TestUpgradeOfRegions: nodes in graphs of nodes are upgraded there.
func TestUpgradeOfRegions(t *testing.T) {
	branch := func(axis int) *onnxpb.GraphProto {
		return graphOf(nil, names("b"), node("Add", names("x", "w"), names("b"), "broadcast", 1, "axis", axis))
	}
	m := oldModel(6, node("If", names("c"), names("y"), "then_branch", branch(0), "else_branch", branch(0)))
	m.Graph.Input = []*onnxpb.ValueInfoProto{
		info("c", onnxpb.TensorProto_BOOL), info("x", onnxpb.TensorProto_FLOAT, 2, 3), info("w", onnxpb.TensorProto_FLOAT, 2),
	}
	n := mustRead(t, m).Nodes[0]
	require.Equal(t, "If", n.Op)
	for _, r := range n.Regions {
		require.Equal(t, modernOpset, r.Opset)
		last := r.Nodes[len(r.Nodes)-1]
		require.Equal(t, []any{"Add", 7}, []any{last.Op, last.Version})
		require.Equal(t, "Reshape", last.Inputs[1].Def.Op)
	}
}

func TestUpgradeErrors(t *testing.T) {
	n := func(op string, in int, attrs ...any) *onnxpb.NodeProto {
		return node(op, names("x", "w", "v")[:in], names("y"), attrs...)
	}
	for _, c := range []struct {
		opset int
		n     *onnxpb.NodeProto
		want  string
	}{
		{6, n("Sin", 1), "the operator exists since opset 7"},
		{6, n("Dropout", 1), "attribute is_test is 0 (training) and attribute ratio is 0.5: elements are dropped at random; supported is an is_test of 1 or a ratio of 0"},
		{6, node("BatchNormalization", names("x", "w", "v", "u", "t"), names("y", "m"), "is_test", 1),
			"attribute is_test is 1 (inference), but the node has 2 results, as in training; supported is 1 result"},
		{1, n("LpPool", 1, "p", float32(1.5)), "attribute p is 1.5; whole numbers are supported"},
		{1, n("Cast", 1, "to", "int"), `attribute to is "int"; want the name of an element type`},
		{1, n("Cast", 1, "to", 6), "attribute to has type INT, want STRING"},
		{1, n("Reshape", 1), "attribute shape is absent, but required"},
		{1, n("Reshape", 2, "shape", []int64{1}), "want 1 operands"},
		{1, n("Split", 1), "attribute axis is absent, and opset 1 has no default"},
		{1, n("Split", 2, "axis", 0, "split", []int64{1}), "attribute split and operand 1 both set the lengths; leave out one of them"},
		{1, n("Tile", 2), "want 3 operands"},
		{1, n("Upsample", 1, "height_scale", float32(2)), "attribute width_scale is absent, but required"},
		{6, n("Add", 2, "broadcast", 1, "axis", -1), "attribute axis is -1; want at least 0"},
		{6, n("Add", 2, "broadcast", float32(1), "axis", 0), "attribute broadcast has type FLOAT, want INT"},
		{6, n("Add", 1, "broadcast", 1, "axis", 0), "want 2 operands"},
	} {
		_, err := read(t, oldModel(c.opset, c.n), Options{})
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "n_y")
	}
}

// TestTrainingOfOldOpsets: a Dropout that drops nothing, and the results of BatchNormalization,
// whose number tells training; results that are absent at the end are none.
func TestTrainingOfOldOpsets(t *testing.T) {
	operands := names("x", "w", "v", "u", "t")
	for _, c := range []struct {
		opset   int
		n       *onnxpb.NodeProto
		results int
	}{
		{6, node("Dropout", names("x"), names("y"), "ratio", float32(0)), 1},
		{6, node("BatchNormalization", operands, names("y", "", "", "", ""), "is_test", 1), 1},
		{6, node("BatchNormalization", operands, names("y")), 1},
		{6, node("BatchNormalization", operands, names("y", "m", "", "", "s")), 5},
		{9, node("BatchNormalization", operands, names("y", "", "", "")), 1},
		{9, node("BatchNormalization", operands, names("y", "", "", "", "s")), 5},
		{15, node("BatchNormalization", operands, names("y", "", "")), 1},
	} {
		n := mustRead(t, oldModel(c.opset, c.n)).Nodes[0]
		require.Len(t, n.Outputs, c.results)
		require.False(t, n.Has("is_test"))
	}
}

// TestUnknownUpgrade: a definition without a row is refused.
func TestUnknownUpgrade(t *testing.T) {
	s := &scope{frame: &frame{opsets: map[string]int{"": 6}}}
	err := s.upgrade(&ir.Node{Op: "Add", Version: 2}, &onnxpb.NodeProto{})
	require.ErrorContains(t, err, "definition 2 of the operator is not supported; convert the model to opset 7 or newer")
	require.True(t, isRefusal(err))
}
