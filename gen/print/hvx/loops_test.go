package hvx_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/modeltest"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/cpp/cpptest"
	"rules_dnn/gen/print/hvx/hvxtest"
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

// TestLoops: loops in vectors compute what the interpreter of loops does, for lengths around those of vectors.
func TestLoops(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	var cases []cpptest.Case
	for _, name := range slices.Sorted(maps.Keys(loops)) {
		for _, n := range []int{16, 31, 64, 65, 112, 128, 200} {
			cases = append(cases, loopCase(t, r, name, n))
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
	text := fmt.Sprintf("kernel \"test\" {\nfacts e 0..%s, l 0..63, q 0..%d, r 0..3, s 0..2, task 0..0\n%s\ngrid task < 1\nfor e < %s { y0[e] = %s:1 }\n%s\n}", size, n-1, l.head, size, typ, l.body)
	text = strings.NewReplacer("$n", fmt.Sprint(n), "{ ", "{\n", " }", "\n}").Replace(text)
	k, err := loop.Parse(text)
	require.NoError(t, err, text)
	require.NoError(t, loop.Verify(k), text)
	return alone(t, &plan.Call{Kernel: k, Args: make([]*ir.Value, len(k.Buffers)), Block: &block.Block{Origins: []string{fmt.Sprintf("%s, %d lanes", name, n)}}})
}
