package instr

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

func TestRowsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Table() {
		t.Run(r.Name, func(t *testing.T) {
			assert.False(t, names[r.Name], "another row has the name")
			names[r.Name] = true
			assert.Same(t, r, Lookup(r.Name))
			assert.NotEmpty(t, r.CPU)
			assert.Contains(t, []int64{2, 4, 8, 16, 32, 64, 128}, r.Lanes)
			size := int64(r.Acc.Size()) / r.PerSum()
			switch {
			case r.Blocks:
				size *= 2
			case r.WidensHalves():
				size /= 2
			case r.Down > 0:
				size *= 4
			}
			assert.Equal(t, size, r.Group*int64(r.W.Size()), "registers of W and of accumulators have one size, or, of blocks, there are two of W, four of what items compute together, and half of one of what widens")
			assert.Equal(t, r.Down > 0, r.Across > 0)
			assert.Equal(t, r.X.Size(), r.W.Size())
			assert.Positive(t, r.Ops)
			assert.Positive(t, r.Latency)
			assert.Equal(t, r.Acc, r.Meaning.DType())
			require.NotEmpty(t, r.Broadcast)
			assert.NotEqual(t, Lane, r.Broadcast[len(r.Broadcast)-1], "something must do where X has no neighbours")
			assert.False(t, r.Allows(Vector) && contains(r.Broadcast, Vector), "a vector is no broadcast")
			assert.Equal(t, texts[r.Name], r.Text(dialects[r.CPU], "acc", "x[0]", "b1"))
			assert.Empty(t, r.Text("no dialect", "a", "x", "w"))
		})
	}
	assert.Nil(t, Lookup("fma"))
}

// dialects have the rows of each cpu.
var dialects = map[string]string{"x86_64": "cpp", "arm64": "cpp", "hexagon": "hvx", "opencl": "opencl"}

const (
	gnu  = "acc += x[0] * b1;"
	madd = "acc = dnn_maddwd(acc, x[0], b1);"
)

var texts = map[string]string{
	"muladd_f32x4": gnu, "fma_f32x8": gnu, "fma_f32x16": gnu, "fma_f32x4": gnu, "fma_f32x4_halves": gnu, "fma_f16x8": gnu,
	"pmaddwd_i16x4": madd, "pmaddwd_i16x8": madd, "pmaddwd_i16x16": madd,
	"vpdpbusd_u8i8x8": "acc = dnn_dpbusd(acc, x[0], b1);", "vpdpbusd_u8i8x16": "acc = dnn_dpbusd(acc, x[0], b1);",
	"vpdpbusd_i8u8x8": "acc = dnn_dpbusd(acc, b1, x[0]);", "vpdpbusd_i8u8x16": "acc = dnn_dpbusd(acc, b1, x[0]);",
	"tdpbusd_u8i8x16": "dnn_amx_tdpbusd<acc, x[0], b1>(tiles);", "tdpbsud_i8u8x16": "dnn_amx_tdpbsud<acc, x[0], b1>(tiles);",
	"tdpbssd_i8i8x16": "dnn_amx_tdpbssd<acc, x[0], b1>(tiles);", "tdpbuud_u8u8x16": "dnn_amx_tdpbuud<acc, x[0], b1>(tiles);",
	"vdpbf16ps_x16": "acc = dnn_dpbf16(acc, x[0], b1);", "tdpbf16ps_x16": "dnn_amx_tdpbf16ps<acc, x[0], b1>(tiles);",
	"smull_i8x4": "acc = dnn_smull(acc, b1, x[0]);", "umull_u8x4": "acc = dnn_umull(acc, b1, x[0]);",
	"fmlal_f16x4": "acc = dnn_fmlal(acc, b1, x[0]);",
	"bfdot_x4":    "acc = dnn_bfdot(acc, b1, x[0]);",
	"bfmmla_x4":   "acc = dnn_bfmmla(acc, x[0], b1);",
	"sdot_i8x4":   "acc = dnn_sdot(acc, b1, x[0]);", "udot_u8x4": "acc = dnn_udot(acc, b1, x[0]);",
	"smmla_i8x4": "acc = dnn_smmla(acc, x[0], b1);", "ummla_u8x4": "acc = dnn_ummla(acc, x[0], b1);", "usmmla_u8i8x4": "acc = dnn_usmmla(acc, x[0], b1);",
	"mma_f16x2":  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 acc, x[0], b1, acc;",
	"mad_f32x4":  "acc = mad(x[0], b1, acc);",
	"vrmpy_i8u8": "acc = Q6_Vw_vrmpyacc_VwVubRb(acc, b1, x[0]);",
	"vrmpy_u8i8": "acc = Q6_Vw_vrmpyacc_VwVubVb(acc, x[0], b1);",
	"vrmpy_i8i8": "acc = Q6_Vw_vrmpyacc_VwVbVb(acc, x[0], b1);",
	"vmpa_i8u8":  "acc = Q6_Wh_vmpaacc_WhWubRb(acc, b1, x[0]);",
	"vmpy_i8u8":  "acc = Q6_Wh_vmpyacc_WhVubRb(acc, b1, x[0]);",
}

func contains(list []Operand, o Operand) bool {
	for _, x := range list {
		if x == o {
			return true
		}
	}
	return false
}

// eval is an expression's value by package scalar.
func eval(t *testing.T, e te.Expr, leaves func(te.Expr) *scalar.Vec) *scalar.Vec {
	y, ok := e.(te.Call)
	if !ok {
		return leaves(e)
	}
	var args []*scalar.Vec
	var types []ir.DType
	for _, a := range y.Args {
		args = append(args, eval(t, a, leaves))
		types = append(types, a.DType())
	}
	f, err := scalar.Bind(y.Fn, y.Type, types)
	require.NoError(t, err)
	out := &scalar.Vec{F32: make([]float32, 1), I64: make([]int64, 1)}
	f(out, args)
	return out
}

// meaning is a row's Meaning of numbers.
func meaning(t *testing.T, r *Row, acc, x, w float64) float64 {
	out := eval(t, r.Meaning, func(e te.Expr) *scalar.Vec {
		v := acc
		if in, ok := e.(te.In); ok {
			assert.Equal(t, []ir.DType{r.X, r.W}[in.N], in.Type)
			v = []float64{x, w}[in.N]
		}
		return &scalar.Vec{F32: []float32{float32(v)}, I64: []int64{int64(v)}}
	})
	if r.Acc.IsFloat() {
		return float64(out.F32[0])
	}
	return float64(out.I64[0])
}

// TestMeaning: the accumulator plus the product of X and W, to within the rounding of the product.
func TestMeaning(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, r := range Table() {
		assert.Equal(t, 17.0, meaning(t, r, 2, 3, 5), r.Name)
		if !r.Acc.IsFloat() {
			assert.Equal(t, float64(math.MinInt32)+5, meaning(t, r, math.MaxInt32, 2, 3), "%s wraps", r.Name)
			continue
		}
		for range 1000 {
			acc, x, w := random.Float32()-0.5, random.Float32()-0.5, random.Float32()-0.5
			want, unit := float64(acc)+float64(x)*float64(w), math.Ldexp(1, -24)
			if r.InHalves() {
				unit = math.Ldexp(1, -11)
			}
			assert.InDelta(t, want, meaning(t, r, float64(acc), float64(x), float64(w)), unit, r.Name)
		}
	}
}

func TestBroadcaster(t *testing.T) {
	for _, c := range []struct {
		row   string
		steps int64
		want  Operand
	}{
		{"fma_f32x4", 8, Lane},
		{"fma_f32x4", 7, Register},
		{"fma_f32x4", 0, Register},
		{"fma_f32x8", 8, Register},
		{"fma_f32x16", 16, Memory},
		{"muladd_f32x4", 8, Register},
		{"vrmpy_i8u8", 8, Scalar},
	} {
		assert.Equal(t, c.want, Lookup(c.row).Broadcaster(c.steps), "%s, %d neighbours", c.row, c.steps)
	}
}

func TestRegistersAndLoads(t *testing.T) {
	for _, c := range []struct {
		row           string
		x             Operand
		rows, vectors int64
		registers     int64
		loads, instrs float64
	}{
		{"fma_f32x8", Register, 6, 2, 12 + 2 + 1 + 1, 8, 8},
		{"fma_f32x8", Vector, 14, 1, 14 + 1 + 1, 15, 1},
		{"fma_f32x16", Memory, 31, 1, 31 + 1, 32, 1},
		{"fma_f32x16", Memory, 14, 2, 28 + 2 + 1, 16, 16},
		{"fma_f32x4", Lane, 6, 4, 24 + 6 + 2, 5.5, 5.5},
		{"fma_f32x4", Register, 5, 4, 20 + 5 + 2, 9, 9},
		{"fma_f32x4_halves", Lane, 9, 2, 18 + 2 + 9 + 2, 4.25, 8.5},
		{"fma_f32x4", Vector, 9, 2, 18 + 2 + 9 + 2, 20, 20},
		{"vrmpy_i8u8", Scalar, 7, 4, 28 + 4, 11, 11},
		{"vrmpy_u8i8", Register, 7, 3, 21 + 3 + 1 + 1, 10, 17},
		{"tdpbusd_u8i8x16", Memory, 32, 2, 2*2 + 2 + 2, 34, 34},
		{"tdpbusd_u8i8x16", Memory, 17, 2, 2*2 + 2 + 2, 19, 19},
		{"smmla_i8x4", Register, 6, 2, 12 + 4 + 3 + 1, 10, 10},
		{"smmla_i8x4", Register, 5, 2, 12 + 4 + 3 + 1, 9, 9},
	} {
		r := Lookup(c.row)
		assert.Equal(t, c.registers, r.Registers(c.x, c.rows, c.vectors), "%+v", c)
		loads, instrs := r.Loads(c.x, c.rows, c.vectors)
		assert.Equal(t, []float64{c.loads, c.instrs}, []float64{loads, instrs}, "%+v", c)
	}
}

// TestNarrows: sums in 16 bits are of whole applications, and only of instructions that have them.
func TestNarrows(t *testing.T) {
	for name, want := range map[string][]int64{"vrmpy_i8u8": {0}, "vmpy_i8u8": {1, 2, 3, 4}, "vmpa_i8u8": {2, 4}} {
		var got []int64
		for n := int64(-1); n <= MostNarrow+1; n++ {
			if Lookup(name).Narrows(n) {
				got = append(got, n)
			}
		}
		assert.Equal(t, want, got, name)
	}
}
