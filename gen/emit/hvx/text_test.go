package hvx

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// TestInC: OpenCL C's names in C, where long has 32 bits.
func TestInC(t *testing.T) {
	for in, want := range map[string]string{
		"static uint dnn_f_uint(ulong x, char y)": "static uint32_t dnn_f_uint(uint64_t x, int8_t y)",
		"dnn_iadd_long(a, (long)b)":               "dnn_iadd_long(a, (int64_t)b)",
		"as_uint(x) & 0x7fffffffu":                "dnn_as(uint32_t, x) & 0x7fffffffu",
		"~0UL >> 1 | 0xc90fdaa22168c000UL":        "~0ULL >> 1 | 0xc90fdaa22168c000ULL",
		"x < INFINITY ? NAN : -x":                 `x < __builtin_inff() ? __builtin_nanf("") : -x`,
		"fmod(x, y) + dnn_fmod_float(x, y)":       "dnn_f64_fmod(x, y) + dnn_fmod_float(x, y)",
		"sqrt(x) + asinh(y) + dnn_sqrt_float(x)":  "dnn_c_sqrt(x) + dnn_f64_asinh(y) + dnn_sqrt_float(x)",
	} {
		assert.Equal(t, want, inC(in))
	}
}

// TestOwnFunctions: what clang would compile wrongly for NaN is the header's, and hidden from it.
func TestOwnFunctions(t *testing.T) {
	x, y := loop.Ref{Name: "x", Type: ir.F32}, loop.Ref{Name: "y", Type: ir.F32}
	b := &loop.Buffer{Name: "b", Type: ir.F32, Size: sym.Const(1)}
	store := func(e te.Expr) loop.Store { return loop.Store{Buf: b, Index: sym.Const(0), Value: e} }
	text := printed(t, store(te.Fn(ir.F32, "max", x, y)), store(te.Fn(ir.F32, "exp", x)), store(te.Fn(ir.F32, "select", loop.Ref{Name: "c", Type: ir.Bool}, x, y)))
	assert.Contains(t, text, "b[0] = dnn_max_float(x, y);")
	assert.Contains(t, text, "b[0] = dnn_hvx_hidden(c) ? x : y;")
	called := functions(nil, text)
	assert.Contains(t, called, "static float dnn_exp_float(float x)")
	assert.NotContains(t, called, "static float dnn_max_float")
	assert.NotContains(t, called, "static float dnn_clamp_float", "which exp calls")
}

// TestNamesAreKnown: scalar functions of floats and integers call nothing that C on Hexagon does not have.
func TestNamesAreKnown(t *testing.T) {
	var calls strings.Builder
	for _, row := range scalar.Table() {
		fmt.Fprintf(&calls, "dnn_%s_float(x) ", row.Name)
		for _, of := range []string{"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"} {
			fmt.Fprintf(&calls, "dnn_i%s_%s(x) ", row.Name, of)
		}
	}
	text := functions(nil, calls.String())
	require.Greater(t, strings.Count(text, "\nstatic "), 100)
	for _, m := range regexp.MustCompile(`\b([a-zA-Z_]\w*)\(`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "dnn_") && !strings.HasPrefix(m[1], "__builtin_") {
			assert.Contains(t, []string{"if", "for", "while", "switch", "sizeof"}, m[1])
		}
	}
	assert.NotContains(t, functions(nil, "dnn_product_float(x, y) dnn_product_double(x, y)"), "product", "the header has it")
}

// TestWide: indices have 64 bits where a step may leave 32, even if the result does not.
func TestWide(t *testing.T) {
	i, j := sym.Var("i"), sym.Var("j")
	for _, c := range []struct {
		index sym.Expr
		want  bool
	}{
		{sym.Add(sym.Scale(i, 1<<20), j), false},
		{sym.Scale(i, 1<<22), true},
		{sym.Sub(sym.Scale(i, 1<<21), sym.Scale(j, 1<<21)), true},
		{sym.FloorDiv(sym.Scale(i, 1<<22), sym.Add(j, sym.Const(1)), nil), true},
		{sym.Mul(sym.Var("N"), i), true}, // nothing is known of N
	} {
		y := &loop.Buffer{Name: "y", Type: ir.I8, Write: true, Size: sym.Const(1)}
		k := &loop.Kernel{Buffers: []*loop.Buffer{y}, Facts: sym.Facts{"i": {Lo: 0, Hi: 1000}, "j": {Lo: 0, Hi: 1000}},
			Body: []loop.Stmt{loop.Store{Buf: y, Index: c.index, Value: te.Int(ir.I8, 0)}}}
		assert.Equal(t, c.want, wide(k), c.index)
	}
}

// scaledLoop is y[step*i + 7] = round((x[i] - 3*s[i]) * 0.5) + 2, saturated.
func scaledLoop(step, extent int64) (loop.For, *loop.Buffer) {
	i := sym.Var("i")
	buffer := func(name string, t ir.DType) *loop.Buffer {
		return &loop.Buffer{Name: name, Type: t, Size: sym.Const(1000)}
	}
	x, y := buffer("x", ir.I32), buffer("y", ir.U8)
	load := func(b *loop.Buffer) te.Expr { return loop.Mem{Buf: b, Index: i} }
	sum := te.Fn(ir.I32, "sub", load(x), te.Fn(ir.I32, "mul", te.Fn(ir.I32, "cast", te.Int(ir.U8, 3)), load(buffer("s", ir.I32))))
	product := te.Fn(ir.F32, "mul", te.Fn(ir.F32, "cast", sum), te.Float(ir.F32, 0.5))
	e := te.Fn(ir.F32, "add", te.Fn(ir.F32, "round", product), te.Fn(ir.F32, "cast", te.Int(ir.U8, 2)))
	store := loop.Store{Buf: y, Index: sym.Add(sym.Scale(i, step), sym.Const(7)), Value: te.Fn(ir.U8, "cast", e)}
	return loop.For{Var: "i", Extent: sym.Const(extent), Body: []loop.Stmt{store}}, y
}

func printed(t *testing.T, body ...loop.Stmt) string {
	text, err := C.Body(&loop.Kernel{Facts: sym.Facts{"i": {Lo: 0, Hi: 31}}, Body: body})
	require.NoError(t, err)
	return text
}

// TestRequantize: a vector of sums becomes bytes, side by side or apart; other loops are plain.
func TestRequantize(t *testing.T) {
	dense, y := scaledLoop(1, 32)
	text := printed(t, dense)
	assert.Contains(t, text, "bool i_exact = dnn_hvx_scales(&i_f0, 0.5f);")
	assert.Contains(t, text, "i_words[0] = dnn_hvx_requantize(Q6_Vw_vsub_VwVw(dnn_hvx_load_part(x + (0), 128), dnn_hvx_scaled(dnn_hvx_load_part(s + (0), 128), 3)), &i_f0, 2, 0, 255, &i_near);")
	assert.Contains(t, text, "dnn_hvx_store_part(y + 7, dnn_hvx_bytes(i_words[0], i_words[0], i_words[0], i_words[0]), 32);")
	assert.Contains(t, text, "for (dnn_index i = 0; i < 32; ++i)", "the plain loop, for what vectors cannot do")
	apart, _ := scaledLoop(4, 32)
	assert.Contains(t, printed(t, apart), "y[4 * i + 7] = (uint8_t)i_each[i];")
	four := loop.For{Var: "r", Extent: sym.Const(4), Body: []loop.Stmt{apart}}
	assert.NotContains(t, printed(t, four), "interleave", "the rows' bytes do not lie beside each other")
	store := apart.Body[0].(loop.Store)
	store.Index = sym.Add(store.Index, sym.Var("r"))
	apart.Body = []loop.Stmt{store}
	four.Body = []loop.Stmt{apart}
	assert.Contains(t, printed(t, four), "dnn_hvx_store_any(y + 7, dnn_hvx_interleave(i_words[0], i_words[1], i_words[2], i_words[3]));")
	two, _ := scaledLoop(2, 64)
	store = two.Body[0].(loop.Store)
	store.Index = sym.Add(store.Index, sym.Var("r"))
	two.Body = []loop.Stmt{store}
	assert.Contains(t, printed(t, loop.For{Var: "r", Extent: sym.Const(2), Body: []loop.Stmt{two}}), "dnn_hvx_store_any(y + 7, dnn_hvx_in_turns(i_words[0], i_words[1], i_words[2], i_words[3]));")
	short, _ := scaledLoop(1, 31)
	text = printed(t, short)
	assert.Contains(t, text, "dnn_hvx_load_part(x + (0), 124)")
	assert.Contains(t, text, "i_near = Q6_V_vmux_QVV(Q6_Q_vsetq2_R(124), i_near, i_near_before);", "what is beyond the end is any number")
	assert.Contains(t, text, "i_words[0]), 31);")
	long, _ := scaledLoop(1, 300)
	text = printed(t, long)
	assert.Contains(t, text, "for (dnn_index i_at = 0; i_at < 256; i_at += 128)")
	assert.Contains(t, text, "dnn_hvx_load_part(x + (i_at + 96), 128)")
	assert.Contains(t, text, "dnn_hvx_store_any(y + (i_at + 7), dnn_hvx_bytes(i_words[0], i_words[1], i_words[2], i_words[3]));")
	assert.Contains(t, text, "dnn_hvx_store_part(y + 263, dnn_hvx_bytes(i_words[0], i_words[1], i_words[1], i_words[1]), 44);")
	apart, _ = scaledLoop(4, 31)
	assert.NotContains(t, printed(t, apart), "requantize", "a part of a vector is stored side by side")
	single, _ := scaledLoop(1, 3)
	assert.NotContains(t, printed(t, single), "requantize")
	some, _ := scaledLoop(1, 32)
	some.Extent = sym.Min(sym.Const(32), sym.Sub(sym.Const(50), sym.Var("r")), nil)
	assert.Contains(t, printed(t, some), "i_words[0]), dnn_min(")
	copied := loop.Store{Buf: y, Index: sym.Var("i"), Value: loop.Mem{Buf: y, Index: sym.Var("i")}}
	assert.NotContains(t, printed(t, loop.For{Var: "i", Extent: sym.Const(32), Body: []loop.Stmt{copied}}), "requantize")
}

// TestNoText: an instruction of another processor is an error, not an empty line.
func TestNoText(t *testing.T) {
	b := &loop.Buffer{Name: "b", Type: ir.F32, Size: sym.Const(1)}
	m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x8"), X: instr.Register, Rows: 1, Vectors: 1}
	_, err := C.Body(&loop.Kernel{Body: []loop.Stmt{loop.Tile{Micro: m, X: b, W: b, Acc: b}}})
	require.ErrorContains(t, err, "no C with HVX intrinsics for the tile instruction fma_f32x8")
}
