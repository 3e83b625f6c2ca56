package cpp_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/neon"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/instr"
)

// sizes are the least exponents of operands: those of usual numbers, of numbers whose products and sums are at the end of what is not denormal, and of those
// whose sums overflow. Of the last size, some operands are infinities and NaNs.
var sizes = []uint32{122, 58, 187, special}

const special = 121

// half is element i of the operands: a number of 16 bits and some size, at times a zero or a denormal one.
func half(i int64, size uint32) uint16 {
	h := uint32(i) * 2654435761 >> 12
	exponent := size + h>>8&7
	switch i % 29 {
	case 3:
		return uint16(h << 15)
	case 7:
		exponent = 0
	}
	if size == special && i%199 == 11 {
		return uint16(h<<15 | 255<<7 | uint32(i)&1)
	}
	return uint16(h<<15 | exponent<<7 | h>>1&127)
}

const halfC = `static uint16_t half(long i, unsigned size) {
  const uint32_t h = (uint32_t)i * 2654435761u >> 12;
  if (i % 29 == 3) return (uint16_t)(h << 15);
  if (size == 121 && i % 199 == 11) return (uint16_t)(h << 15 | 255 << 7 | (i & 1));
  return (uint16_t)(h << 15 | (i % 29 == 7 ? 0 : size + (h >> 8 & 7)) << 7 | (h >> 1 & 127));
}
`

// oddly returns the float32 of a sum rounded to odd: towards 0, with the last bit set if it is not
// exact. A denormal number becomes a zero.
func oddly(x, y float64) float32 {
	if s := x + y; s == 0 || math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	exact := new(big.Float).SetPrec(2000).Add(big.NewFloat(x), big.NewFloat(y))
	short := new(big.Float).SetPrec(24).SetMode(big.ToZero).Set(exact)
	r, _ := short.Float64()
	if math.Abs(r) < 0x1p-126 {
		return float32(math.Copysign(0, r))
	}
	if short.Cmp(exact) != 0 && !math.IsInf(float64(float32(r)), 0) {
		return math.Float32frombits(math.Float32bits(float32(r)) | 1)
	}
	return float32(r)
}

// nearest is the nearest float32 of a sum, rounded once, of which a denormal number is a zero.
func nearest(x, y float64) float32 {
	sum := x + y
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return float32(sum)
	}
	exact := new(big.Float).SetPrec(2000).Add(big.NewFloat(x), big.NewFloat(y))
	r, _ := new(big.Float).SetPrec(24).SetMode(big.ToNearestEven).Set(exact).Float64()
	if math.Abs(r) < 0x1p-126 {
		r = math.Copysign(0, r)
	}
	return float32(r)
}

// whole is a number that is no denormal one.
func whole(x float32) float64 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return math.Copysign(0, float64(x))
	}
	return float64(x)
}

// pairsMeaning computes a micro-kernel of an instruction for pairs, as manuals describe the
// instruction: Intel's manual of instructions, VDPBF16PS and TDPBF16PS, and Arm's Architecture
// Reference Manual, BFDOT and BFMMLA.
func pairsMeaning(m *loop.MicroKernel, size uint32) []float32 {
	n := m.Vectors * m.Lanes()
	acc := make([]float32, m.Rows*n)
	together := int64(1)
	all := points(m)
	last := int64(len(all))
	if m.Instr.Matrix > 0 {
		var k []loop.KLoop
		k, together = m.Matrices()
		last = k[len(k)-1].Extent
	}
	for i := range acc {
		r, l := int64(i)/n, int64(i)%n
		product := func(p point, g int64) float64 {
			at := m.RowAt(r) + p.x + g
			if !m.Broadcast() {
				at += l * m.Instr.Group
			}
			x := half(at, size)
			w := half(p.w+m.VectorAt(l/m.Lanes())+l%m.Lanes()*m.Instr.Group+g, size)
			return whole(scalar.BF16ToF32(x)) * whole(scalar.BF16ToF32(w))
		}
		if m.Instr.Odd {
			for _, p := range all {
				for g := int64(0); g < m.Instr.Group; g += 2 { // BFMMLA takes in two pairs
					both := oddly(float64(oddly(product(p, g), 0)), float64(oddly(product(p, g+1), 0)))
					acc[i] = oddly(whole(acc[i]), float64(both))
				}
			}
			continue
		}
		if m.Instr.Matrix == 0 {
			for _, p := range all {
				acc[i] = nearest(product(p, 1), whole(acc[i]))
				acc[i] = nearest(product(p, 0), whole(acc[i]))
			}
			continue
		}
		for first := int64(0); first < int64(len(all)); first += last {
			for at := int64(0); at < last; at += together {
				var even, odd float32
				for _, p := range all[first+at : first+min(at+together, last)] {
					even, odd = nearest(product(p, 0), float64(even)), nearest(product(p, 1), float64(odd))
				}
				acc[i] = nearest(whole(acc[i]), float64(nearest(float64(even), float64(odd))))
			}
		}
	}
	return acc
}

// assembled reports whether a micro-kernel is assembly.
func assembled(m *loop.MicroKernel) bool {
	_, ok := neon.New(loop.Tile{Micro: m})
	return ok
}

func pairsProgram(row *instr.Row, ms []*loop.MicroKernel) string {
	kernels, calls := called(row, ms)
	return kernels + halfC + fmt.Sprintf(`static uint16_t x[16000], w[20000];
static float acc[2000];
int main() {
  static const unsigned sizes[] = {%d, %d, %d, %d};
  for (unsigned size : sizes) {
    for (long i = 0; i < 16000; i++) x[i] = half(i, size);
    for (long i = 0; i < 20000; i++) w[i] = half(i, size);
%s  }
}
`, sizes[0], sizes[1], sizes[2], sizes[3], calls)
}

// TestPairs runs micro-kernels of instructions that sum products in pairs, compiled by each compiler there is, and compares every bit with what the
// manual says of them, where denormal numbers are zeros and sums overflow, too: those for AMX as functions of the same effect, others where the
// processor has them.
func TestPairs(t *testing.T) {
	tested := map[string]bool{}
	for _, name := range []string{"x86_64_zen4", "x86_64_sapphire_rapids", "arm64_i8mm"} {
		c := chipstest.Target(t, name)
		compilers := [][]string{{"g++"}, {"clang++"}}
		if c.CPU == "arm64" {
			compilers = [][]string{{"aarch64-linux-gnu-g++", "-static"}, {"clang++", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"}}
		}
		require.Empty(t, c.Pairs(ir.F32), "only where it is asked for")
		for _, row := range c.InPairs().Pairs(ir.F32) {
			if tested[row.Name] {
				continue
			}
			tested[row.Name] = true
			as, c := c, withoutMatrices(c, row)
			ms := integerMicros(row)
			if row.Scheduled() {
				require.True(t, slices.ContainsFunc(ms, assembled), "%s: kernels in assembly", row.Name)
				require.True(t, slices.ContainsFunc(ms, func(m *loop.MicroKernel) bool { return !assembled(m) }), "%s: kernels that compilers schedule", row.Name)
			}
			src := filepath.Join(t.TempDir(), "run.cc")
			require.NoError(t, os.WriteFile(src, []byte(pairsProgram(row, ms)), 0o644))
			for _, cxx := range compilers {
				t.Run(row.Name+"/"+cxx[0], func(t *testing.T) {
					if as != c {
						compile(t, cxx, as, src)
					}
					bin := compile(t, cxx, c, src)
					emulator, ok := runs(c)
					if !ok {
						t.Skipf("this machine does not run code for %s", name)
					}
					command := append(emulator, bin)
					out, err := exec.Command(command[0], command[1:]...).Output()
					require.NoError(t, err)
					zeros, ends, nans := 0, 0, 0
					for _, size := range sizes {
						for _, m := range ms {
							for i, want := range pairsMeaning(m, size) {
								got := binary.LittleEndian.Uint32(out)
								out = out[4:]
								if math.IsNaN(float64(want)) {
									nans++
									require.True(t, math.IsNaN(float64(math.Float32frombits(got))), "%s: accumulator %d of size %d", cpp.MicroName(m), i, size)
									continue
								}
								switch {
								case want == 0:
									zeros++
								case math.IsInf(float64(want), 0):
									ends++
								}
								require.Equal(t, math.Float32bits(want), got, "%s: accumulator %d of size %d: want %g, got %g", cpp.MicroName(m), i, size, want, math.Float32frombits(got))
							}
						}
					}
					require.Empty(t, out)
					require.Positive(t, zeros, "sums that are denormal")
					require.Positive(t, ends, "sums that overflow")
					require.Positive(t, nans, "sums of infinities and NaNs")
				})
			}
		}
	}
	for _, r := range instr.Table() {
		require.Equal(t, r.InPairs(), tested[r.Name], "%s: name a chip that has it", r.Name)
	}
}
