package hvx_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

// loops are kernels whose loops are printed as vectors, of n lanes: operands, and statements that set y0.
var loops = map[string]struct{ head, body string }{
	"copy":               {"operand a0 u8[900]\nresult y0 u8[900]", "for q < $n { y0[q + 3] = a0[q + 5] }"},
	"every other one":    {"operand a0 i8[1800]\nresult y0 i8[900]", "for q < $n { y0[q + 1] = a0[2*q + 7] }"},
	"fill":               {"result y0 i16[900]", "for q < $n { y0[q + 1] = i16:-3 }"},
	"widen":              {"operand a0 u8[900]\nresult y0 i16[900]", "for q < $n { y0[q + 1] = i16 cast(a0[q + 9]) }"},
	"minus a zero":       {"operand a0 u8[1800]\nresult y0 i16[900]", "for q < $n { y0[q + 1] = i16 cast(i32 sub(i32 cast(a0[2*q + 9]), i32 cast(u8:77))) }"},
	"the other sign":     {"operand a0 i8[900]\nresult y0 u8[900]", "for q < $n { y0[q + 1] = u8 cast(i32 sub(i32 cast(a0[q + 9]), i32:-128)) }"},
	"halves":             {"operand a0 i16[900]\nresult y0 i16[900]", "for q < $n { y0[q + 1] = a0[q + 3] }"},
	"four lines":         {"operand a0 u8[1900]\nresult y0 u8[1800]", "for q < $n { for r < 4 { y0[4*q + r + 2] = a0[q + 300*r + 1] } }"},
	"two lines":          {"operand a0 u8[1900]\nresult y0 u8[1800]", "for q < $n { for r < 2 { y0[2*q + r + 2] = a0[q + 300*r + 1] } }"},
	"with padding":       {"operand a0 u8[$n]\nresult y0 u8[900]", "for q < $n { y0[q] = (a0[q - 3] if 0 <= q - 3 < $n - 5 else u8:7) }"},
	"strided, padding":   {"operand a0 u8[$n]\nresult y0 u8[900]", "for q < $n { y0[q] = ((a0[2*q - 3] if 0 <= 2*q - 3 < $n else u8:9) if 0 <= q < $n - 1 else u8:0) }"},
	"lines, padding":     {"operand a0 u8[3*$n]\nresult y0 u8[1800]", "for q < $n { for r < 4 { y0[4*q + r] = ((a0[q + $n*r - 2] if 0 <= q - 2 < $n - 4 and 0 <= r < 3 else u8:5) if 0 <= q < $n - 1 else u8:0) } }"},
	"sums":               {"operand a0 i16[1000]\noperand a1 i8[9]\nresult y0 i32[900]", "array b i32[450]\nfor q < $n { b[q] = i32:5 }\nfor r < 3 { for s < 3 { for q < $n { var n = i32 add(b[q], i32 mul(i32 cast(a0[q + 40*r + s]), i32 cast(a1[3*r + s])))\nb[q] = n } } }\nfor q < $n { y0[q] = b[q] }"},
	"strided sums":       {"operand a0 i16[1000]\noperand a1 i8[9]\nresult y0 i32[900]", "array b i32[450]\nfor q < $n { b[q] = i32:0 }\nfor s < 3 { for q < $n { var n = i32 add(b[q], i32 mul(i32 cast(a0[2*q + s]), i32 cast(a1[s])))\nb[q] = n } }\nfor q < $n { y0[q] = b[q] }"},
	"sums of bytes":      {"operand a0 u8[1000]\nresult y0 i32[900]", "array b i32[450]\nfor q < $n { b[q] = i32:0 }\nfor s < 3 { for q < $n { var n = i32 add(b[q], i32 cast(a0[q + 100*s]))\nb[q] = n } }\nfor q < $n { y0[q] = b[q] }"},
	"greatest":           {"operand a0 u8[1000]\nresult y0 u8[900]", "array b u8[450]\nfor q < $n { b[q] = u8:0 }\nfor r < 2 { for s < 3 { for q < $n { var n = u8 max(b[q], a0[2*q + 100*r + s])\nb[q] = n } } }\nfor q < $n { y0[q] = b[q] }"},
	"greatest, signed":   {"operand a0 i8[1000]\nresult y0 i8[900]", "array b i8[450]\nfor q < $n { b[q] = i8:-128 }\nfor s < 3 { for q < $n { var n = i8 max(b[q], a0[q + s])\nb[q] = n } }\nfor q < $n { y0[q] = b[q] }"},
	"requantized":        {"operand a0 i32[900]\noperand a1 i32[1]\nresult y0 u8[900]", "for q < $n { y0[q + 3] = u8 cast(f32 add(f32 round(f32 mul(f32 cast(i32 sub(a0[q + 1], i32 mul(i32:3, a1[0]))), f32:0.0123)), f32 cast(u8:20))) }"},
	"few or none":        {"operand a0 i32[900]\nresult y0 u8[900]", "for r < 4 { for l < 10*r { y0[l + 128*r] = u8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[l + 128*r]), f32:0.0123)), f32 cast(u8:20))) } }"},
	"words in turns":     {"operand a0 i32[900]\nresult y0 i8[900]", "for r < 2 { for l < 64 { y0[2*l + r + 3] = i8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[l + 100*r + 1]), f32:0.0123)), f32 cast(i8:20))) } }"},
	"words of four rows": {"operand a0 i32[900]\nresult y0 i8[900]", "for r < 4 { for l < 32 { y0[4*l + r + 3] = i8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[l + 100*r + 1]), f32:0.0123)), f32 cast(i8:20))) } }"},
	"words of rows":      {"operand a0 i32[900]\nresult y0 i8[900]", "for r < 3 { for l < 32 { y0[l + 32*r + 3] = i8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[l + 100*r + 1]), f32:0.0123)), f32 cast(i8:20))) } }"},
}

// added is a residual sum of two quantized values, one of which is requantized where it is read.
const added = "for q < $n { y0[q] = u8 cast(f32 add(f32 round($sum), f32 cast(u8:11))) }"

func init() {
	both := "f32 add(f32 mul(f32 cast(i32 sub(i32 cast(u8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[q]), f32:0.031)), f32 cast(u8:113)))), i32 cast(u8:113))), f32:0.7312), f32 mul(f32 cast(i32 sub(i32 cast(a1[q + 1]), i32 cast($zero))), f32:1.411))"
	for typ, zero := range map[string]string{"u8": "u8:90", "i8": "i8:-7", "u8, far zero": "i32:1000000000"} {
		sum := strings.ReplaceAll(both, "$zero", zero)
		head := "operand a0 i32[900]\noperand a1 " + typ[:2] + "[900]\nresult y0 u8[900]"
		loops["added "+typ] = struct{ head, body string }{head, strings.ReplaceAll(added, "$sum", sum)}
		loops["added, positive "+typ] = struct{ head, body string }{head, strings.ReplaceAll(added, "$sum", "f32 max("+sum+", f32:0)")}
	}
}

// quantized are numbers of 8 bits that are made of sums of 32 bits, floats and each other, as quantized networks have them.
func init() {
	const (
		byte0 = "u8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[q]), a1[q + 2])), f32 cast(u8:113)))"
		held  = "f32 cast(i32 sub(i32 cast(" + byte0 + "), i32 cast(u8:113)))"
	)
	of3 := func(rest, body string) struct{ head, body string } {
		h := ""
		for _, a := range []string{"a0 i32", "a1 f32", "a2 f32"} {
			if strings.Contains(body, a[:2]+"[") {
				h += "operand " + a + "[900]\n"
			}
		}
		return struct{ head, body string }{h + rest, body}
	}
	of := func(value string) string { return "u8 cast(f32 add(f32 round(" + value + "), f32 cast(u8:90)))" }
	for name, value := range map[string]string{
		"a factor a lane":         "f32 mul(f32 cast(a0[q]), a1[q])",
		"a shared factor":         "f32 mul(f32 mul(f32 cast(i32 sub(i32 cast(" + byte0 + "), i32:3)), a2[0]), f32:1.75)",
		"a bias":                  "f32 div(f32 add(a2[q], f32 mul(" + held + ", f32:0.0327)), f32:0.0327)",
		"a shared bias":           "f32 div(f32 add(a2[7], f32 mul(" + held + ", f32:0.0327)), f32:0.0327)",
		"a bias, rounded":         "f32 mul(f32 add(f32 mul(a2[q], f32:0.3), f32 mul(" + held + ", f32:-0.0327)), f32:-20.3)",
		"floats":                  "f32 div(a2[q + 1], f32:0.0123)",
		"a mask":                  "f32 div(f32 add(f32 mul(" + held + ", f32:0.0046), a2[q]), f32:1.3e36)",
		"a product of bytes":      "f32 mul(f32 mul(" + held + ", f32 cast(i32 sub(i32 cast(u8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[q + 9]), f32:0.01)), f32 cast(u8:10)))), i32:40))), f32:0.0125)",
		"floats, a shared factor": "f32 div(f32 mul(a2[q + 1], a1[3]), f32:0.0000123)",
		"normalised":              "f32 div(f32 add(f32 mul(f32 mul(f32 sub(a2[q], a2[880]), a1[3]), a2[q + 7]), a2[q + 3]), f32:0.0317)",
		"floats and halves":       "f32 mul(a2[q + 1], f32:0.5)",
		"floats out of bounds":    "f32 mul(a2[q + 1], f32:1e30)",
	} {
		loops["quantized: "+name] = of3("result y0 u8[900]", "for q < $n { y0[q] = "+of(value)+" }")
		loops["tables: "+name] = of3("operand a3 i8[256] const\nresult y0 i8[900]", "for q < $n { bind b = i64 cast("+of(value)+") in 0..255\ny0[q] = a3[b] }")
		loops["floats of: "+name] = of3("result y0 f32[900]", "for q < $n { y0[q] = f32 mul(f32 cast(i32 sub(i32 cast("+of(value)+"), i32 cast(u8:90))), f32:0.0371) }")
	}
	loops["quantized: as many as there are"] = of3("operand a3 i8[256] const\nresult y0 i8[900]", "for u < 3 { for m < 150*u { bind b = i64 cast("+
		of("f32 mul(f32 cast(a0[m + 300*u]), f32:0.0123)")+") in 0..255\ny0[m + 300*u] = a3[b] } }")
	loops["quantized: floats that are lost on the way"] = of3("result y0 u8[900]", "array b f32[900]\nfor q < $n { b[q] = f32 mul(a2[q + 400], f32:1e-20) }\nfor q < $n { y0[q] = "+
		of("f32 mul(f32 mul(f32 mul(b[q], f32:1.18e-38), f32:1e30), f32:1e30)")+" }")
	loops["quantized: floats that overflow on the way"] = of3("result y0 u8[900]", "for q < $n { y0[q] = "+of("f32 mul(f32 mul(f32 mul(a2[q + 401], f32:1e30), f32:1e-30), f32:1e-30)")+" }")
	loops["floats of: floats, in place"] = of3("result y0 f32[900]", "array b f32[900]\nfor q < $n { b[q] = a2[q + 400] }\nfor q < $n { b[q] = f32 mul(f32 cast(i32 sub(i32 cast("+of("f32 div(b[q], f32:0.0123)")+
		"), i32 cast(u8:90))), f32:0.0371) }\nfor q < $n { y0[q] = b[q] }")
	// Half of the results are halfway between two numbers, in vectors that happen to have all lanes.
	for name, body := range map[string]string{
		"quantized: whole vectors at the end":   "for u < 2 { for m < 160*u { y0[m + 320*u] = $of } }",
		"quantized: one whole vector or a part": "for u < 3 { for m < 16*u { y0[m + 320*u] = $of } }",
	} {
		loops[name] = struct{ head, body string }{"operand a0 u8[900]\nresult y0 u8[900]", strings.ReplaceAll(body, "$of", of("f32 mul(f32 cast(i32 sub(i32 cast(a0[m + 300*u]), i32:100)), f32:0.5)"))}
	}
	rows := "array b i32[900]\nfor e < 448 { b[e] = a0[e] }\nfor u < 3 { for r < 4 { $loops } }"
	row := func(n int) string {
		return fmt.Sprintf("for l < %d { y0[l + 32*s + 140*r + 3*u + 3] = "+of("f32 mul(f32 cast(i32 add(b[l + 32*s + 96*r], a0[r + 800])), a1[r + 9])")+" }", n)
	}
	for name, body := range map[string]string{
		"rows of sums":           "for s < 3 { " + row(32) + " }",
		"rows of sums, parts":    "for s < 3 { if 0 <= s < 2 { " + row(32) + " } else { " + row(17) + " } }",
		"rows of sums, gaps":     "for s < 3 { " + row(20) + " }",
		"rows of sums, three":    "for s < 2 { if 0 <= s < 1 { " + row(32) + " } else { if 0 <= u < 1 { " + row(30) + " } else { " + row(7) + " } } }",
		"rows of sums, or three": "for s < 2 { if 0 <= u < 2 { if 0 <= s < 1 { " + row(32) + " } else { " + row(30) + " } } else { " + row(7) + " } }",
	} {
		loops[name] = of3("result y0 u8[900]", strings.ReplaceAll(rows, "$loops", body))
	}
	loops["a table of rows"] = of3("operand a3 u8[256] const\nresult y0 u8[900]", "for r < 3 { for l < 32 { bind b = i64 cast("+
		of("f32 mul(f32 cast(a0[l + 100*r]), f32:0.0123)")+") in 0..255\ny0[l + 32*r + 5] = a3[b] } }")
	loops["a table of words in turns"] = of3("operand a3 i8[256] const\nresult y0 i8[900]", "for r < 2 { for l < 64 { bind b = i64 cast(u8 cast("+
		"i8 cast(f32 add(f32 round(f32 mul(f32 cast(a0[l + 100*r]), f32:0.0123)), f32 cast(i8:7))))) in 0..255\ny0[2*l + r + 3] = a3[b] } }")
}

var onlyLoops = flag.String("loops", "", "loops whose names have this")

// TestLoops: loops in vectors compute what the interpreter of loops does, for lengths around those of vectors.
func TestLoops(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	var cases []cpptest.Case
	for _, name := range slices.Sorted(maps.Keys(loops)) {
		if *onlyLoops != "" && !strings.Contains(name, *onlyLoops) {
			continue
		}
		for _, n := range []int{16, 31, 64, 65, 112, 128, 200} {
			cases = append(cases, loopCase(t, r, name, n))
		}
	}
	for name, functions := range map[string][]string{
		"quantized: a factor a lane":         {"dnn_hvx_requantize_lanes"},
		"quantized: a shared factor":         {"dnn_hvx_requantize_lanes(", "Q6_V_vsplat_R(dnn_as("},
		"quantized: a bias":                  {"dnn_hvx_rounded", "dnn_hvx_fixed", "dnn_hvx_times"},
		"quantized: a shared bias":           {"dnn_hvx_rounded", "dnn_hvx_fixed", "dnn_hvx_times"},
		"quantized: a bias, rounded":         {"dnn_hvx_rounded", "dnn_hvx_fixed", "dnn_hvx_times"},
		"quantized: floats":                  {"dnn_hvx_rounded", "dnn_hvx_fixed"},
		"quantized: floats, a shared factor": {"dnn_hvx_rounded", "dnn_hvx_fixed_by"},
		"quantized: normalised":              {"dnn_hvx_rounded", "dnn_hvx_normalized"},
		"quantized: as many as there are":    {"dnn_hvx_requantize(", "m_rest"},
		"quantized: a mask":                  {"dnn_hvx_rounded", "dnn_hvx_fixed"},
		"quantized: a product of bytes":      {"dnn_hvx_requantize(", "Q6_Vw_vmpyio_VwVh"},
		"quantized: floats and halves":       {"dnn_hvx_rounded", "dnn_hvx_fixed"},
		"quantized: floats out of bounds":    {"dnn_hvx_rounded", "dnn_hvx_fixed"},
		"tables: a bias":                     {"dnn_hvx_table", "dnn_hvx_fixed"},
		"floats of: a product of bytes":      {"dnn_hvx_floats", "Q6_Vw_vmpyio_VwVh"},
		"a table of rows":                    {"dnn_hvx_table"},
		"rows of sums":                       {"dnn_hvx_rows_"},
		"rows of sums, parts":                {"dnn_hvx_rows_", "? 32 : 17"},
		"a table of words in turns":          {"dnn_hvx_table", "dnn_hvx_in_turns"},
	} {
		files, err := hvx.Print(loopCase(t, r, name, 200).Program, "p", 1)
		require.NoError(t, err)
		text := ""
		for _, f := range files {
			text += f.Text
		}
		for _, f := range functions {
			assert.Contains(t, text, f, name)
		}
	}
	for i, res := range hvxtest.Machine.Run(t, root, cases, append(chip.Copts, "-O2")...) {
		want, err := run.Program(cases[i].Program, cases[i].Inputs)
		require.NoError(t, err, cases[i].Name)
		require.Zero(t, res.Status)
		assert.Equal(t, want[0].Data, res.Outputs[0].Data, cases[i].Name)
	}
}

// loopCase is a program of one kernel.
func loopCase(t *testing.T, r *rand.Rand, name string, n int) cpptest.Case {
	l := loops[name]
	out := l.head[strings.Index(l.head, "result y0 ")+len("result y0 "):]
	typ, size, _ := strings.Cut(strings.TrimSuffix(out, "]"), "[")
	text := fmt.Sprintf("kernel \"test\" {\nfacts e 0..%s, l 0..63, m 0..299, q 0..%d, r 0..3, s 0..2, task 0..0, u 0..2\n%s\ngrid task < 1\nfor e < %s { y0[e] = %s:1 }\n%s\n}", size, n-1, l.head, size, typ, l.body)
	text = strings.NewReplacer("$n", fmt.Sprint(n), "{ ", "{\n", " }", "\n}").Replace(text)
	k, err := loop.Parse(text)
	require.NoError(t, err, text)
	require.NoError(t, loop.Verify(k), text)
	var operands []string
	for _, b := range k.Buffers {
		if !b.Write {
			operands = append(operands, b.Name)
		}
	}
	c := alone(t, &plan.Call{Kernel: k, Args: make([]*ir.Value, len(k.Buffers)), Block: &block.Block{Origins: []string{fmt.Sprintf("%s, %d lanes", name, n)}}})
	for i, v := range c.Program.Inputs {
		if v.Type == ir.F32 {
			fill(r, c.Inputs[i], operands[i], strings.Contains(name, "mask"))
		}
	}
	return c
}

// fill sets floats: those of a1 are factors of sums, and of a2 biases, or a mask. Some are no usual numbers.
func fill(r *rand.Rand, x *ir.Tensor, operand string, mask bool) {
	odd := []float64{0, math.Copysign(0, -1), 1e-40, -1e-40, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN(), 255.5, -0.5}
	for i := range x.Len() {
		v := 0.001 + 0.015*r.Float64()
		if operand == "a2" {
			if v = 6*r.Float64() - 3; mask {
				v = []float64{0, -3.4e38, -1e38, -1.95e36}[r.IntN(4)]
			}
		}
		if i > 400 && r.IntN(40) == 0 { // a few vectors are without any
			v = odd[r.IntN(len(odd))]
		}
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(v)))
	}
}
