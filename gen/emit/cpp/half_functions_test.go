package cpp_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestHalfFunctions runs each scalar function of vectors of f16, of all numbers, and compares the
// results with those of the interpreter: a function of floats, rounded to f16.
func TestHalfFunctions(t *testing.T) {
	var rows []*scalar.Row
	var calls strings.Builder
	for _, r := range scalar.Table() {
		if !r.Halves() {
			continue
		}
		rows = append(rows, r)
		args := []string{"x", "y", "z"}[:r.Arity]
		text := r.CLanes(func(ir.DType) string { return "dnn_f16x8" }, ir.F16, []ir.DType{ir.F16, ir.F16}[:min(r.Arity, 2)], args)
		fmt.Fprintf(&calls, `  for (unsigned i = 0; i < 65536; i += 8) {
    uint16_t a[8], b[8];
    for (unsigned l = 0; l < 8; l++) a[l] = (uint16_t)(i + l), b[l] = other(i + l);
    const dnn_f16x8 x = dnn_load<dnn_f16x8>(a), y = dnn_load<dnn_f16x8>(b);
    (void)y;
    dnn_store(a, (dnn_f16x8)(%s));
    fwrite(a, 2, 8, stdout);
  }
`, text)
	}
	require.Greater(t, len(rows), 8)
	other := func(i uint32) uint16 { return uint16(i * 2654435761 >> 13) }
	program := "#include <stdio.h>\n#include \"runtime/dnn_kernel.h\"\n" +
		"static uint16_t other(uint32_t i) { return (uint16_t)(i * 2654435761u >> 13); }\nint main() {\n" + calls.String() + "}\n"
	c := chipstest.Target(t, "arm64_cortex_a76")
	src := filepath.Join(t.TempDir(), "run.cc")
	require.NoError(t, os.WriteFile(src, []byte(program), 0o644))
	for _, cxx := range [][]string{{"aarch64-linux-gnu-g++", "-static"}, {"clang++", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"}} {
		t.Run(cxx[0], func(t *testing.T) {
			emulator, ok := runs(c)
			if !ok {
				t.Skip("no qemu-aarch64")
			}
			out, err := exec.Command(emulator[0], append(emulator[1:], compile(t, cxx, c, src))...).Output()
			require.NoError(t, err)
			require.Len(t, out, 2*65536*len(rows))
			for n, r := range rows {
				want := halfFunction(t, r, other)
				wrong := 0
				for i, w := range want {
					got := ir.F16Float(binary.LittleEndian.Uint16(out[2*(65536*n+i):]))
					if !halfAgrees(r, w, got) && wrong < 3 {
						wrong++
						assert.Fail(t, "wrong", "%s(%g, %g) is %g, want %g", r.Name, ir.F16Float(uint16(i)), ir.F16Float(other(uint32(i))), got, w)
					}
				}
			}
		})
	}
}

// halfFunction returns a function of all f16, and of other ones, by package scalar. A function
// with an error bound is not rounded to f16.
func halfFunction(t *testing.T, r *scalar.Row, other func(uint32) uint16) []float64 {
	to := ir.F16
	if r.HalfULP > 0 {
		to = ir.F32
	}
	f, err := scalar.Bind(r.Name, to, []ir.DType{to, to}[:r.Arity])
	require.NoError(t, err)
	x, y, z := scalar.NewVec(to, 65536), scalar.NewVec(to, 65536), scalar.NewVec(to, 65536)
	for i := range x.F32 {
		x.F32[i], y.F32[i] = scalar.F16ToF32(uint16(i)), scalar.F16ToF32(other(uint32(i)))
	}
	f(z, []*scalar.Vec{x, y}[:r.Arity])
	out := make([]float64, len(z.F32))
	for i, v := range z.F32 {
		out[i] = float64(v)
	}
	return out
}

// halfAgrees reports whether a number is the wanted one: of a function with an error bound, within
// the bound in units of f16 or 1.5e-6.
func halfAgrees(r *scalar.Row, want, got float64) bool {
	if math.IsNaN(want) || math.IsNaN(got) {
		return math.IsNaN(want) && math.IsNaN(got)
	}
	if r.HalfULP == 0 {
		return want == got
	}
	unit := math.Ldexp(1, max(math.Ilogb(max(math.Abs(want), 0x1p-24))-10, -24))
	return math.Abs(got-want) <= r.HalfULP*unit+1.5e-6
}
