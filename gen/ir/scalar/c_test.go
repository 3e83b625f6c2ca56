package scalar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/hostcpu"
)

// program is C++ with one loop for each row: standard input holds the rows'
// arguments, standard output gets the results.
type program struct {
	body  strings.Builder
	calls strings.Builder
	in    bytes.Buffer
	n     int
	// flush makes denormal numbers zeros, as runs do that do not ask to keep them.
	flush bool
}

// add applies the row to elements of type t, lanes at a time (1: scalars). The
// results are raw elements of the result's type; bools and masks become bytes.
func (p *program) add(row *Row, result, arg ir.DType, lanes int, args ...any) {
	in, out := CType(arg), CType(result)
	if lanes > 1 {
		in, out = fmt.Sprintf("v%d", lanes), fmt.Sprintf("v%d", lanes)
	}
	names := []string{"a", "b", "c"}[:len(args)]
	fmt.Fprintf(&p.body, "static void f%d(int n) {\n  for (int i = 0; i < n; i += %d) {\n", p.n, lanes)
	for k, name := range names {
		fmt.Fprintf(&p.body, "    %s %s; memcpy(&%s, in[%d] + i * %d, sizeof %s);\n", in, name, name, k, arg.Size(), name)
	}
	text := row.C(result, names)
	fmt.Fprintf(&p.body, "    const %s r = %s;\n    memcpy(out + i * %d, &r, sizeof r);\n  }\n}\n", out, text, result.Size())
	n := binary.Size(args[0]) / arg.Size()
	fmt.Fprintf(&p.calls, "  run(f%d, %d, %d, %d, %d);\n", p.n, n, len(args), arg.Size(), result.Size())
	p.n++
	for _, a := range args {
		_ = binary.Write(&p.in, binary.LittleEndian, a)
	}
}

const prologue = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dnn_cpu.h"
#include "runtime/dnn_kernel.h"
typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
static char* in[3];
static char* out;
static void run(void (*f)(int), int n, int args, int in_size, int out_size) {
  const size_t bytes = static_cast<size_t>(n) * static_cast<size_t>(in_size);
  for (int k = 0; k < args; k++) {
    in[k] = static_cast<char*>(malloc(bytes));
    if (fread(in[k], 1, bytes, stdin) != bytes) exit(3);
  }
  out = static_cast<char*>(malloc(static_cast<size_t>(n) * static_cast<size_t>(out_size)));
  f(n);
  fwrite(out, static_cast<size_t>(out_size), static_cast<size_t>(n), stdout);
}
`

// run compiles and runs the program with each compiler there is and has its output
// checked; it skips the test where there is none.
func (p *program) run(t *testing.T, check func(t *testing.T, res []byte), flags ...string) {
	t.Helper()
	header, err := filepath.Abs("../../../runtime")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(header, "dnn_math.h")); err != nil {
		t.Skip("no runtime/dnn_math.h beside this package")
	}
	found := false
	for _, name := range []string{"c++", "clang++"} {
		cxx, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		found = true
		t.Run(name, func(t *testing.T) {
			check(t, p.output(t, cxx, nil, append(flags, "-I", header, "-I", filepath.Dir(header))))
		})
	}
	if !found {
		t.Skip("no C++ compiler: there is neither c++ nor clang++ on PATH")
	}
}

// runArm runs the program for 64-bit ARM under qemu; it skips the test where a tool is missing.
func (p *program) runArm(t *testing.T, check func(t *testing.T, res []byte), flags ...string) {
	t.Helper()
	t.Run("arm64", func(t *testing.T) {
		for _, tool := range []string{"aarch64-linux-gnu-g++", "qemu-aarch64"} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("no %s on PATH", tool)
			}
		}
		check(t, p.output(t, "aarch64-linux-gnu-g++", []string{"qemu-aarch64"}, append(flags, "-static", "-I", "../../../runtime", "-I", "../../..")))
	})
}

// output is what the program writes, compiled by cxx and run by an emulator, if any.
func (p *program) output(t *testing.T, cxx string, emulator, flags []string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "p.cc"), filepath.Join(dir, "p")
	text := fmt.Sprintf("%s%sint main() {\n  const rules_dnn::DenormalsAsZero mode(%v);\n%s  return 0;\n}\n", prologue, &p.body, p.flush, &p.calls)
	require.NoError(t, os.WriteFile(src, []byte(text), 0o600))
	args := append([]string{"-std=c++17", "-O2", "-fno-math-errno", "-Wall", "-Wextra", "-Werror"}, flags...)
	msg, err := exec.Command(cxx, append(args, src, "-o", bin, "-lm")...).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	command := append(append([]string{}, emulator...), bin)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(p.in.Bytes())
	res, err := cmd.Output()
	require.NoError(t, err)
	return res
}

// pairs are samples and, as second arguments, the same in another order.
func pairs(stride uint32) (xs, ys []float32) {
	xs = samples(stride)
	xs = xs[:len(xs)&^7]
	ys = make([]float32, len(xs))
	for i := range xs {
		ys[i] = xs[(i*7919+13)%len(xs)]
	}
	px, py := powPairs()
	px, py = px[:len(px)&^7], py[:len(px)&^7]
	return append(xs, px...), append(ys, py...)
}

func TestHeaderAgreesBitByBitOnFloat(t *testing.T) {
	xs, ys := pairs(300007)
	for _, lanes := range []int{1, 4, 8} {
		var p program
		var rows []*Row
		var want [][]float32
		for _, row := range Table() {
			if !row.Kinds.Has(ir.F32) || row.Result != Same {
				continue
			}
			args := []any{xs, ys, xs}[:row.Arity]
			p.add(row, ir.F32, ir.F32, lanes, args...)
			w := make([]float32, len(xs))
			row.float.f32(&Vec{F32: w}, []*Vec{{F32: xs}, {F32: ys}, {F32: xs}}[:row.Arity])
			rows, want = append(rows, row), append(want, w)
		}
		p.run(t, func(t *testing.T, res []byte) {
			for k, row := range rows {
				for i, w := range want[k] {
					b := binary.LittleEndian.Uint32(res[4*(k*len(xs)+i):])
					if g := math.Float32frombits(b); g != g && w != w || b == math.Float32bits(w) || g == w && ordersZeros(row, lanes) {
						continue
					}
					t.Fatalf("%s(%x, %x) in %d lanes: C++ gives %x, Go %x", row.Name, xs[i], ys[i], lanes, math.Float32frombits(b), w)
				}
			}
		}, "-ffp-contract=off")
	}
}

func TestContractedHeaderWithinStatedULP(t *testing.T) {
	if !hostcpu.Has("fma") {
		t.Skip("this processor is not known to have FMA instructions of x86")
	}
	xs := samples(40009)
	xs = xs[:len(xs)&^7]
	var p program
	var rows []*Row
	for _, row := range Table() {
		if row.ULP != 0 && row.Arity == 1 {
			rows = append(rows, row)
			p.add(row, ir.F32, ir.F32, 8, xs)
		}
	}
	p.run(t, func(t *testing.T, res []byte) {
		for k, row := range rows {
			got := make([]float32, len(xs))
			require.NoError(t, binary.Read(bytes.NewReader(res[4*k*len(xs):]), binary.LittleEndian, got))
			t.Run(row.Name, func(t *testing.T) { checkULP(t, row, xs, got) })
		}
	}, "-ffp-contract=fast", "-mavx2", "-mfma")
}

// wholeValues are interesting integers of a type, as raw elements, in all pairs.
func wholeValues(t ir.DType) (a, b []int64) {
	vs := []int64{0, 1, 2, 3, 5, 7, 31, 63, 64, 100, math.MaxInt64, -1, -2, -7, -100, math.MinInt64,
		1<<(8*t.Size()-1) - 1, -1 << (8*t.Size() - 1), 1<<(8*t.Size()-1) + 5}
	one := &Vec{I64: vs}
	if fix := Narrow(t); fix != nil {
		fix(one)
	}
	for _, x := range vs {
		for _, y := range vs {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b
}

// raw packs lane values as elements of t.
func raw(t ir.DType, v *Vec) []byte {
	var out []byte
	for i := range v.Len() {
		switch ClassOf(t) {
		case ClassF32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v.F32[i]))
		case ClassF64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v.F64[i]))
		default:
			out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(v.I64[i]))[:t.Size()]...)
		}
	}
	return out
}

var wholeTypes = []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64}

func TestHeaderAgreesOnIntegers(t *testing.T) {
	var p program
	var want []byte
	for _, of := range wholeTypes {
		a, b := wholeValues(of)
		va, vb := &Vec{I64: a}, &Vec{I64: b}
		for _, row := range Table() {
			if !row.Kinds.Has(of) || row.Result == Choice || row.converts() {
				continue
			}
			result := of
			if row.Result == Predicate {
				result = ir.Bool
			}
			types := []ir.DType{of, of}[:row.Arity]
			f, err := Bind(row.Name, result, types)
			require.NoError(t, err)
			w := NewVec(result, len(a))
			f(w, []*Vec{va, vb}[:row.Arity])
			p.add(row, result, of, 1, []any{raw(of, va), raw(of, vb)}[:row.Arity]...)
			want = append(want, raw(result, w)...)
		}
	}
	p.run(t, func(t *testing.T, res []byte) { require.True(t, bytes.Equal(want, res)) })
}

func TestHeaderAgreesOnCasts(t *testing.T) {
	xs, _ := pairs(1000003)
	wide := make([]float64, len(xs))
	for i, x := range xs {
		wide[i] = float64(x) * (1 + float64(i%5-2)*0x1p-26)
	}
	var p program
	var want []byte
	add := func(from ir.DType, v *Vec, data any) {
		for _, to := range append([]ir.DType{ir.Bool, ir.F16, ir.BF16, ir.F32, ir.F64}, wholeTypes...) {
			f, err := Bind("cast", to, []ir.DType{from})
			require.NoError(t, err)
			w := NewVec(to, v.Len())
			f(w, []*Vec{v})
			clearNaN(w)
			as := to
			if ClassOf(to) == ClassF32 {
				as = ir.F32
			}
			row := *Lookup("cast")
			row.text = text{f32: row.C(to, []string{"$0"}), integer: row.C(to, []string{"$0"}), f64: row.text.f64, boolean: row.text.boolean}
			p.add(&row, as, from, 1, data)
			want = append(want, raw(as, w)...)
		}
	}
	add(ir.F32, &Vec{F32: noNaN(xs)}, noNaN(xs))
	add(ir.F64, &Vec{F64: noNaN(wide)}, noNaN(wide))
	for _, of := range wholeTypes {
		a, _ := wholeValues(of)
		add(of, &Vec{I64: a}, raw(of, &Vec{I64: a}))
	}
	p.run(t, func(t *testing.T, res []byte) { require.True(t, bytes.Equal(want, res)) })
}

func TestHeaderAgreesOnBits(t *testing.T) {
	ints, _ := wholeValues(ir.I64)
	wide := make([]float64, len(ints))
	short := make([]float32, len(ints))
	for i, x := range ints {
		wide[i], short[i] = math.Float64frombits(uint64(x)), math.Float32frombits(uint32(x>>7))
	}
	var p program
	var want []byte
	for _, c := range []struct {
		from, to ir.DType
		v        *Vec
	}{
		{ir.F32, ir.I32, &Vec{F32: short}}, {ir.F32, ir.U32, &Vec{F32: short}},
		{ir.F64, ir.I64, &Vec{F64: wide}}, {ir.F64, ir.U64, &Vec{F64: wide}},
		{ir.I64, ir.F64, &Vec{I64: ints}}, {ir.U64, ir.F64, &Vec{I64: ints}},
		{ir.I32, ir.F32, narrowed(ir.I32, ints)}, {ir.U32, ir.F32, narrowed(ir.U32, ints)},
		{ir.U32, ir.I32, narrowed(ir.U32, ints)}, {ir.I64, ir.U64, &Vec{I64: ints}},
	} {
		f, err := Bind("bits", c.to, []ir.DType{c.from})
		require.NoError(t, err)
		w := NewVec(c.to, c.v.Len())
		f(w, []*Vec{c.v})
		p.add(Lookup("bits"), c.to, c.from, 1, raw(c.from, c.v))
		want = append(want, raw(c.to, w)...)
	}
	p.run(t, func(t *testing.T, res []byte) { require.True(t, bytes.Equal(want, res)) })
}

func narrowed(t ir.DType, xs []int64) *Vec {
	v := &Vec{I64: append([]int64{}, xs...)}
	Narrow(t)(v)
	return v
}

// NaNs keep no agreed payload in conversions; they are tested by themselves.
func noNaN[T float32 | float64](xs []T) []T {
	var out []T
	for _, x := range xs {
		if x == x {
			out = append(out, x)
		}
	}
	return out
}

func clearNaN(v *Vec) {
	for _, x := range v.F32 {
		if x != x {
			panic("a number became NaN")
		}
	}
}
