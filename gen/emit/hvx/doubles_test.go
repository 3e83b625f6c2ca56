package hvx_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// doubles are the functions of runtime/dsp/dnn_f64.h, by the names of scalar functions, and those of double that compilers call.
var doubles = []string{"exp", "expm1", "log", "log1p", "erf", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
	"sqrt", "floor", "ceil", "trunc", "round", "fmod", "pow", "mul", "div"}

// doubleOperands are of what functions treat apart, and of every magnitude.
func doubleOperands() []float64 {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2, 3, -3, 5, 6, 6.5, 40, 41, 709.7, 745, 751, -745, -751, math.Inf(1), math.Inf(-1), math.NaN(),
		math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 0x1p-60, 0x1p-61, 0x1p-28, 0x1p-29, 0x1p52, 0x1p53 - 1, 1 << 53, 1e22, math.Pi, math.Pi / 2, math.Pi / 4,
		6381956970095103 * 0x1p797, 0x1.fffffffffffffp-1, -0x1.fffffffffffffp-1, 0x1.0000000000001p0, 4503599627370497.5}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		special = append(special, r.NormFloat64(), 10*r.NormFloat64(), math.Ldexp(r.Float64()-0.5, int(r.Int64N(2100))-1060), math.Trunc(20*r.NormFloat64()))
	}
	return special
}

// TestDoubles: functions of double that a DSP has no C library for have the bits of the compiler's own, which fold constants. They are portable C.
func TestDoubles(t *testing.T) {
	compiler := ""
	for _, name := range []string{"clang", "gcc"} {
		if _, err := exec.LookPath(name); err == nil {
			compiler = name
			break
		}
	}
	if compiler == "" {
		t.Skip("no clang or gcc on this machine")
	}
	const root = "../../.."
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(doublesMain()), 0o644))
	sources, err := filepath.Glob(root + "/runtime/dsp/dnn_*.c")
	require.NoError(t, err)
	program := filepath.Join(dir, "doubles")
	args := append([]string{"-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover", "-ffp-contract=off", "-I" + root, "-o", program, filepath.Join(dir, "main.c")}, sources...)
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var ask bytes.Buffer
	type question struct {
		fn   string
		x, y float64
	}
	var questions []question
	xs := doubleOperands()
	for f, name := range doubles {
		for i, x := range xs {
			questions = append(questions, question{name, x, xs[(7*i+3)%len(xs)]})
			q := questions[len(questions)-1]
			for _, word := range []uint64{uint64(f), math.Float64bits(q.x), math.Float64bits(q.y)} {
				ask.Write(binary.LittleEndian.AppendUint64(nil, word))
			}
		}
	}
	cmd := exec.Command(program)
	cmd.Stdin = &ask
	answers, err := cmd.Output()
	require.NoError(t, err)
	require.Len(t, answers, 8*len(questions))
	for i, q := range questions {
		got, want := math.Float64frombits(binary.LittleEndian.Uint64(answers[8*i:])), own(t, q.fn, q.x, q.y)
		if math.IsNaN(want) {
			assert.True(t, math.IsNaN(got), "%s(%v, %v) is %v, want NaN", q.fn, q.x, q.y, got)
			continue
		}
		assert.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s(%v, %v) is %v, want %v", q.fn, q.x, q.y, got, want)
	}
}

// own is the compiler's own value.
func own(t *testing.T, fn string, x, y float64) float64 {
	row := scalar.Lookup(fn)
	var types []ir.DType
	var args []*scalar.Vec
	for _, v := range []float64{x, y}[:row.Arity] {
		types = append(types, ir.F64)
		a := scalar.NewVec(ir.F64, 1)
		a.F64[0] = v
		args = append(args, a)
	}
	f, err := scalar.Bind(fn, ir.F64, types)
	require.NoError(t, err)
	out := scalar.NewVec(ir.F64, 1)
	f(out, args)
	return out.F64[0]
}

func doublesMain() string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <stdint.h>\n#include <string.h>\n#include \"runtime/dsp/dnn_f64.h\"\n" +
		"double __hexagon_muldf3(double x, double y);\ndouble __hexagon_divdf3(double x, double y);\n" +
		"int main(void) {\n  uint64_t q[3];\n  while (fread(q, sizeof q, 1, stdin) == 1) {\n    double x, y, z = 0;\n    memcpy(&x, q + 1, 8);\n    memcpy(&y, q + 2, 8);\n    switch (q[0]) {\n")
	for i, name := range doubles {
		args, c := "x", "dnn_f64_"+name
		if scalar.Lookup(name).Arity == 2 {
			args = "x, y"
		}
		switch name {
		case "round":
			c = "dnn_f64_rint"
		case "mul", "div":
			c = "__hexagon_" + name + "df3"
		}
		fmt.Fprintf(&b, "      case %d: z = %s(%s); break;\n", i, c, args)
	}
	b.WriteString("    }\n    fwrite(&z, 8, 1, stdout);\n  }\n  return 0;\n}\n")
	return b.String()
}
