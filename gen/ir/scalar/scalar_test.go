package scalar

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rules_dnn/gen/ir"
)

func TestHalvesAgreeWithTheirDefinition(t *testing.T) {
	for h := range 1 << 16 {
		f, b := F16ToF32(uint16(h)), BF16ToF32(uint16(h))
		if f != f {
			assert.NotZero(t, h&0x3ff)
		} else {
			require.Equal(t, ir.F16Float(uint16(h)), float64(f))
			require.Equal(t, uint16(h), F32ToF16(f))
		}
		if b == b {
			require.Equal(t, ir.BF16Float(uint16(h)), float64(b))
			require.Equal(t, uint16(h), F32ToBF16(b))
		}
	}
	for _, x := range samples(10007) {
		if x == x {
			require.Equal(t, ir.F16Bits(float64(x)), F32ToF16(x), "%x", x)
			require.Equal(t, ir.BF16Bits(float64(x)), F32ToBF16(x), "%x", x)
		}
	}
}

func TestCastRoundsOnce(t *testing.T) {
	// Just above the middle of 1 and the next half: a float32 between loses the difference.
	x := []float64{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 1 + 0x1p-8 + 0x1p-40, 0x1p-25 + 0x1p-60, 0x1p-25}
	for to, want := range map[ir.DType][]float32{
		ir.F16:  {1 + 0x1p-10, 1, 1 + 0x1p-8, 0x1p-24, 0},
		ir.BF16: {1, 1, 1 + 0x1p-7, 0x1p-25, 0x1p-25},
	} {
		f, err := Bind("cast", to, []ir.DType{ir.F64})
		require.NoError(t, err)
		got := make([]float32, len(x))
		f(&Vec{F32: got}, []*Vec{{F64: x}})
		assert.Equal(t, want, got, "%s", to)
	}
}

func TestCastOfFloatsSaturates(t *testing.T) {
	x := []float32{1.9, -1.9, 300, -300, inf32, -inf32, qnan, -0.5, 1e20}
	for to, want := range map[ir.DType][]int64{
		ir.I8:   {1, -1, 127, -128, 127, -128, 0, 0, 127},
		ir.U8:   {1, 0, 255, 0, 255, 0, 0, 0, 255},
		ir.I64:  {1, -1, 300, -300, math.MaxInt64, math.MinInt64, 0, 0, math.MaxInt64},
		ir.U64:  {1, 0, 300, 0, -1, 0, 0, 0, -1},
		ir.Bool: {1, 1, 1, 1, 1, 1, 1, 1, 1},
	} {
		f, err := Bind("cast", to, []ir.DType{ir.F32})
		require.NoError(t, err)
		got := make([]int64, len(x))
		f(&Vec{I64: got}, []*Vec{{F32: x}})
		assert.Equal(t, want, got, "%s", to)
	}
}

func TestIntegersWrapAndNeverTrap(t *testing.T) {
	for _, c := range []struct {
		fn   string
		t    ir.DType
		a, b int64
		want int64
	}{
		{"add", ir.I8, 127, 1, -128},
		{"add", ir.U8, 255, 1, 0},
		{"sub", ir.U16, 0, 1, 65535},
		{"mul", ir.I32, 1 << 20, 1 << 12, 0},
		{"div", ir.I32, -7, 2, -3},
		{"div", ir.I64, math.MinInt64, -1, math.MinInt64},
		{"div", ir.I8, -128, -1, -128},
		{"div", ir.I64, 5, 0, 0},
		{"div", ir.U64, -1, 2, math.MaxInt64},
		{"mod", ir.I32, -7, 3, 2},
		{"mod", ir.I32, 7, -3, -2},
		{"fmod", ir.I32, -7, 3, -1},
		{"max", ir.U64, -1, 1, -1},
		{"max", ir.I64, -1, 1, 1},
		{"pow", ir.I64, 3, 4, 81},
		{"pow", ir.I64, 2, -1, 0},
		{"pow", ir.I64, -1, -3, -1},
		{"shl", ir.U8, 1, 8, 0},
		{"shl", ir.U8, 129, 1, 2},
		{"shr", ir.I8, -128, 200, -1},
		{"shr", ir.U64, math.MinInt64, 63, 1},
	} {
		f, err := Bind(c.fn, c.t, []ir.DType{c.t, c.t})
		require.NoError(t, err)
		got := []int64{0}
		f(&Vec{I64: got}, []*Vec{{I64: []int64{c.a}}, {I64: []int64{c.b}}})
		assert.Equal(t, c.want, got[0], "%s of %s %d, %d", c.fn, c.t, c.a, c.b)
	}
}

func TestHalfIsRoundedAfterEveryFunction(t *testing.T) {
	f, err := Bind("add", ir.F16, []ir.DType{ir.F16, ir.F16})
	require.NoError(t, err)
	got := []float32{0, 0}
	f(&Vec{F32: got}, []*Vec{{F32: []float32{2048, 65504}}, {F32: []float32{1, 32}}})
	assert.Equal(t, []float32{2048, inf32}, got)
}

func TestMinAndMaxPropagateNaN(t *testing.T) {
	for _, x := range [][2]float32{{qnan, 1}, {1, qnan}} {
		assert.True(t, math.IsNaN(float64(greater(x[0], x[1]))))
		assert.True(t, math.IsNaN(float64(lesser(x[0], x[1]))))
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		fn     string
		result ir.DType
		args   []ir.DType
		want   string
	}{
		{"frobnicate", ir.F32, nil, `no scalar function "frobnicate"`},
		{"add", ir.F32, []ir.DType{ir.F32}, `"add" takes 2 arguments, not 1`},
		{"add", ir.F32, []ir.DType{ir.F32, ir.F64}, "one type, found (f32, f64)"},
		{"add", ir.I32, []ir.DType{ir.F32, ir.F32}, "scalar function \"add\" of (f32, f32) returns f32, not i32"},
		{"exp", ir.I32, []ir.DType{ir.I32}, "takes float, not i32"},
		{"lt", ir.F32, []ir.DType{ir.F32, ir.F32}, "scalar function \"lt\" of (f32, f32) returns bool, not f32"},
		{"select", ir.F32, []ir.DType{ir.F32, ir.F32, ir.F32}, "wants bool first, found f32"},
		{"cast", ir.Invalid, []ir.DType{ir.F32}, "scalar function \"cast\" cannot return invalid"},
		{"bits", ir.Bool, []ir.DType{ir.I8}, "scalar function \"bits\" cannot return bool"},
		{"bits", ir.I32, []ir.DType{ir.F64}, "types of one size, f16 and bf16 apart, found f64 and i32"},
		{"bits", ir.I16, []ir.DType{ir.F16}, "types of one size, f16 and bf16 apart, found f16 and i16"},
	} {
		assert.ErrorContains(t, Check(c.fn, c.result, c.args), c.want)
	}
	assert.NoError(t, Check("cast", ir.I8, []ir.DType{ir.F16}))
	_, err := ResultType("cast", []ir.DType{ir.F32})
	assert.ErrorContains(t, err, "does not follow")
}

func TestTextOfEachType(t *testing.T) {
	for _, c := range []struct {
		fn   string
		t    ir.DType
		args []string
		want string
	}{
		{"add", ir.F32, []string{"a", "1.0f"}, "(a + 1.0f)"},
		{"add", ir.BF16, []string{"a", "b"}, "(a + b)"},
		{"add", ir.I8, []string{"a", "b"}, "dnn_math::iadd<int8_t>(a, b)"},
		{"bitor", ir.U8, []string{"a", "b"}, "(uint8_t)(a | b)"},
		{"bitor", ir.U64, []string{"a", "b"}, "(a | b)"},
		{"exp", ir.F32, []string{"x"}, "dnn_math::exp(x)"},
		{"exp", ir.F64, []string{"x"}, "__builtin_exp(x)"},
		{"lt", ir.Bool, []string{"a", "b"}, "(a < b)"},
		{"select", ir.I8, []string{"c", "a", "b"}, "(c ? a : b)"},
		{"cast", ir.F16, []string{"x"}, "dnn_math::round_f16(x)"},
		{"cast", ir.U8, []string{"x"}, "dnn_math::cast<uint8_t>(x)"},
		{"cast", ir.Bool, []string{"x"}, "(x != 0)"},
	} {
		assert.Equal(t, c.want, Lookup(c.fn).C(c.t, c.args))
	}
}
