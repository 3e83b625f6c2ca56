package ops

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// TestErrors: messages name the node, what was found and what is supported.
func TestErrors(t *testing.T) {
	conv := func(at ir.Attrs) *ir.Node { return node("Conv", at, f32(1, 4, 8, 8), weight(8, 4, 3, 3)) }
	old := func(version int, n *ir.Node) *ir.Node { n.Version = version; return n }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("Frobnicate", nil, f32(1)), `node Frobnicate "n": operator Frobnicate is not supported`},
		{node("Relu", nil), "operand 0 (X) is absent, but required"},
		{node("Relu", nil, f32(1), f32(1)), "2 operands, definition 14 of the operator has at most 1"},
		{node("Relu", nil, val(ir.U8, 1)), "has type u8; supported are i8, i16, i32, i64, f16, bf16, f32, f64"},
		{node("Add", nil, f32(1), i64(1)), "operands 0 and 1 must have one type, found f32 and i64"},
		{node("Relu", attrs("alpha", 1.0), f32(1)), `attribute "alpha" is unknown to definition 14 of the operator; known are: none`},
		{old(18, node("ReduceMean", attrs("axes", ints(1)), f32(1, 1))), `attribute "axes" is unknown to definition 18`},
		{old(13, node("ReduceMean", attrs("noop_with_empty_axes", 1), f32(1))), `attribute "noop_with_empty_axes" is unknown to definition 13`},
		{old(13, node("ReduceMean", nil, f32(1), vec(0))), "2 operands, definition 13 of the operator has at most 1"},
		{node("LeakyRelu", attrs("alpha", 1), f32(1)), `attribute "alpha" has type INT, want FLOAT`},
		{node("Concat", nil, f32(1)), `attribute "axis" is absent, but required`},
		{microsoft("QLinearAdd", nil, q(), weight(), q0(), f32(), weight(), q0(), weight()), "operand 3 (B, \"x3\") has type f32; supported are i8, u8"},
		{microsoft("MatMulNBits", nil, f32(2, 48), val(ir.U8, 10, 2, 16), weight(20)), `attribute "K" is absent, but required`},
		{node("SwiGLU", nil, f32(2, 3), f32(1, 3)), "dimension 0 of operand 1: found 1 and 2"},
		{old(5, node("Add", nil, f32(1), f32(1))), "definition 5 of the operator is older than the oldest supported, 7"},
		{twoResults(node("Relu", nil, f32(1))), "2 results, the operator has 1 to 1"},
		{node("Add", nil, f32(3), f32(4)), "dimensions must be equal or 1 to broadcast: found 3 and 4"},
		{node("Flatten", attrs("axis", 3), f32(2, 2)), "attribute axis is 3; the rank is 2"},
		{node("Softmax", attrs("axis", 2), f32(2, 2)), "attribute axis is 2; the rank is 2"},
		{node("Transpose", attrs("perm", ints(0, 0)), f32(2, 2)), "names axis 0 twice"},
		{node("Transpose", attrs("perm", ints(0)), f32(2, 2)), "attribute perm is [0]; the rank is 2"},
		{node("Reshape", nil, f32(6), vec(4, -1)), "a reshape keeps the number of elements: found 4 and 6"},
		{node("Reshape", nil, f32(6), vec(-1, -1)), "has -1 at 0 and 1"},
		{node("Reshape", nil, f32(6), vec(-2, 3)), "element 0 of operand 1 (shape): found -2 and 0"},
		{node("Reshape", nil, f32(6), vec(6, 0)), "copies dimension 1; the operand has rank 1"},
		{node("Squeeze", nil, f32(2, 1), vec(0)), "an axis that is squeezed, 0: found 2 and 1"},
		{node("Slice", nil, f32(4), vec(0), vec(4), vec(0), vec(0)), "the step along axis 0 is 0"},
		{node("Slice", nil, f32(4), vec(0), vec(4, 5)), "want equal numbers"},
		{node("Expand", nil, f32(4), vec(-1)), "element 0 of operand 1: found -1 and 0"},
		{node("Pad", attrs("mode", "mirror"), f32(4), vec(1, 1)), `attribute mode is "mirror"; supported are ["constant" "reflect" "edge" "wrap"]`},
		{node("Pad", nil, f32(4), vec(-3, -3)), "the padded dimension 0: found -2 and 0"},
		{node("Split", attrs("num_outputs", 3), f32(4)), "attribute num_outputs is 3; the node has 1 results"},
		{node("Cast", attrs("to", 8), f32(4)), "attribute to is data type 8 (string); supported are bool"},
		{node("Gather", nil, f32(4), num64(4)), "last index of the axis and index 4 of operand 1: found 3 and 4"},
		{node("Mod", nil, f32(4), f32(4)), ""},
		{old(13, node("Mod", nil, f32(4), f32(4))), "floating-point types need fmod=1"},
		{node("Gemm", nil, f32(2, 3), f32(4, 5)), "A must have as many columns as B has rows: found 3 and 4"},
		{node("Gemm", attrs("alpha", 0.5), i64(2, 3), i64(3, 5)), "operands of type i64 need a whole number"},
		{node("MatMul", nil, f32(), f32(2)), "operands have ranks 0 and 1; want at least 1"},
		{conv(attrs("group", 3)), "attribute group is 3; it must divide the 8 result channels"},
		{conv(attrs("group", 2)), "channels of X must be group times channels of W: found 4 and 8"},
		{node("LRN", attrs("size", math.MaxInt64), f32(1, 3, 4)), "attribute size is 9223372036854775807 and the rank 3; want a size of 1 to 2147483647"},
		{conv(attrs("strides", ints(1, math.MaxInt64))), "attribute strides is [1 9223372036854775807]; every number must be at least 1 and at most 1099511627776"},
		{conv(attrs("strides", ints(0, 1))), "attribute strides is [0 1]; every number must be at least 1"},
		{conv(attrs("pads", ints(1, 1))), "attribute pads is [1 1]; want two numbers for each of 2 spatial axes"},
		{conv(attrs("pads", ints(-1, 0, 0, 0))), "negative padding is not supported"},
		{conv(attrs("dilations", ints(4, 1))), "must be at least the window: found 8 and 9"},
		{conv(attrs("auto_pad", "SAME_UPPER", "pads", ints(1, 1, 1, 1))), "exclude each other"},
		{conv(attrs("kernel_shape", ints(5, 5))), "attribute kernel_shape must be the shape of the weights: found 3 and 5"},
		{node("ConvTranspose", attrs("strides", ints(2, 2), "dilations", ints(1, 3), "output_padding", ints(1, 3)), f32(1, 4, 5, 5), weight(4, 4, 2, 2)),
			"attribute output_padding is [1 3] with strides [2 2] and dilations [1 3]; every number must be less than the stride or the dilation of its axis"},
		{node("ConvTranspose", attrs("strides", ints(2, 2), "dilations", ints(1, 3), "output_padding", ints(1, 2)), f32(1, 4, 5, 5), weight(4, 4, 2, 2)), ""},
		{node("NegativeLogLikelihoodLoss", nil, f32(3), i64(3)), "operand 0 has rank 1; want at least 2 (samples, classes"},
		{node("NegativeLogLikelihoodLoss", nil, f32(3, 5), i64(3, 5)), "operand 1 has rank 2; want rank 1"},
		{node("NegativeLogLikelihoodLoss", nil, f32(3, 5), i64(4)), "dimension 0 of operand 1: found 4 and 3"},
		{node("NegativeLogLikelihoodLoss", nil, f32(3, 0), i64(3)), "axis 1 of operand 0 must have an element for the indices: found 0 and 1"},
		{node("SoftmaxCrossEntropyLoss", nil, f32(3, 5), i64(3), f32(3)), "extent of operand 2: found 3 and 5"},
		{node("SoftmaxCrossEntropyLoss", attrs("reduction", "max"), f32(3, 5), i64(3)), `attribute reduction is "max"; supported are ["mean" "none" "sum"]`},
		{twoResults(normalised(nil)), `result 1 ("y1") exists with attribute training_mode 1 only, found 0`},
		{results(4, normalised(attrs("training_mode", 1))), "4 results; definition 15 of the operator has at most 3"},
		{old(9, results(3, normalised(nil))), "3 results; definition 9 of the operator has 1, or 5 in training"},
		{old(7, node("BatchNormalization", attrs("spatial", 0), f32(1, 3, 2), weight(3), weight(3), weight(3), weight(3))), "operand 1 has rank 1; want rank 2"},
		{old(7, node("BatchNormalization", attrs("spatial", 0), f32(1, 3, 2), weight(3, 2), weight(3, 2), weight(3, 1), weight(3, 2))),
			"dimension 1 of operand 3: found 1 and 2"},
		{old(9, normalised(attrs("spatial", 0))), `attribute "spatial" is unknown to definition 9`},
		{node("Dropout", nil, f32(1), num32(0.25), trueValue()), "(training_mode) is 1 and operand 1 (ratio) is 0.25: elements are dropped at random; supported is a training_mode or a ratio of 0"},
		{node("Dropout", nil, f32(1), nil, trueValue()), "operand 1 (ratio) is 0.5: elements are dropped at random"},
		{node("Dropout", nil, f32(1), f32(), trueValue()), `the value of operand 1 ("x1") is not known when code is generated`},
		{node("Dropout", nil, f32(1), num32(0), trueValue()), ""},
		{node("Range", nil, num64(0), num64(5), num64(0)), "operand 2 (delta) is 0"},
		{node("QuantizeLinear", attrs("output_dtype", 22), f32(4), num32(1)), "attribute output_dtype is data type 22 (int4); supported are"},
		{node("QuantizeLinear", attrs("output_dtype", 17), f32(4), num32(1)), "data type 17 (float8e4m3fn)"},
		{node("QuantizeLinear", attrs("output_dtype", 1), f32(4), num32(1)), "attribute output_dtype is f32; supported are i8, u8, i16, u16"},
		{node("QuantizeLinear", attrs("output_dtype", 3), f32(4), num32(1), val(ir.U8)), "attribute output_dtype is i8; the zero point has type u8"},
		{node("QuantizeLinear", attrs("precision", 6), f32(4), num32(1)), "attribute precision is i32; supported are f16, bf16, f32, f64"},
		{node("QuantizeLinear", attrs("saturate", 2), f32(4), num32(1)), "attribute saturate is 2"},
		{node("QuantizeLinear", attrs("axis", 0), f32(4, 5), f32(5)), "which has an element for each index of axis 0: found 5 and 4"},
		{node("QuantizeLinear", nil, f32(4, 5), f32(4, 5)), "operand 1 has rank 2; want rank 0 or 1 without attribute block_size"},
		{node("QuantizeLinear", attrs("block_size", 2), f32(4, 5), f32(4, 2)), "dimension 1 of operand 1, in blocks of 2 along axis 1: found 2 and 3"},
		{node("QuantizeLinear", attrs("block_size", -1), f32(4, 5), f32(4, 2)), "attribute block_size is -1"},
		{node("Expand", nil, f32(1), vec(make([]int64, 33)...)), "operand 1 has 33 elements for dimensions; supported are at most 32"},
		{node("DequantizeLinear", attrs("block_size", math.MaxInt64), val(ir.I16, 64), f32(2)), "attribute block_size is 9223372036854775807; want 1 to "},
		{old(10, node("QuantizeLinear", nil, f32(4, 5), f32(5))), "definition 10 of the operator supports only a single number"},
		{old(19, node("QuantizeLinear", nil, f32(4), val(ir.F16))), "operands 0 and 1 must have one type, found f32 and f16"},
		{node("DequantizeLinear", attrs("output_dtype", 11), val(ir.U8, 4), num32(1)), "attribute output_dtype is f64; supported are f16, bf16, f32"},
		{node("DequantizeLinear", nil, val(ir.I32, 4), num32(1), val(ir.U8)), "operands 0 and 2 must have one type, found i32 and u8"},
		{node("ConvInteger", nil, val(ir.U8, 1, 4, 8), val(ir.U8, 8, 4, 3), val(ir.U8, 4)), "operand 2 has shape [4]; want one number"},
		{node("Reshape", nil, f32(math.MaxInt32, math.MaxInt32, math.MaxInt32, "N"), vec(7, 9)), "the numbers overflow 64 bits"},
		{node("MatMulInteger", nil, val(ir.U8, 2, 3), val(ir.U8, 3, 4), val(ir.U8, 3)), "extent of operand 2, which has an element for each line of its matrix: found 3 and 2"},
		{node("MatMulInteger", nil, val(ir.U8, 2, 3), val(ir.U8, 3, 4), val(ir.U8, 2, 3)), "dimension 1 of operand 2, which has an element for each line of its matrix: found 3 and 1"},
		{node("BitCast", attrs("to", 1), val(ir.I64, 4)), "attribute to is f32, of 4 bytes; operand 0 has type i64, of 8"},
		{attend(nil, f32(1, 2, 3, 8), f32(1, 2, 5, 4)), "sizes of a head of Q and K: found 8 and 4"},
		{attend(nil, f32(1, 3, 3, 8), f32(1, 2, 5, 8)), "heads of K must divide those of Q: found 2 and 3"},
		{attend(nil, f32(1, 3, 8), f32(1, 3, 8)), "attribute q_num_heads is 0; operand 0 of rank 3 needs the number of heads"},
		{attend(attrs("q_num_heads", 3, "kv_num_heads", 3), f32(1, 3, 8), f32(1, 3, 8)), "attribute q_num_heads must divide the last dimension of operand 0: found 6 and 8"},
		{attend(attrs("q_num_heads", 2), f32(1, 2, 3, 8), f32(1, 2, 5, 8)), "attribute q_num_heads is set, but operand 0 of rank 4"},
		{old(23, attend(attrs("q_num_heads", 1), f32(1, 2, 3, 8), f32(1, 2, 5, 8))), "heads of operand 0 and attribute q_num_heads: found 2 and 1"},
		{old(23, attend(attrs("left_window_size", 1), f32(1, 2, 3, 8), f32(1, 2, 5, 8))), `attribute "left_window_size" is unknown to definition 23`},
		{attend(attrs("left_window_size", -2), f32(1, 2, 3, 8), f32(1, 2, 5, 8)), "left_window_size and right_window_size are -2 and -1"},
		{attend(attrs("qk_matmul_output_mode", 4), f32(1, 2, 3, 8), f32(1, 2, 5, 8)), "attribute qk_matmul_output_mode is 4; supported are 0 to 3"},
		{attend(attrs("softmax_precision", 6), f32(1, 2, 3, 8), f32(1, 2, 5, 8)), "attribute softmax_precision is i32; supported are f16"},
		{attend(attrs("softcap", -1.0), f32(1, 2, 3, 8), f32(1, 2, 5, 8)), "attribute softcap is -1; want at least 0"},
		{attend(nil, f32(1, 2, 3, 8), f32(1, 2, 5, 8), f32(3, 6)), "the number of keys, and the last dimension of operand 3: found 5 and 6"},
		{attend(nil, f32(1, 2, 3, 8), f32(1, 2, 5, 8), f32(4, 5)), "operand 3 (attn_mask): dimensions must be equal or 1 to broadcast: found 3 and 4"},
		{attend(nil, f32(1, 2, 3, 8), f32(1, 2, 5, 8), nil, f32(1, 2, 4, 8)), "only one of past_key and past_value is present; want both or neither"},
		{attend(nil, f32(1, 2, 3, 8), f32(1, 2, 5, 8), nil, f32(1, 2, 4, 8), f32(1, 2, 3, 8)), "dimension 2 of operand 5: found 3 and 4"},
		{attend(nil, f32(1, 2, 3, 8), f32(1, 2, 5, 8), nil, f32(1, 2, 4, 8), f32(1, 2, 4, 8), i64(1)), "nonpad_kv_seqlen and past_key exclude each other"},
		{node("TensorScatter", attrs("axis", 0), f32(1, 4, 9), f32(1, 2, 9)), "attribute axis is 0, the batch axis"},
		{node("TensorScatter", nil, f32(1, 4, 9), f32(1, 5, 9)), "dimension 1 of operand 0 must be at least that of operand 1: found 4 and 5"},
		{node("TensorScatter", attrs("mode", "ring"), f32(1, 4, 9), f32(1, 2, 9)), `attribute mode is "ring"`},
		{node("Tile", nil, f32(1<<40), vec(1<<40)), "overflows 64 bits"},
		{node("Expand", nil, f32(), vec(1<<20, 1<<20)), "result 0 would have the shape [1048576 1048576], of more than 1099511627776 bytes, which is the limit of a tensor"},
		{node("ConstantOfShape", nil, vec(0, 1<<40, 4)), "result 0 would have the shape [0 1099511627776 4]"},
		{node("Unsqueeze", nil, ofRank(31), vec(0, 1)), "result 0 would have 33 dimensions; supported are at most 32"},
	} {
		_, err := Build(c.n, nil)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `node `+c.n.Op+` "n": `)
	}
}

// normalised is a BatchNormalization of three channels.
func normalised(at ir.Attrs) *ir.Node {
	return node("BatchNormalization", at, f32(1, 3), weight(3), weight(3), weight(3), weight(3))
}

// results gives a node n results.
func results(n int, of *ir.Node) *ir.Node {
	return example{n: of}.outputs(n).n
}

// ofRank is a value of many dimensions.
func ofRank(n int) *ir.Value {
	v := f32()
	for range n {
		v.Shape = append(v.Shape, sym.Const(1))
	}
	return v
}

// attend attends to keys that are the values, too.
func attend(at ir.Attrs, q, kv *ir.Value, more ...*ir.Value) *ir.Node {
	return node("Attention", at, append([]*ir.Value{q, kv, kv}, more...)...)
}

func trueValue() *ir.Value {
	v := ir.ConstValue("training", ir.NewTensor(ir.Bool))
	v.Const.Data[0] = 1
	return v
}

// TestNoPanic builds each example with odd attributes, ranks, dimensions and structural
// operands. Any answer will do, but a panic.
func TestNoPanic(t *testing.T) {
	odd := []int64{math.MinInt64, -1 << 33, -2, -1, 0, 1, 2, 3, 1 << 33, math.MaxInt64}
	for _, x := range examples() {
		row := Lookup(x.n.Op)
		for _, a := range row.Attrs {
			for _, v := range odd {
				try(t, x.n, func(n *ir.Node) { n.Attrs[a.Name] = oddAttr(a.Zero, v) })
			}
		}
		for i := range x.n.Inputs {
			for _, v := range odd {
				for rank := range 4 {
					try(t, x.n, func(n *ir.Node) { n.Inputs[i] = oddShape(n.Inputs[i], rank, v) })
				}
				try(t, x.n, func(n *ir.Node) { n.Inputs[i] = oddElems(n.Inputs[i], v) })
			}
			try(t, x.n, func(n *ir.Node) { n.Inputs[i] = nil })
		}
		try(t, x.n, func(n *ir.Node) { n.Outputs = nil })
		try(t, x.n, func(n *ir.Node) { n.Outputs = make([]*ir.Value, 7) })
		for _, v := range row.Versions {
			try(t, x.n, func(n *ir.Node) { n.Version = v })
		}
	}
}

func try(t *testing.T, n *ir.Node, change func(*ir.Node)) {
	c := *n
	c.Inputs, c.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	c.Attrs = ir.Attrs{}
	for k, v := range n.Attrs {
		c.Attrs[k] = v
	}
	change(&c)
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s with %v, %d operands: %v", c.Op, c.Attrs, len(c.Inputs), p)
		}
	}()
	m, err := Build(&c, nil)
	if err != nil {
		require.ErrorContains(t, err, "node ")
		return
	}
	NodeMapping(&c, m)
	LayoutClassOf(&c, m)
	FLOPs(m)
	_, err = DynamismOf(&c, nil)
	require.NoError(t, err)
}

func oddAttr(zero any, v int64) any {
	switch zero.(type) {
	case int64:
		return v
	case []int64:
		return []int64{v, 1, v}[:max(0, min(3, v&3))]
	case float32:
		return float32(v)
	case string:
		return "odd"
	case []float32:
		return []float32{float32(v)}
	case *ir.Tensor:
		return &ir.Tensor{Type: ir.F32, Shape: []int64{2}, Data: []byte{1, 2}}
	}
	return zero
}

func oddShape(v *ir.Value, rank int, dim int64) *ir.Value {
	if v == nil || dim < 0 || dim > 1<<40 { // a shape that reading a model would refuse
		return v
	}
	out := &ir.Value{Name: v.Name, Type: v.Type, HasShape: true, Shape: ir.Shape{}}
	for range rank {
		out.Shape = append(out.Shape, ir.Dims(dim)...)
	}
	return out
}

func oddElems(v *ir.Value, x int64) *ir.Value {
	if v == nil || v.Const == nil || v.Type != ir.I64 {
		return v
	}
	t := ir.NewTensor(ir.I64, v.Const.Shape...)
	xs := slices.Repeat([]int64{x}, int(t.Len()))
	return ir.ConstValue(v.Name, fill(t, xs))
}

// trained is a node whose statistics are wanted.
func trained() *ir.Node {
	x := func() *ir.Value { return f32(2, 4, 8) }
	return example{n: microsoft("SkipSimplifiedLayerNormalization", nil, x(), x(), weight(8))}.outputs(3).n
}

// scored is a node whose scores are a result.
func scored() *ir.Node { return example{n: queryGroups(nil)}.outputs(4).n }

// TestMicrosoftErrors: what ONNX Runtime's own operators refuse, where they are taken apart.
func TestMicrosoftErrors(t *testing.T) {
	nbits := func(at ...any) *ir.Node {
		all := attrs(append([]any{"K", 48, "N", 10, "block_size", 32}, at...)...)
		return microsoft("MatMulNBits", all, f32(2, 48), val(ir.U8, 10, 2, 16), weight(20))
	}
	gather := func(at ...any) *ir.Node {
		return microsoft("GatherBlockQuantized", attrs(append([]any{"bits", 8}, at...)...), val(ir.U8, 9, 32), i64("N"), weight(9, 1))
	}
	order := nbits()
	order.Inputs = append(order.Inputs, nil, val(ir.I32, 48))
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{nbits("bits", 2), "attribute bits is 2; supported are 4 and 8"},
		{nbits("block_size", 24), "attribute block_size is 24; want a power of two"},
		{nbits("K", 0), "attributes K and N are 0 and 10; want 1 to"},
		{nbits("N", 1<<62), "want 1 to"},
		{nbits("weight_prepacked", 1), "attribute weight_prepacked is 1: weights packed for a processor are not supported"},
		{order, "operand 4 (g_idx), an order of rows, is not supported"},
		{microsoft("MatMulNBits", attrs("K", 40, "N", 6, "block_size", 16), f32(2, 40), val(ir.U8, 8, 3, 6), weight(18)), "operand 1 (B) has shape [8 3 6]; want [6, 3, 8]"},
		{microsoft("MatMulNBits", attrs("K", 32, "N", 6, "bits", 8, "block_size", 16), f32(2, 32), val(ir.U8, 6, 2, 16), weight(2, 6)), "operand 2 (scales) has shape [2 6]; want [12] or [6, 2]"},
		{microsoft("MatMulNBits", attrs("K", 40, "N", 6, "block_size", 16), f32(2, 40), val(ir.U8, 6, 3, 8), weight(18), val(ir.U8, 2, 6)), "operand 3 (zero_points) has shape [2 6]; want [12] or [6, 2]"},
		{microsoft("QLinearGlobalAveragePool", nil, val(ir.U8, 1, 2, 3, 3), weight(), val(ir.U8, 2), weight(), q0()), "operand 2 (X_zero_point) has shape [2]; want a scalar or [1]"},
		{microsoft("SkipLayerNormalization", nil, f32(), f32(2, 3, 8), weight(8)), "operand 0 (input) has shape []; want [batch, sequence, hidden] or [sequence, hidden]"},
		{microsoft("SkipLayerNormalization", nil, f32(2, 3, 8), f32(), weight(8)), "operand 1 (skip) has shape []; want [2 or 1, 3, 8] or [3, 8]"},
		{microsoft("SkipLayerNormalization", nil, f32(2, 3, 8), f32(2, 3, 8), weight(8), weight()), "operand 3 (beta) has shape []; want [8]"},
		{microsoft("MultiHeadAttention", attrs("num_heads", 2), f32(2, 4, 8), f32(2, 5, 8), f32(2, 5, 8), nil, nil, weight()), "operand 5 (attention_bias) has shape []; want [2 or 1, 2 or 1, 4, 5]"},
		{microsoft("EmbedLayerNormalization", nil, val(ir.I32, 1, 2, 3), nil, weight(9, 8), weight(7, 8), nil, weight(8), weight(8)), "operand 0 (input_ids) has shape [1 2 3]; want [batch, sequence]"},
		{microsoft("QLinearConcat", attrs("axis", 1), weight(), q0(), q(), weight()), "4 operands; want a scale, a zero point, and three for each tensor"},
		{microsoft("QLinearConcat", attrs("axis", 1), weight(2), q0(), q(), weight(), q0()), "operand 0 (Y_scale) has shape [2]; want a scalar or [1]"},
		{microsoft("QLinearConcat", attrs("axis", 1), weight(), q0(), q(), weight(), q0(), q(), weight(3), q0()), "operand 6 (inputs) has shape [3]; want a scalar or [1]"},
		{microsoft("QLinearWhere", nil, val(ir.Bool, 3), q(), weight(12), q0(), q(), weight(), q0(), weight(), q0()), "operand 2 (X_scale) has shape [12]; want a scalar or [1]"},
		{microsoft("QLinearWhere", nil, val(ir.Bool, 3), q(), weight(), q0(), q(), weight(12), q0(), weight(), q0()), "operand 5 (Y_scale) has shape [12]; want a scalar or [1]"},
		{microsoft("QLinearWhere", nil, val(ir.Bool, 3), q(), weight(), q0(), q(), weight(), q0(), weight(12), q0()), "operand 7 (Z_scale) has shape [12]; want a scalar or [1]"},
		{microsoft("QLinearAveragePool", attrs("kernel_shape", ints(2), "channels_last", 1), val(ir.U8, 2, 3), weight(), q0(), weight(), q0()), "operand 0 has rank 2; want at least 3"},
		{microsoft("QGemm", nil, val(ir.U8, 2, 3), weight(), q0(), val(ir.I8, 3, 4), weight(), val(ir.I8), nil, weight()), "operand 8 (y_zero_point) is absent; want both or neither"},
		{microsoft("MatMulIntegerToFloat", nil, val(ir.U8, 2, 3), val(ir.I8, 3, 4), weight(4), weight()), "operand 2 (a_scale) has shape [4]; want a scalar or [1]"},
		{microsoft("QGemm", nil, val(ir.U8, 2, 3), weight(4), q0(), val(ir.I8, 3, 4), weight(), val(ir.I8)), "operand 1 (a_scale) has shape [4]; want a scalar or [1]"},
		{microsoft("QGemm", nil, val(ir.U8, 2, 3), weight(), q0(), val(ir.I8, 3, 4), weight(), val(ir.I8), nil, weight(4), q0()), "operand 7 (y_scale) has shape [4]; want a scalar or [1]"},
		{microsoft("QLinearAdd", nil, val(ir.U8, 2, 3), weight(3), q0(), val(ir.U8, 2, 3), weight(), q0(), weight(), q0()), "operand 1 (A_scale) has shape [3]; want a scalar or [1]"},
		{quantizedLSTM(weight(3), val(ir.I8, 2)), "W_scale: dimension 0 of operand 8: found 3 and 2"},
		{quantizedLSTM(weight(2, 12), val(ir.I8, 2, 11)), "W_zero_point: dimension 1 of operand 9: found 11 and 12"},
		{microsoft("FusedGemm", attrs("activation", "Silu"), f32(2, 3), f32(3, 4)), `attribute activation is "Silu"; supported are ["Clip" "Elu"`},
		{microsoft("FusedConv", attrs("activation", "Clip", "activation_params", []float32{1}), f32(2, 8, 9, 9), weight(16, 8, 3, 3)),
			"attribute activation is Clip, but attribute activation_params is absent"},
		{trained(), "results 1 and 2 (mean and inv_std_var, for training) are not supported"},
		{microsoft("EmbedLayerNormalization", nil, val(ir.I32, 2, 3), val(ir.I32, 2, 3), weight(9, 8), weight(7, 8), nil, weight(8), weight(8)),
			"only one of segment_ids and segment_embedding is present; want both or neither"},
		{microsoft("Attention", attrs("num_heads", 2), f32(2, 8), weight(8, 24)), "operand 0 (input) has shape [2 8]; want [batch, sequence, input]"},
		{microsoft("Attention", attrs("num_heads", 2, "do_rotary", 1), f32(2, 4, 8), weight(8, 24)), "attribute do_rotary is 1; supported is 0"},
		{microsoft("Attention", attrs("num_heads", 2, "qkv_hidden_sizes", ints(8, 8)), f32(2, 4, 8), weight(8, 24)), "attribute qkv_hidden_sizes has 2 numbers; want 3"},
		{microsoft("Attention", attrs("num_heads", 2), f32(2, 4, 8), weight(8, 24), nil, val(ir.I32, 4)), "operand 3 (mask_index) has shape [4]; want [2] or [2, 4] or [2, 4, 4]"},
		{microsoft("Attention", attrs("num_heads", 2), f32(2, 4, 8), weight(8, 24), nil, val(ir.I32, 2, 1, 4, 4)), "operand 3 (mask_index) has shape [2 1 4 4]; want [2] or [2, 4] or [2, 4, 4]"},
		{microsoft("Attention", attrs("num_heads", 2), f32(2, 4, 8), weight(8, 24), nil, nil, nil, nil, val(ir.I32, 1)), "operand 6 (past_sequence_length) is not supported"},
		{microsoft("MultiHeadAttention", attrs("num_heads", 2), f32(2, 4, 2, 3, 4)), "operands 1 and 2 (key and value) are absent; query, key and value packed"},
		{microsoft("MultiHeadAttention", attrs("num_heads", 2), f32(2, 4, 8), f32(2, 4, 8), f32(2, 2, 4, 4)), "(query, key and value) have ranks 3, 3 and 4"},
		{microsoft("MultiHeadAttention", attrs("num_heads", 2), f32(2, 4, 8), f32(2, 4, 8), f32(2, 4, 8), nil, nil, nil, f32(2, 2, 3, 4)), "only one of past_key and past_value is present; want both or neither"},
		{microsoft("MultiHeadAttention", attrs("num_heads", 2, "unidirectional", 1), f32(2, 3, 8), f32(2, 4, 8), f32(2, 4, 8)), "the number of queries and of keys outside the past: found 3 and 4"},
		{microsoft("MultiHeadAttention", attrs("num_heads", 2, "unidirectional", 1), f32(2, 3, 8), f32(2, 2, 4, 4), f32(2, 2, 4, 4)), "the number of queries and of keys outside the past: found 3 and 4"},
		{queryGroups(attrs("smooth_softmax", 1)), "attribute smooth_softmax is 1; supported is 0: export the model with the softmax as nodes of its own"},
		{queryGroups(nil, 11, weight(4)), "operand 11 (head_sink) is not supported; it must be absent: export"},
		{queryGroups(attrs("qk_output", 2)), "attribute qk_output is 2; supported is 0: export the model without the scores"},
		{scored(), "result 3 (output_qk) is not supported; supported are 0 to 2: export"},
		{queryGroups(attrs("sliding_window_cache", 1)), "attribute sliding_window_cache is 1; supported is 0: export the model with a cache of all keys"},
		{queryGroups(attrs("k_quant_type", "PER_TENSOR")), `attribute k_quant_type is "PER_TENSOR"; supported is "NONE": export the model with a cache of floats`},
		{queryGroups(attrs("kv_cache_bit_width", 4)), "attribute kv_cache_bit_width is 4; supported is 0: export the model with a cache of floats"},
		{queryGroups(nil, groupedPastKey, val(ir.I8, "N", 2, "P", 8)), "operand 3 (past_key) has type i8; supported is f32, the type of operand 0: export"},
		{queryGroups(nil, 12, weight()), "operand 12 (k_scale) is not supported"},
		{queryGroups(nil, 14, weight(8), 15, weight(8)), "operand 14 (q_norm_weight) is not supported; it must be absent: export the model for CPUs"},
		{queryGroups(attrs("causal", 0, "local_window_size", 3)), "attributes causal and local_window_size are 0 and 3; without causal, local_window_size must be -1"},
		{queryGroups(attrs("local_window_size", 0)), "attribute local_window_size is 0; want at least 1 key, or -1 for no window"},
		{queryGroups(attrs("causal", 2)), "attribute causal is 2; supported are 0 and 1"},
		{queryGroups(attrs("kv_num_heads", 3)), "attributes num_heads and kv_num_heads are 4 and 3; want a multiple"},
		{queryGroups(attrs("num_heads", 0)), "attribute num_heads is 0; want 1 to"},
		{queryGroups(nil, groupedQuery, f32("N", 32)), "operand 0 (query) has shape [N 32]; want [batch, sequence, _]"},
		{queryGroups(nil, groupedQuery, f32("N", "S", 30)), "operand 0 (query) has shape [N S 30]; want a constant last dimension, a multiple of its 4 heads"},
		{queryGroups(nil, groupedQuery, f32("N", "S", "H")), "operand 0 (query) has shape [N S H]; want a constant last dimension"},
		{queryGroups(nil, groupedKey, f32("N", "S", 8)), "dimension 2 of operand 1"},
		{queryGroups(nil, groupedValue, nil), "only one of key and value is present; want both or neither"},
		{queryGroups(nil, groupedPastKey, f32("N", "P", 16)), "operand 3 (past_key) has shape [N P 16]; want [N, _, past, _]"},
		{queryGroups(nil, groupedPastKey, f32("N", 2, 5, 8), groupedPastValue, f32("N", 2, 4, 8)), "operand 4 (past_value) has shape [N 2 4 8]; want [N, _, 5, _]"},
		{queryGroups(nil, groupedPastValue, nil), "only one of past_key and past_value is present; want both or neither"},
		{queryGroups(nil, groupedCos, nil), "only one of cos_cache and sin_cache is present; want both or neither"},
		{queryGroups(nil, groupedCos, nil, groupedSin, nil), "attribute do_rotary is 1, but operands 7 and 8 (cos_cache and sin_cache) are absent"},
		{queryGroups(nil, groupedCos, weight(200)), "operand 7 (cos_cache) has shape [200]; want [rows, half]"},
		{queryGroups(nil, groupedTotal, val(ir.I32, 2)), "operand 6 (total_sequence_length) has shape [2]; want a scalar or [1]"},
		{queryGroups(nil, groupedBias, f32("N", 3, "S", 7)), "operand 10 (attention_bias) has shape [N 3 S 7]; want rank 4, and 1 or 4 heads"},
		{gather("bits", 2), "attribute bits is 2; supported are 4 and 8"},
		{gather("block_size", 8), "attribute block_size is 8; want a power of two from 16 to"},
		{gather("gather_axis", 1), "attribute gather_axis is 1; supported is 0 for a table of type u8"},
		{gather("quantize_axis", 0), "attribute quantize_axis is 0 with operand 0 of rank 2; supported is the last axis"},
		{microsoft("QAttention", attrs("num_heads", 2, "do_rotary", 1), val(ir.U8, 2, 4, 8), val(ir.I8, 8, 24), weight(24), weight(), weight()), "attribute do_rotary is 1; supported is 0"},
		{microsoft("QAttention", attrs("num_heads", 2), val(ir.U8, 2, 4, 8), val(ir.I8, 8, 24), weight(24), weight(2), weight()), "operand 3 (input_scale) has shape [2]; want a scalar or [1]"},
		{microsoft("RotaryEmbedding", attrs("scale", 0.5), f32(2, 4, 8), i64(1), weight(50, 2), weight(50, 2)), "attribute scale is 0.5; supported is 1"},
		{microsoft("RotaryEmbedding", attrs("is_packed_batching", 1), f32(2, 4, 8), i64(1), weight(50, 2), weight(50, 2)), "attribute is_packed_batching is 1; supported is 0"},
		{microsoft("RotaryEmbedding", nil, f32(2, 4, 8), i64(3), weight(50, 2), weight(50, 2)), "operand 1 (position_ids) has shape [3]; want a scalar or [1] or [2, 4]"},
		{microsoft("RotaryEmbedding", nil, f32(2, 4, 8), i64(1), weight(50), weight(50)), "operand 2 (cos_cache) has shape [50]; want [rows, half]"},
	} {
		_, err := Expand(c.n, nil)
		require.ErrorContains(t, err, c.want)
	}
}
