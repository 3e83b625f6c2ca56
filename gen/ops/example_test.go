package ops

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// val is a value of a shape whose dimensions are numbers or names of symbols.
func val(t ir.DType, dims ...any) *ir.Value {
	v := &ir.Value{Type: t, HasShape: true, Shape: ir.Shape{}}
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			v.Shape = append(v.Shape, sym.Const(int64(d)))
		case string:
			v.Shape = append(v.Shape, sym.Var(d))
		case sym.Expr:
			v.Shape = append(v.Shape, d)
		}
	}
	return v
}

func f32(dims ...any) *ir.Value { return val(ir.F32, dims...) }
func i64(dims ...any) *ir.Value { return val(ir.I64, dims...) }

// weight is a constant of zeros.
func weight(dims ...int64) *ir.Value { return ir.ConstValue("", ir.NewTensor(ir.F32, dims...)) }

// vec is a constant vector of integers, num64 a constant scalar.
func vec(xs ...int64) *ir.Value {
	return ir.ConstValue("", fill(ir.NewTensor(ir.I64, int64(len(xs))), xs))
}

func num64(x int64) *ir.Value { return ir.ConstValue("", fill(ir.NewTensor(ir.I64), []int64{x})) }

func num32(x float32) *ir.Value {
	t := ir.NewTensor(ir.F32)
	binary.LittleEndian.PutUint32(t.Data, math.Float32bits(x))
	return ir.ConstValue("", t)
}

// attrs are name, value, name, value...
func attrs(kv ...any) ir.Attrs {
	out := ir.Attrs{}
	for i := 0; i < len(kv); i += 2 {
		switch x := kv[i+1].(type) {
		case int:
			out[kv[i].(string)] = int64(x)
		case float64:
			out[kv[i].(string)] = float32(x)
		default:
			out[kv[i].(string)] = x
		}
	}
	return out
}

func ints(xs ...int64) []int64 { return xs }

// node applies an operator of the newest definition, with one result; values without
// a name are named by their places.
func node(op string, at ir.Attrs, in ...*ir.Value) *ir.Node {
	for i, v := range in {
		if v != nil && v.Name == "" {
			v.Name = fmt.Sprintf("x%d", i)
		}
	}
	return &ir.Node{Op: op, Name: "n", Inputs: in, Attrs: at, Outputs: []*ir.Value{{Name: "y"}}}
}

func (x example) outputs(n int) example {
	for len(x.n.Outputs) < n {
		x.n.Outputs = append(x.n.Outputs, &ir.Value{Name: fmt.Sprintf("y%d", len(x.n.Outputs))})
	}
	return x
}

// example is a typical node of an operator and what the classifications say of it.
type example struct {
	n       *ir.Node
	shape   string // of result 0
	mapping MappingType
	layout  string
}

var (
	variable, fixed     = "ILI & Variable", "ILI & Fixed"
	dependent, moveOnly = "ILD & Variable", "ILD & Fixed"
)

func examples() []example {
	var out []example
	for _, r := range unaryRows() {
		n := node(r.Name, nil, val(r.Inputs[0].Types[len(r.Inputs[0].Types)-1], "N", 8))
		switch r.Name {
		case "Cast":
			n.Attrs = attrs("to", 7)
		case "BitCast":
			n.Attrs = attrs("to", 13)
		case "CastLike":
			n.Inputs = append(n.Inputs, i64())
		}
		class := variable
		if r.Name == "Identity" {
			class = fixed
		}
		out = append(out, example{n, "[N 8]", OneToOne, class})
	}
	for _, r := range activationRows() {
		n := node(r.Name, nil, f32("N", 8))
		switch r.Name {
		case "PRelu":
			n.Inputs = append(n.Inputs, weight(8))
		case "Clip":
			n.Inputs = append(n.Inputs, num32(0), num32(6))
		case "SwiGLU":
			n.Inputs = append(n.Inputs, f32("N", 8))
		}
		out = append(out, example{n, "[N 8]", OneToOne, variable})
	}
	for _, r := range binaryRows() {
		var in []*ir.Value
		for _, p := range r.Inputs {
			if p.Until == 0 {
				in = append(in, val(p.Types[len(p.Types)-1], "N", 8))
			}
		}
		if r.Name == "Mod" {
			in = []*ir.Value{i64("N", 8), i64("N", 8)}
		}
		if len(in) == 1 { // any number of operands
			in = append(in, val(in[0].Type, "N", 8))
		}
		n := node(r.Name, nil, in...)
		if r.Name == "BitShift" {
			n.Attrs = attrs("direction", "LEFT")
		}
		out = append(out, example{n, "[N 8]", OneToOne, variable})
	}
	for _, r := range reduceRows() {
		n := node(r.Name, nil, f32("N", 4, 6))
		shape := "[N 1 6]"
		if len(r.Inputs) > 1 {
			n.Inputs, n.Attrs, shape = append(n.Inputs, vec(1)), attrs("keepdims", 0), "[N 6]"
		} else {
			n.Attrs = attrs("axis", 1)
		}
		out = append(out, example{n, shape, ManyToMany, dependent})
	}
	for _, r := range softmaxRows() {
		out = append(out, example{node(r.Name, nil, f32("N", 10)), "[N 10]", ManyToMany, dependent})
	}
	out = append(out, resizeExamples()...)
	out = append(out, einsumExamples()...)
	out = append(out, regionExamples()...)
	out = append(out, signalExamples()...)
	out = append(out, controlExamples()...)
	out = append(out, recurrentExamples()...)
	out = append(out, opaqueExamples()...)
	return append(out, others()...)
}

func others() []example {
	x := func() *ir.Value { return f32("N", 8, 10, 12) }
	window := func(kv ...any) ir.Attrs { return attrs(append(kv, "kernel_shape", ints(3, 3))...) }
	scale, bias := weight(8), weight(8)
	return []example{
		{node("Conv", attrs("pads", ints(1, 1, 1, 1)), x(), weight(16, 8, 3, 3), weight(16)), "[N 16 10 12]", ManyToMany, dependent},
		{node("ConvTranspose", attrs("strides", ints(2, 2)), x(), weight(8, 4, 2, 2), weight(4)), "[N 4 20 24]", ManyToMany, dependent},
		{node("MaxPool", window(), x()), "[N 8 8 10]", ManyToMany, dependent},
		{node("AveragePool", window("strides", ints(2, 2)), x()), "[N 8 4 5]", ManyToMany, dependent},
		{node("LpPool", window("auto_pad", "SAME_UPPER"), x()), "[N 8 10 12]", ManyToMany, dependent},
		{node("GlobalAveragePool", nil, x()), "[N 8 1 1]", ManyToMany, dependent},
		{node("GlobalMaxPool", nil, x()), "[N 8 1 1]", ManyToMany, dependent},
		{node("GlobalLpPool", nil, x()), "[N 8 1 1]", ManyToMany, dependent},
		{node("Gemm", attrs("transB", 1), f32("N", 64), weight(10, 64), weight(10)), "[N 10]", ManyToMany, dependent},
		{node("MatMul", nil, f32("N", 12, 7, 64), f32("N", 12, 64, 7)), "[N 12 7 7]", ManyToMany, dependent},
		{node("QuantizeLinear", nil, x(), weight(8), val(ir.I8, 8)), "[N 8 10 12]", OneToMany, variable},
		{node("DequantizeLinear", attrs("block_size", 4), val(ir.U8, 8, 10), f32(8, 3)), "[8 10]", OneToMany, variable},
		example{node("DynamicQuantizeLinear", nil, x()), "[N 8 10 12]", ManyToMany, dependent}.outputs(3),
		{node("ConvInteger", attrs("pads", ints(1, 1, 1, 1)), val(ir.U8, "N", 8, 10, 12), val(ir.I8, 16, 8, 3, 3), val(ir.U8), val(ir.I8, 16)), "[N 16 10 12]", ManyToMany, dependent},
		{node("MatMulInteger", nil, val(ir.U8, "N", 64), val(ir.I8, 64, 10), val(ir.U8, "N"), val(ir.I8, 10)), "[N 10]", ManyToMany, dependent},
		{node("QLinearConv", nil, val(ir.U8, "N", 8, 10, 12), weight(), val(ir.U8), val(ir.I8, 16, 8, 3, 3), weight(16), val(ir.I8, 16), weight(), val(ir.U8), val(ir.I32, 16)),
			"[N 16 8 10]", ManyToMany, dependent},
		{node("QLinearMatMul", nil, val(ir.U8, "N", 64), weight(), val(ir.U8), val(ir.I8, 64, 10), weight(10), val(ir.I8, 10), weight(), val(ir.I8)), "[N 10]", ManyToMany, dependent},
		{n: microsoft("QLinearAdd", nil, q(), weight(), q0(), q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearMul", nil, q(), weight(), nil, q(), weight(), nil, weight())},
		{n: microsoft("QLinearAveragePool", attrs("kernel_shape", ints(2, 2), "channels_last", 1), q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearGlobalAveragePool", nil, q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearLeakyRelu", attrs("alpha", 0.2), q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearReduceMean", attrs("axes", ints(2, 3), "keepdims", 1), q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearSigmoid", nil, q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearSoftmax", attrs("opset", 11, "axis", 1), q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QLinearConcat", attrs("axis", 1), weight(), q0(), q(), weight(), q0(), q(), weight(), q0())},
		{n: microsoft("QLinearWhere", nil, val(ir.Bool, "N", 1, 1, 12), q(), weight(), q0(), q(), weight(), q0(), weight(), q0())},
		{n: microsoft("QGemm", attrs("transB", 1), val(ir.U8, "N", 64), weight(), q0(), val(ir.I8, 10, 64), weight(10), val(ir.I8, 10), val(ir.I32, 10), weight(), q0())},
		{n: microsoft("MatMulIntegerToFloat", nil, val(ir.U8, "N", 64), val(ir.I8, 64, 10), weight(), weight(10))},
		{n: microsoft("DynamicQuantizeMatMul", nil, f32("N", 64), val(ir.I8, 64, 10), weight())},
		{n: microsoft("MatMulNBits", attrs("K", 48, "N", 10, "block_size", 32, "bits", 4), f32("N", 48), val(ir.U8, 10, 2, 16), weight(20))},
		{n: microsoft("Gelu", nil, x())},
		{n: microsoft("BiasGelu", nil, x(), weight(12))},
		{n: microsoft("FastGelu", nil, x(), weight(12))},
		{n: microsoft("QuickGelu", attrs("alpha", 1.5), x())},
		{n: microsoft("FusedMatMul", attrs("transB", 1), f32("N", 64), weight(10, 64))},
		{n: microsoft("FusedGemm", attrs("activation", "Relu"), f32("N", 64), weight(64, 10), weight(10))},
		{n: microsoft("FusedConv", attrs("activation", "Relu"), x(), weight(16, 8, 3, 3), weight(16), f32("N", 16, 8, 10))},
		{n: microsoft("SkipLayerNormalization", nil, f32("N", "S", 8), f32("N", "S", 8), scale, bias, weight(8))},
		{n: microsoft("SkipSimplifiedLayerNormalization", nil, f32("N", "S", 8), f32("N", "S", 8), scale)},
		{n: microsoft("EmbedLayerNormalization", nil, val(ir.I32, "N", "S"), nil, weight(9, 8), weight(7, 8), nil, scale, bias)},
		{n: microsoft("Attention", attrs("num_heads", 2), f32("N", "S", 8), weight(8, 24), weight(24), val(ir.I32, "N", "S"))},
		{n: microsoft("MultiHeadAttention", attrs("num_heads", 2), f32("N", "S", 8), f32("N", "T", 8), f32("N", "T", 6), weight(22), val(ir.I32, "N", "T"))},
		{n: queryGroups(nil, groupedQuery, f32("N", "S", 32))},
		{n: microsoft("GatherBlockQuantized", attrs("block_size", 16), val(ir.U8, 9, 16), i64("N"), weight(9, 2))},
		{n: microsoft("QAttention", attrs("num_heads", 2), val(ir.U8, "N", "S", 8), val(ir.I8, 8, 24), weight(24), weight(), weight())},
		{n: microsoft("RotaryEmbedding", nil, f32("N", "S", 8), i64(1), weight(50, 2), weight(50, 2))},
		{n: quantizedLSTM(weight(2), val(ir.I8, 2))},
		{node("Attention", attrs("q_num_heads", 4, "kv_num_heads", 2, "is_causal", 1), f32("N", "S", 32), f32("N", "T", 16), f32("N", "T", 24)), "[N S 48]", ManyToMany, dependent},
		{node("TensorScatter", nil, f32("N", 2, 10, 8), f32("N", 2, 3, 8), i64("N")), "[N 2 10 8]", OneToMany, fixed},
		{node("BatchNormalization", nil, x(), scale, bias, weight(8), weight(8)), "[N 8 10 12]", OneToOne, variable},
		{node("InstanceNormalization", nil, x(), scale, bias), "[N 8 10 12]", ManyToMany, dependent},
		{node("GroupNormalization", attrs("num_groups", 2), x(), scale, bias), "[N 8 10 12]", ManyToMany, dependent},
		{node("LayerNormalization", nil, f32("N", 8), scale, bias), "[N 8]", ManyToMany, dependent},
		{node("RMSNormalization", nil, f32("N", 8), scale), "[N 8]", ManyToMany, dependent},
		{node("MeanVarianceNormalization", nil, x()), "[N 8 10 12]", ManyToMany, dependent},
		{node("LpNormalization", nil, f32("N", 8)), "[N 8]", ManyToMany, dependent},
		{node("LRN", attrs("size", 5), x()), "[N 8 10 12]", ManyToMany, dependent},
		{node("NegativeLogLikelihoodLoss", attrs("reduction", "none"), x(), i64("N", 10, 12), weight(8)), "[N 10 12]", OneToMany, variable},
		example{node("SoftmaxCrossEntropyLoss", nil, x(), i64("N", 10, 12), weight(8)), "[]", ManyToMany, dependent}.outputs(2),
		{node("Reshape", nil, x(), vec(0, 8, -1)), "[N 8 120]", Reorganize, moveOnly},
		{node("Flatten", nil, x()), "[N 960]", Reorganize, moveOnly},
		{node("Squeeze", nil, f32("N", 1, 8), vec(1)), "[N 8]", Reorganize, moveOnly},
		{node("Unsqueeze", nil, f32("N", 8), vec(1)), "[N 1 8]", Reorganize, moveOnly},
		{node("Transpose", attrs("perm", ints(0, 2, 3, 1)), x()), "[N 10 12 8]", Shuffle, moveOnly},
		{node("DepthToSpace", attrs("blocksize", 2), x()), "[N 2 20 24]", Shuffle, moveOnly},
		{node("SpaceToDepth", attrs("blocksize", 2), x()), "[N 32 5 6]", Shuffle, moveOnly},
		{node("Concat", attrs("axis", 1), x(), f32("N", 4, 10, 12)), "[N 12 10 12]", OneToOne, fixed},
		example{node("Split", attrs("axis", 1), x()), "[N 4 10 12]", OneToOne, fixed}.outputs(2),
		{node("Slice", nil, x(), vec(1), vec(9), vec(2), vec(2)), "[N 8 4 12]", OneToOne, fixed},
		{node("Pad", nil, x(), vec(0, 0, 1, 1, 0, 0, 1, 1)), "[N 8 12 14]", OneToOne, fixed},
		{node("Expand", nil, f32("N", 1, 8), vec(1, 4, 8)), "[N 4 8]", OneToMany, fixed},
		{node("Tile", nil, f32("N", 8), vec(1, 3)), "[N 24]", OneToMany, fixed},
		{node("Trilu", nil, f32("N", 8, 8)), "[N 8 8]", OneToOne, fixed},
		{node("Gather", nil, f32(100, 8), i64("N", 5)), "[N 5 8]", OneToMany, fixed},
		{node("GatherElements", nil, f32(100, 8), i64(5, 8)), "[5 8]", OneToMany, fixed},
		{node("Scatter", nil, f32(100, 8), i64(5, 8), f32(5, 8)), "[100 8]", ManyToMany, dependent},
		{node("ScatterElements", nil, f32(100, 8), i64(5, 8), f32(5, 8)), "[100 8]", ManyToMany, dependent},
		{node("ScatterND", nil, f32(100, 8), i64(5, 1), f32(5, 8)), "[100 8]", ManyToMany, dependent},
		{node("CumSum", nil, f32("N", 8), vec(1)), "[N 8]", ManyToMany, dependent},
		{node("CumProd", nil, f32("N", 8), vec(1)), "[N 8]", ManyToMany, dependent},
		{node("GatherND", nil, f32(100, 8), i64("N", 1)), "[N 8]", OneToMany, fixed},
		{node("OneHot", nil, i64("N"), num64(10), f32(2)), "[N 10]", OneToMany, variable},
		{node("Shape", nil, x()), "[4]", Unread, variable},
		{node("Size", nil, x()), "[]", Unread, variable},
		{node("ConstantOfShape", nil, vec(2, 3)), "[2 3]", Unread, variable},
		{node("EyeLike", nil, f32("N", 8)), "[N 8]", Unread, variable},
		{node("Range", nil, num64(0), num64(10), num64(3)), "[4]", Unread, variable},
		{node("Dropout", nil, f32("N", 8)), "[N 8]", OneToOne, fixed},
		{node("Constant", attrs("value_ints", ints(1, 2, 3))), "[3]", Unread, variable},
	}
}

// queryGroups is a GroupQueryAttention of 4 heads that share 2, of size 8, with more attributes and with other operands: a number, a value...
func queryGroups(at ir.Attrs, others ...any) *ir.Node {
	all := attrs("num_heads", 4, "kv_num_heads", 2, "do_rotary", 1)
	maps.Copy(all, at)
	cache := f32("N", 2, "P", 8)
	in := []*ir.Value{f32("N", "S", 32), f32("N", "S", 16), f32("N", "S", 16), cache, cache, val(ir.I32, "N"), ir.ConstValue("", &ir.Tensor{Type: ir.I32, Data: []byte{7, 0, 0, 0}}), weight(50, 4), weight(50, 4)}
	for i := 0; i < len(others); i += 2 {
		in = append(in, make([]*ir.Value, max(0, others[i].(int)+1-len(in)))...)
		in[others[i].(int)], _ = others[i+1].(*ir.Value)
	}
	return microsoft("GroupQueryAttention", all, in...)
}

// microsoft is a node of ONNX Runtime's own operator, of quantized tensors q with zero points q0.
func microsoft(op string, at ir.Attrs, in ...*ir.Value) *ir.Node {
	return node(Microsoft+op, at, in...)
}

func q() *ir.Value  { return val(ir.U8, "N", 8, 10, 12) }
func q0() *ir.Value { return val(ir.U8) }

// TestExamples walks the table: each row has an example, whose shape and derived
// columns are as stated.
func TestExamples(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range examples() {
		seen[x.n.Op] = true
		t.Run(x.n.Op, func(t *testing.T) {
			m, err := Build(x.n, nil)
			switch Lookup(x.n.Op).Form {
			case Control:
				require.ErrorContains(t, err, "the operator runs regions")
				return
			case Composition:
				require.ErrorContains(t, err, "stands for others")
				e, err := Expand(x.n, nil)
				require.NoError(t, err)
				require.Len(t, e.Graph.Outputs, len(x.n.Outputs))
				return
			}
			require.NoError(t, err)
			if m.Call != nil {
				require.Len(t, m.Call.Results, len(x.n.Outputs))
				require.Equal(t, x.shape, fmt.Sprint(m.Call.Results[0].Shape))
			} else {
				require.Len(t, m.Outputs, len(x.n.Outputs))
				require.Equal(t, x.shape, fmt.Sprint(m.Stages[m.Outputs[0].N].Shape()))
			}
			require.Equal(t, x.mapping.String(), NodeMapping(x.n, m).String())
			require.Equal(t, x.layout, LayoutClassOf(x.n, m).String())
			_, err = DynamismOf(x.n, nil)
			require.NoError(t, err)
			require.False(t, FLOPs(m).Overflow())
		})
	}
	for _, r := range Table() {
		require.True(t, seen[r.Name], "no example of %s: add one", r.Name)
	}
}
