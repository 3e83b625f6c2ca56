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
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/hostcpu"
	"rules_dnn/gen/target/instr"
)

// element is element i of the operands: a number of 24 bits, so that products round.
func element(i int64) float32 {
	return float32(uint32(i)*2654435761>>8)*0x1p-24 - 0.5
}

const elementC = "static float element(long i) { return (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-24f - 0.5f; }\n"

// runMicros are small micro-kernels of every kind of X: without loops, with loops that
// are written out in full, in part and not at all, with strides. None has a single
// accumulator: GCC does not fuse the products of such a chain, to shorten it.
func runMicros(row *instr.Row) []*loop.MicroKernel {
	var out []*loop.MicroKernel
	for _, x := range append([]instr.Operand{instr.Vector}, row.Broadcast...) {
		for _, k := range [][]loop.KLoop{
			{},
			{{Extent: 7, XStep: 3}},
			{{Extent: 3, XStep: 40}, {Extent: 16, XStep: 1}},
			{{Extent: 2, XStep: 90}, {Extent: 3, XStep: 30}, {Extent: 4, XStep: 1}},
			{{Extent: 64, XStep: 1}},
		} {
			if n := len(k); x == instr.Lane && (n == 0 || k[n-1].XStep != 1 || k[n-1].Extent%row.Lanes != 0) {
				continue
			}
			for _, rv := range [][2]int64{{2, 1}, {1, 2}, {3, 2}} {
				m := &loop.MicroKernel{Instr: row, X: x, Rows: rv[0], Vectors: rv[1], RowStep: 17, K: append([]loop.KLoop{}, k...)}
				step := rv[1] * row.Lanes
				for i := len(k) - 1; i >= 0; i-- {
					m.K[i].WStep = step
					step *= k[i].Extent
				}
				out = append(out, m)
				// The same from places apart: rows in runs of two, registers of W each by itself.
				apart := *m
				apart.Run, apart.RunStep, apart.VecStep = 2, 50, m.Steps()*row.Lanes
				apart.K = append([]loop.KLoop{}, m.K...)
				for i := range apart.K {
					apart.K[i].WStep /= rv[1]
				}
				out = append(out, &apart)
				if len(k) == 0 {
					kept := keptMicros(m)
					out = append(append(out, kept...), storedHalves(kept)...)
				}
				// And of registers that loads make of 16 bits.
				out = append(out, storedHalves([]*loop.MicroKernel{m})...)
			}
		}
	}
	return out
}

// storedHalves returns micro-kernels with W stored in 16 bits. A kernel whose products read W from
// memory has no such form.
func storedHalves(ms []*loop.MicroKernel) []*loop.MicroKernel {
	var out []*loop.MicroKernel
	for _, m := range ms {
		for _, stored := range loop.Halves {
			if half := *m; m.Kept == nil || m.Kept.Held == 0 {
				half.Stored = stored
				out = append(out, &half)
			}
		}
	}
	return out
}

// keptMicros sum over stored kernels, whose channels and runs are keptIndex and keptEnds.
func keptMicros(m *loop.MicroKernel) []*loop.MicroKernel {
	grouped, flat := *m, *m
	grouped.Kept = &loop.Kept{Blocks: 2, Taps: [][]int64{{0, 5, 11}, {1, 2, 19}}, Channels: 9, Group: 4, Step: 3, GroupStep: 40, Kernels: 50}
	flat.Kept = &loop.Kept{Blocks: 1, Taps: [][]int64{{0}, {7}, {3}, {4}}, Channels: 9, Group: 9, Step: 50, Kernels: 50}
	columns := flat // several rows read the same of X
	columns.Kept = &loop.Kept{Blocks: 1, Taps: [][]int64{{0, 1, m.RowStep, 2*m.RowStep + 1}, {5, m.RowStep + 5, 1, 2*m.RowStep + 5}, {2, 3, 4, 9}, {7, 9, 7 + m.RowStep, 9 + m.RowStep}}, Channels: 9, Group: 9, Step: 50, Kernels: 50}
	part := columns // those of a block of channels, added to the sums of the ones before
	part.Adds, part.Kept = true, &loop.Kept{Blocks: 1, Part: 3, Taps: columns.Kept.Taps[1:], Channels: 9, Group: 9, Step: 50, Kernels: 20}
	held := columns // products read one weight of four where it lies
	if apart := *columns.Kept; !m.Broadcast() {
		apart.Held = 3
		held.Kept = &apart
		return []*loop.MicroKernel{&grouped, &flat, &columns, &part, &held}
	}
	return []*loop.MicroKernel{&grouped, &flat, &columns, &part}
}

var keptIndex, keptEnds = []int64{8, 3, 0, 5, 4}, []int64{0, 2, 3, 3, 5}

// firstEnd is where the ends of a call's runs begin: those of a part are none of the first kernels'.
func firstEnd(m *loop.MicroKernel) int64 {
	if m.Kept.Part > 0 {
		return 1
	}
	return 0
}

// point is an element of X and of W, without rows and lanes.
type point struct{ x, w int64 }

// points are those of a micro-kernel's sum, in its order.
func points(m *loop.MicroKernel) []point {
	var out []point
	if k := m.Kept; k != nil {
		for run := range k.Runs() {
			ends := keptEnds[firstEnd(m)+run:]
			for n := ends[0]; n < ends[1]; n++ {
				taps := k.Taps[run%int64(len(k.Taps))]
				if !m.Broadcast() {
					for _, c := range m.Columns(taps) {
						for _, i := range c.Taps {
							out = append(out, point{k.At(keptIndex[n]) + taps[i], n*k.Entries() + i})
						}
					}
					continue
				}
				for i, tap := range taps {
					out = append(out, point{k.At(keptIndex[n]) + tap, (n*k.Entries() + int64(i)) * m.Vectors * m.Lanes()})
				}
			}
		}
		return out
	}
	for step := range m.Steps() {
		p := point{}
		for i := len(m.K) - 1; i >= 0; i-- {
			k := m.K[i]
			p.x, p.w, step = p.x+step%k.Extent*k.XStep, p.w+step%k.Extent*k.WStep, step/k.Extent
		}
		out = append(out, p)
	}
	return out
}

// cArray is an array's elements in C.
func cArray(xs []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(xs), " ", ", "), "[]")
}

// meaning runs a micro-kernel by its row's meaning: the definition in loop.MicroKernel.
func meaning(t *testing.T, m *loop.MicroKernel) []float32 {
	n := m.Vectors * m.Lanes()
	acc := make([]float32, m.Rows*n)
	for i := range acc {
		if m.Adds {
			acc[i] = element(int64(i))
		}
	}
	for _, p := range points(m) {
		for i := range acc {
			r, l := int64(i)/n, int64(i)%n
			at := m.RowAt(r) + p.x
			if !m.Broadcast() {
				at += l
			}
			w := p.w
			if m.Kept == nil || m.Broadcast() {
				w += m.VectorAt(l/m.Lanes()) + l%m.Lanes()
			}
			acc[i] = lane(t, m.Instr, acc[i], element(at), weight(m, 1000+w))
		}
	}
	return acc
}

// weight is element i of W.
func weight(m *loop.MicroKernel, i int64) float32 {
	switch m.Stored {
	case ir.F16:
		return scalar.F16ToF32(scalar.F32ToF16(element(i)))
	case ir.BF16:
		return scalar.BF16ToF32(scalar.F32ToBF16(element(i)))
	}
	return element(i)
}

// lane is a lane's next value. Package scalar rounds products; where the instruction does not,
// the value is computed exactly and rounded once.
func lane(t *testing.T, row *instr.Row, acc, x, w float32) float32 {
	call, ok := row.Meaning.(te.Call)
	require.True(t, ok && call.Fn == "fma", "%s: the test knows of no meaning but fma", row.Name)
	if row.Fused {
		exact := new(big.Float).SetPrec(600).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(w)))
		sum, _ := exact.Add(exact, big.NewFloat(float64(acc))).Float32()
		return sum
	}
	values := []float32{x, w}
	var args []*scalar.Vec
	for _, a := range call.Args {
		v := acc
		if in, ok := a.(te.In); ok {
			v = values[in.N]
		}
		args = append(args, &scalar.Vec{F32: []float32{v}})
	}
	f, err := scalar.Bind(call.Fn, call.Type, []ir.DType{ir.F32, ir.F32, ir.F32})
	require.NoError(t, err)
	out := &scalar.Vec{F32: []float32{0}}
	f(out, args)
	return out.F32[0]
}

// runProgram is a C++ program that writes what every micro-kernel gives.
func runProgram(ms []*loop.MicroKernel) string {
	var w, calls strings.Builder
	w.WriteString("#include <stdio.h>\n#include \"runtime/dnn_kernel.h\"\n" + elementC)
	for _, m := range ms {
		w.WriteString(cpp.Micro(loop.Tile{Micro: m}, 2))
		kept := ""
		if m.Kept != nil {
			kept = fmt.Sprintf(", kept_index, kept_ends + %d", firstEnd(m))
		}
		if m.Adds {
			fmt.Fprintf(&calls, "  for (long i = 0; i < %d; i++) acc[i] = element(i);\n", m.Rows*m.Vectors*m.Lanes())
		}
		fmt.Fprintf(&calls, "  %s(x, w_%s, acc%s);\n  fwrite(acc, 4, %d, stdout);\n", cpp.MicroName(m), m.W(), kept, m.Rows*m.Vectors*m.Lanes())
	}
	fmt.Fprintf(&w, "static const uint16_t kept_index[] = {%s}, kept_ends[] = {%s};\n", cArray(keptIndex), cArray(keptEnds))
	w.WriteString("static float x[1000], w_f32[8000], acc[200];\nstatic uint16_t w_f16[8000], w_bf16[8000];\n" +
		"int main() {\n  for (long i = 0; i < 1000; i++) x[i] = element(i);\n" +
		"  for (long i = 0; i < 8000; i++) {\n    w_f32[i] = element(1000 + i);\n    w_f16[i] = dnn_math::f32_to_f16(w_f32[i]);\n" +
		"    w_bf16[i] = dnn_math::f32_to_bf16(w_f32[i]);\n  }\n" + calls.String() + "}\n")
	return w.String()
}

// runs reports whether this machine has what a chip's kernels need, and by which program they run.
func runs(c *target.Target) (emulator []string, ok bool) {
	if c.CPU == "arm64" {
		_, err := exec.LookPath("qemu-aarch64")
		return []string{"qemu-aarch64"}, err == nil
	}
	return nil, hostcpu.Runs(c.GOARCH(), c.CPUFeatures...)
}

// TestMicroKernelsMeanWhatTheirRowsSay runs micro-kernels, compiled by each compiler there is, and
// compares every bit with the rows' meaning.
func TestMicroKernelsMeanWhatTheirRowsSay(t *testing.T) {
	for _, name := range chipNames {
		c := chipstest.Target(t, name)
		ms := runMicros(c.Tile(ir.F32))
		src := filepath.Join(t.TempDir(), "run.cc")
		require.NoError(t, os.WriteFile(src, []byte(runProgram(ms)), 0o644))
		compilers := [][]string{{"g++"}, {"clang++"}}
		if c.CPU == "arm64" {
			compilers = [][]string{{"aarch64-linux-gnu-g++", "-static"}, {"clang++", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"}}
		}
		for _, cxx := range compilers {
			t.Run(name+"/"+cxx[0], func(t *testing.T) {
				emulator, ok := runs(c)
				if !ok {
					t.Skipf("this machine does not run code for %s", name)
				}
				command := append(emulator, compile(t, cxx, c, src))
				out, err := exec.Command(command[0], command[1:]...).Output()
				require.NoError(t, err)
				compare(t, ms, out)
			})
		}
	}
}

func compile(t *testing.T, cxx []string, c *target.Target, src string) string {
	tool(t, cxx[0])
	bin := filepath.Join(t.TempDir(), "run")
	args := append(append(append(append([]string{}, cxx[1:]...), kernelCopts(t)...), c.Copts...), "-Wall", "-Wextra", "-Werror", "-I"+root, src, "-o", bin)
	msg, err := exec.Command(cxx[0], args...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", cxx[0], strings.Join(args, " "), msg)
	return bin
}

func compare(t *testing.T, ms []*loop.MicroKernel, out []byte) {
	for _, m := range ms {
		for i, want := range meaning(t, m) {
			require.GreaterOrEqual(t, len(out), 4, "%s: the program's output ends", cpp.MicroName(m))
			got := math.Float32frombits(binary.LittleEndian.Uint32(out))
			require.Equal(t, want, got, "%s: accumulator %d", cpp.MicroName(m), i)
			out = out[4:]
		}
	}
	require.Empty(t, out)
}
