package cpp_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/instr"
)

// integerMicros are small micro-kernels of an instruction for integers: without loops, with loops that are written out in full and not
// at all, with registers of W side by side and apart, and with an X of its own for each lane.
func integerMicros(row *instr.Row) []*loop.MicroKernel {
	var out []*loop.MicroKernel
	for _, k := range [][]loop.KLoop{{}, {{Extent: 5, XStep: row.Group}}, {{Extent: 2, XStep: 60}, {Extent: 64, XStep: row.Group}}} {
		for _, rv := range integerTiles(row) {
			m := &loop.MicroKernel{Instr: row, X: row.Broadcast[0], Rows: rv[0], Vectors: rv[1], RowStep: 300, K: slices.Clone(k)}
			step := rv[1] * row.Lanes * row.Group
			for i := len(k) - 1; i >= 0; i-- {
				m.K[i].WStep = step
				step *= k[i].Extent
			}
			out = append(out, m)
			if n := len(k); row.Allows(instr.Lane) && (n == 0 || k[n-1].Extent%row.Lanes != 0) {
				m.X = row.Broadcaster(0)
			} else if row.Allows(instr.Lane) {
				register := *m
				register.X = row.Broadcaster(0)
				out = append(out, &register)
			}
			if row.Allows(instr.Vector) && !row.Blocks {
				vector := *m
				vector.X = instr.Vector
				out = append(out, &vector)
			}
			apart := *m
			apart.K, apart.VecStep = slices.Clone(m.K), m.Steps()*row.Lanes*row.Group
			for i := range apart.K {
				apart.K[i].WStep /= rv[1]
			}
			out = append(out, &apart)
		}
	}
	return out
}

// integerTiles are tiles of so many rows and registers; of matrices those that fill registers, and that have a row more or less.
func integerTiles(row *instr.Row) [][2]int64 {
	if row.Matrix > 0 {
		return [][2]int64{{1, 1}, {16, 2}, {17, 2}, {32, 2}, {47, 1}}
	}
	if row.Blocks {
		return [][2]int64{{1, 1}, {3, 1}, {1, 2}, {3, 2}, {4, 2}, {6, 3}, {6, 4}, {7, 3}}
	}
	return [][2]int64{{1, 1}, {3, 1}, {1, 2}, {3, 2}}
}

// integer is element i of the operands: numbers of the whole type, its ends first. Of 16 bits, a number of 8 minus a zero point.
func integer(t ir.DType, i int64) int64 {
	x := int64(uint32(i) * 2654435761 >> 24)
	switch {
	case i%37 < 20:
		x = 255
	case i%37 < 24:
		x = 0
	}
	switch t {
	case ir.I8:
		return x - 128
	case ir.I16:
		return 2*x - 255
	}
	return x
}

const integerC = `template <typename T>
static T integer(long i) {
  long x = (uint32_t)i * 2654435761u >> 24;
  if (i % 37 < 24) x = i % 37 < 20 ? 255 : 0;
  return (T)(sizeof(T) == 2 ? 2 * x - 255 : (T)-1 < 0 ? x - 128 : x);
}
`

// integerMeaning is what loop.MicroKernel says, in 32 bits that wrap.
func integerMeaning(m *loop.MicroKernel) []int32 {
	n, group := m.Vectors*m.Lanes(), m.Instr.Group
	acc := make([]int32, m.Rows*n)
	for step := range m.Steps() {
		xo, wo := int64(0), int64(0)
		for i := len(m.K) - 1; i >= 0; i-- {
			k := m.K[i]
			xo, wo, step = xo+step%k.Extent*k.XStep, wo+step%k.Extent*k.WStep, step/k.Extent
		}
		for i := range acc {
			r, l := int64(i)/n, int64(i)%n
			for g := range group {
				at := m.RowAt(r) + xo + g
				if !m.Broadcast() {
					at += l * group
				}
				x := integer(m.Instr.X, at)
				w := integer(m.Instr.W, wo+m.VectorAt(l/m.Lanes())+l%m.Lanes()*group+g)
				acc[i] += int32(x * w)
			}
		}
	}
	return acc
}

func integerProgram(row *instr.Row, ms []*loop.MicroKernel) string {
	kernels, calls := called(row, ms)
	x, w := cpp.Storage(row.X), cpp.Storage(row.W)
	return kernels + integerC + fmt.Sprintf(`static %[1]s x[16000];
static %[2]s w[20000];
static int32_t acc[2000];
int main() {
  for (long i = 0; i < 16000; i++) x[i] = integer<%[1]s>(i);
  for (long i = 0; i < 20000; i++) w[i] = integer<%[2]s>(i);
%[3]s}
`, x, w, calls)
}

// called are micro-kernels of an instruction, and calls of them for "x" and "w", each of which prints its accumulators.
func called(row *instr.Row, ms []*loop.MicroKernel) (kernels, calls string) {
	var k, c strings.Builder
	k.WriteString("#include <stdio.h>\n#include \"runtime/dnn_kernel.h\"\n")
	tiles := ""
	if row.Matrix > 0 {
		c.WriteString("    dnn_amx tiles;\n")
		tiles = ", &tiles"
	}
	for _, m := range ms {
		k.WriteString(cpp.Micro(loop.Tile{Micro: m}, 2))
		fmt.Fprintf(&c, "    %s(x, w, acc%s);\n    fwrite(acc, 4, %d, stdout);\n", cpp.MicroName(m), tiles, m.Rows*m.Vectors*m.Lanes())
	}
	return k.String(), c.String()
}

// integerChips are chips that have rows for integers, each row in one at least.
var integerChips = []string{"x86_64", "x86_64_v3", "x86_64_v4", "x86_64_v4_vnni", "x86_64_alder_lake", "x86_64_sapphire_rapids", "arm64", "arm64_cortex_a76", "arm64_i8mm"}

// withoutMatrices is a chip for which tile registers are memory, of an instruction that multiplies matrices: any processor of its kind runs what is
// compiled for that.
func withoutMatrices(c *target.Target, row *instr.Row) *target.Target {
	if row.Matrix == 0 {
		return c
	}
	portable := *c
	portable.CPUFeatures, portable.Copts = nil, []string{"-DDNN_AMX_PORTABLE", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	return &portable
}

// TestIntegerMicroKernels runs micro-kernels of integers, compiled by each compiler there is, and compares every bit with what
// micro-kernels mean. Code for processors other than this one is compiled.
func TestIntegerMicroKernels(t *testing.T) {
	tested := map[string]bool{}
	for _, name := range integerChips {
		c := chipstest.Target(t, name)
		compilers := [][]string{{"g++"}, {"clang++"}}
		if c.CPU == "arm64" {
			compilers = [][]string{{"aarch64-linux-gnu-g++", "-static"}, {"clang++", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"}}
		}
		for _, row := range c.Dots(ir.I32) {
			tested[row.Name] = true
			as, c := c, withoutMatrices(c, row)
			ms := integerMicros(row)
			src := filepath.Join(t.TempDir(), "run.cc")
			require.NoError(t, os.WriteFile(src, []byte(integerProgram(row, ms)), 0o644))
			for _, cxx := range compilers {
				t.Run(name+"/"+row.Name+"/"+cxx[0], func(t *testing.T) {
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
					for _, m := range ms {
						want := integerMeaning(m)
						got := make([]int32, len(want))
						n, err := binary.Decode(out, binary.LittleEndian, got)
						require.NoError(t, err)
						require.Equal(t, want, got, "%s", cpp.MicroName(m))
						out = out[n:]
					}
					require.Empty(t, out)
				})
			}
		}
	}
	for _, r := range instr.Table() {
		if r.Text("cpp", "", "", "") != "" && !r.Acc.IsFloat() {
			require.True(t, tested[r.Name], "%s: name a chip that has it", r.Name)
		}
	}
}
