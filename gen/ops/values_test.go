package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// TestLiterals reads elements of each kind of type from bytes.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		typ  ir.DType
		data []byte
		want te.Expr
	}{
		{ir.Bool, []byte{1}, te.Int(ir.Bool, 1)},
		{ir.I8, []byte{0xfe}, te.Int(ir.I8, -2)},
		{ir.U16, []byte{0xfe, 0xff}, te.Int(ir.U16, 0xfffe)},
		{ir.F32, []byte{0, 0, 0x80, 0xbf}, te.Float(ir.F32, -1)},
		{ir.F64, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, te.Float(ir.F64, 1)},
		{ir.BF16, []byte{0x80, 0x3f}, te.Float(ir.BF16, 1)},
		{ir.F16, []byte{0x00, 0xc0}, te.Float(ir.F16, -2)},
		{ir.F16, []byte{0x01, 0x00}, te.Float(ir.F16, math.Ldexp(1, -24))},
		{ir.F16, []byte{0x00, 0xfc}, te.Float(ir.F16, math.Inf(-1))},
		{ir.F16, []byte{0xff, 0x7b}, te.Float(ir.F16, 65504)},
	} {
		got, err := literals(&ir.Tensor{Type: c.typ, Shape: []int64{1}, Data: c.data})
		require.NoError(t, err)
		require.Equal(t, []te.Expr{c.want}, got)
	}
	nan, err := literals(&ir.Tensor{Type: ir.F16, Data: []byte{1, 0x7c}})
	require.NoError(t, err)
	require.True(t, math.IsNaN(math.Float64frombits(nan[0].(te.Const).Bits)))
	_, err = literals(&ir.Tensor{Type: ir.F32, Shape: []int64{2}, Data: []byte{1}})
	require.ErrorContains(t, err, "holds 1 bytes")
}

func TestConstantValue(t *testing.T) {
	for _, c := range []struct {
		at   ir.Attrs
		want string
		err  string
	}{
		{attrs("value_int", 7), "i64 []", ""},
		{attrs("value_ints", ints(7, 8)), "i64 [2]", ""},
		{attrs("value_float", 0.5), "f32 []", ""},
		{attrs("value_floats", []float32{1, 2, 3}), "f32 [3]", ""},
		{attrs("value", ir.NewTensor(ir.U8, 2, 2)), "u8 [2 2]", ""},
		{attrs(), "", "want exactly one value"},
		{attrs("value_int", 7, "value_float", 0.5), "", "want exactly one value"},
		{attrs("value", ir.NewTensor(ir.F32, 100, 100)), "", "make it an initializer"},
	} {
		n := node("Constant", c.at)
		m, err := Build(n, nil)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		s := m.Stages[0]
		require.Equal(t, c.want, fmt.Sprint(s.Results[0].DType(), " ", s.Shape()))
		v, err := ConstantValue(n)
		require.NoError(t, err)
		require.Equal(t, c.want, fmt.Sprint(v.Type, " ", v.Shape))
	}
}

// TestResults has nodes with several results, or with a type of their own.
func TestResults(t *testing.T) {
	value := ir.NewTensor(ir.F16, 1)
	value.Data[1] = 0x3c
	for _, c := range []struct {
		n    *ir.Node
		want []string
	}{
		{twoResults(node("MaxPool", attrs("kernel_shape", ints(2, 2), "pads", ints(1, 1, 0, 0)), f32("N", 3, 8, 8))), []string{"f32 [N 3 8 8]", "i64 [N 3 8 8]"}},
		{twoResults(node("LayerNormalization", attrs("axis", 1), val(ir.F16, "N", 4, 5), val(ir.F16, 5))), []string{"f16 [N 4 5]", "f32 [N 1 1]"}},
		{twoResults(node("Dropout", nil, f32("N"))), []string{"f32 [N]", "bool [N]"}},
		{node("Range", nil, num32(0), num32(1), num32(0.25)), []string{"f32 [4]"}},
		{node("Range", nil, num64(5), num64(0), num64(-2)), []string{"i64 [3]"}},
		{node("OneHot", nil, i64("N"), num32(4), f32(2)), []string{"f32 [N 4]"}},
		{node("ConstantOfShape", attrs("value", value), vec(2)), []string{"f16 [2]"}},
		{node("Shape", attrs("start", -2), f32("N", 3, "H")), []string{"i64 [2]"}},
		{node("EyeLike", attrs("dtype", 11), f32(3, 3)), []string{"f64 [3 3]"}},
		{node("Hardmax", nil, val(ir.BF16, "N", 3)), []string{"bf16 [N 3]"}},
		{node("ArgMin", attrs("keepdims", 0), f32("N", 3)), []string{"i64 [3]"}},
		{node("Pad", nil, f32(4), vec(1, 1), num32(2)), []string{"f32 [6]"}},
		{node("Pad", attrs("mode", "reflect"), f32(3), vec(7, 7)), []string{"f32 [17]"}},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err, c.n.Op)
		for i, want := range c.want {
			s := m.Stages[m.Outputs[i].N]
			require.Equal(t, want, fmt.Sprint(s.Results[m.Outputs[i].Part].DType(), " ", s.Shape()), c.n.Op)
		}
	}
}

// TestVerify: a meaning that does not fit its node is refused.
func TestVerify(t *testing.T) {
	n := node("Relu", nil, f32("N"))
	load := func(l te.Load) *Meaning { return one("x", axes(n.Inputs[0].Shape), l) }
	for _, c := range []struct {
		m    *Meaning
		want string
	}{
		{&Meaning{}, "the node has 1 results; the operator computes 0"},
		{load(te.Operand(0, ir.F32)), "a load of rank 0 from a tensor of rank 1"},
		{load(te.Operand(0, ir.F64, iv(0))), "a load of type f64 from a tensor of type f32"},
		{load(te.Operand(1, ir.F32, iv(0))), "a load from operand 1, which is absent"},
		{load(te.FromStage(0, ir.F32, iv(0))), "a load from stage 0"},
		{load(te.Load{Type: ir.F32, Index: te.AxisVars(axes(n.Inputs[0].Shape)), Guard: make([]te.Within, 1)}), "without a default"},
	} {
		require.ErrorContains(t, Verify(n, c.m, nil), c.want)
	}
}

func TestSupported(t *testing.T) {
	require.NoError(t, Supported("Relu", 14))
	require.ErrorContains(t, Supported("Relu", 99), "newer than the newest supported one, 14")
	require.EqualError(t, Supported("Frobnicate", 1), "the operator is not supported")
	require.NoError(t, Supported("RandomNormalLike", 1))
	require.Contains(t, Names(), "RandomNormalLike")
	require.Contains(t, Names(), "Relu")
	require.IsIncreasing(t, Names())
}

// TestRegionsNameImages: no index of an image counts from the end, as ONNX lets others do; negative ones are out of bounds.
func TestRegionsNameImages(t *testing.T) {
	for _, n := range []*ir.Node{
		node("RoiAlign", attrs("sampling_ratio", 2), f32(3, 1, 4, 4), f32(2, 4), i64(2)),
		node("MaxRoiPool", attrs("pooled_shape", ints(1, 1)), f32(3, 1, 4, 4), f32(2, 5)),
	} {
		m, err := Build(n, nil)
		require.NoError(t, err)
		found := 0
		EachExpr(m.Stages[len(m.Stages)-1], func(e te.Expr) {
			if l, ok := e.(te.Let); ok && l.Var == "g0" {
				found++
				te.Walk(l.Value, func(e te.Expr) {
					call, ok := e.(te.Call)
					require.False(t, ok && call.Fn != "cast", "%s: %s", n.Op, call.Fn)
				})
				require.True(t, l.Lo.Is(0) && l.Hi.Is(2), "%s: %s to %s", n.Op, l.Lo, l.Hi)
			}
		})
		require.Equal(t, 1, found, n.Op)
	}
}
