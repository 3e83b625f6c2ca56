package cpp_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/neon"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/instr"
)

// halfSizes are the least exponents of f16 operands: of usual numbers, of numbers whose products
// are denormal, and of numbers whose sums overflow.
var halfSizes = []uint32{12, 1, 22}

// half16 returns element i of the operands: an f16 of a size, sometimes zero or denormal.
func half16(i int64, size uint32) uint16 {
	h := uint32(i) * 2654435761 >> 12
	exponent := size + h>>8&3
	switch i % 29 {
	case 3:
		return uint16(h << 15)
	case 7:
		exponent = 0
	}
	return uint16(h<<15 | exponent<<10 | h>>1&1023)
}

const half16C = `static uint16_t half16(long i, unsigned size) {
  const uint32_t h = (uint32_t)i * 2654435761u >> 12;
  if (i % 29 == 3) return (uint16_t)(h << 15);
  return (uint16_t)(h << 15 | (i % 29 == 7 ? 0 : size + (h >> 8 & 3)) << 10 | (h >> 1 & 1023));
}
`

// fmaHalf returns x*y + z of f16, computed exactly and rounded once to f16.
func fmaHalf(x, y, z float64) float64 {
	if s := x*y + z; s == 0 || math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	exact := new(big.Float).SetPrec(200).Mul(big.NewFloat(x), big.NewFloat(y))
	exact.Add(exact, big.NewFloat(z))
	if exact.Sign() == 0 {
		return 0
	}
	precision := 11 // fewer for denormal numbers, which are multiples of 2^-24
	if least := exact.MantExp(nil) + 24; least < precision {
		precision = least
	}
	if precision < 1 { // below the least one: it or zero
		if v, _ := exact.Float64(); math.Abs(v) > 0x1p-25 {
			return math.Copysign(0x1p-24, v)
		}
		return 0
	}
	r, _ := new(big.Float).SetPrec(uint(precision)).SetMode(big.ToNearestEven).Set(exact).Float64()
	if math.Abs(r) > scalar.Greatest(ir.F16) {
		r = math.Copysign(math.Inf(1), r)
	}
	return r
}

// fmaWide returns x*y + z of f16 and an f32 z, rounded once to f32. Such a product is exact in 64
// bits, and is no denormal f32.
func fmaWide(x, y, z float64) float64 { return float64(nearest(x*y, z)) }

// halvesMeaning computes a micro-kernel of f16, which adds each product by fma.
func halvesMeaning(m *loop.MicroKernel, size uint32, fma func(x, y, z float64) float64) []float64 {
	n := m.Vectors * m.Lanes()
	acc := make([]float64, m.Rows*n)
	for _, p := range points(m) {
		for i := range acc {
			r, l := int64(i)/n, int64(i)%n
			at := m.RowAt(r) + p.x
			if !m.Broadcast() {
				at += l
			}
			x, w := half16(at, size), half16(1000+p.w+m.VectorAt(l/m.Lanes())+l%m.Lanes(), size)
			acc[i] = fma(ir.F16Float(x), ir.F16Float(w), acc[i])
		}
	}
	return acc
}

// halvesProgram returns a program that runs micro-kernels of f16 and writes their sums.
func halvesProgram(ms []*loop.MicroKernel) string {
	var w, calls strings.Builder
	w.WriteString("#include <stdio.h>\n#include \"runtime/dnn_kernel.h\"\n" + half16C)
	for _, m := range ms {
		w.WriteString(cpp.Micro(loop.Tile{Micro: m}, 2))
		fmt.Fprintf(&calls, "    %s(x, w, acc);\n    fwrite(acc, sizeof *acc, %d, stdout);\n", cpp.MicroName(m), m.Rows*m.Vectors*m.Lanes())
	}
	fmt.Fprintf(&w, `static uint16_t x[1000], w[8000];
static %s acc[200];
int main() {
  static const unsigned sizes[] = {%d, %d, %d};
  for (unsigned size : sizes) {
    for (long i = 0; i < 1000; i++) x[i] = half16(i, size);
    for (long i = 0; i < 8000; i++) w[i] = half16(1000 + i, size);
%s  }
}
`, cpp.Storage(ms[0].Instr.Acc), halfSizes[0], halfSizes[1], halfSizes[2], calls.String())
	return w.String()
}

// TestHalves runs micro-kernels of f16, in assembly and compiled, and compares every result with
// sums that are computed exactly and rounded after each product: to f16, or to f32.
func TestHalves(t *testing.T) {
	c := chipstest.Target(t, "arm64_i8mm")
	require.Nil(t, c.Halves(), "only if the target may add in f16")
	t.Run("in f16", func(t *testing.T) { testHalves(t, c, c.InHalves().Halves(), fmaHalf) })
	t.Run("in f32", func(t *testing.T) { testHalves(t, c, c.Widening(), fmaWide) })
}

func testHalves(t *testing.T, c *target.Target, row *instr.Row, fma func(x, y, z float64) float64) {
	var ms []*loop.MicroKernel
	assembly := 0
	for _, m := range runMicros(row) {
		if m.Kept == nil && m.Stored == ir.Invalid {
			ms = append(ms, m)
			if _, ok := neon.New(loop.Tile{Micro: m}); ok {
				assembly++
			}
		}
	}
	require.Positive(t, assembly, "kernels in assembly")
	require.Less(t, assembly, len(ms), "kernels that compilers schedule")
	src := filepath.Join(t.TempDir(), "run.cc")
	require.NoError(t, os.WriteFile(src, []byte(halvesProgram(ms)), 0o644))
	for _, cxx := range [][]string{{"aarch64-linux-gnu-g++", "-static"}, {"clang++", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"}} {
		t.Run(cxx[0], func(t *testing.T) {
			emulator, ok := runs(c)
			if !ok {
				t.Skip("no qemu-aarch64")
			}
			out, err := exec.Command(emulator[0], append(emulator[1:], compile(t, cxx, c, src))...).Output()
			require.NoError(t, err)
			infinite, denormal := 0, 0
			for _, size := range halfSizes {
				for _, m := range ms {
					for i, want := range halvesMeaning(m, size, fma) {
						var got float64
						got, out = sumOf(row.Acc, out)
						if math.IsNaN(want) {
							require.True(t, math.IsNaN(got), "%s: accumulator %d of size %d", cpp.MicroName(m), i, size)
							continue
						}
						require.Equal(t, want, got, "%s: accumulator %d of size %d", cpp.MicroName(m), i, size)
						if math.IsInf(want, 0) {
							infinite++
						} else if want != 0 && math.Abs(want) < 0x1p-14 {
							denormal++
						}
					}
				}
			}
			require.Empty(t, out)
			require.Equal(t, row.InHalves(), infinite > 0, "infinite sums")
			require.Positive(t, denormal, "sums that f16 represents as denormal numbers")
		})
	}
}

// sumOf reads the first number, of a type, and returns the bytes after it.
func sumOf(t ir.DType, b []byte) (float64, []byte) {
	if t == ir.F16 {
		return ir.F16Float(binary.LittleEndian.Uint16(b)), b[2:]
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), b[4:]
}
