package opencl_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
)

var unary = []string{"Exp.13", "Log.13", "Sin.7", "Cos.7", "Tan.7", "Asin.7", "Acos.7", "Atan.7", "Sinh.9", "Cosh.9", "Tanh.13",
	"Asinh.9", "Acosh.9", "Atanh.9", "Erf.13", "Sqrt.13", "Floor.13", "Ceil.13", "Round.11", "Sign.13", "Reciprocal.13"}

// numbers are floats of every magnitude, the ends of functions' domains, and what is not finite; their
// number is no multiple of a vector's lanes.
func numbers(n int64) *ir.Tensor {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, 1e-40, -1e-40, 88.7, -104, 1599, 1601, 1e9, -1e20, 3e38,
		math.Inf(1), math.Inf(-1), math.NaN(), math.Pi, 16384.5, 8388609, 0.70710677, 1.4142135}
	t := ir.NewTensor(ir.F32, n)
	for i := range n {
		x := math.Sin(float64(i)) * math.Ldexp(1, int(i%60)-30)
		if i < int64(len(special)) {
			x = special[i]
		}
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(float32(x)))
	}
	return t
}

// TestFunctions: without contraction, scalar functions give the very bits that the compiler's own give,
// in vectors and one by one.
func TestFunctions(t *testing.T) {
	const n = 1023
	m := newModel().line("input %%x f32[%d]", n).line("input %%z f32[%d]", n)
	for i, op := range unary {
		m.line("%%y%d ?[*] = %s(%%x)", i, op)
	}
	m.line("%%pow ?[*] = Pow.15(%%x, %%z)").line("%%mod ?[*] = Mod.13(%%x, %%z) {fmod = 1}")
	names := make([]string, len(unary))
	for i, op := range unary {
		names[i] = op
		m.line("output %%y%d", i)
	}
	m.line("output %%pow").line("output %%mod")
	names = append(names, "Pow", "Mod")
	d := device(t, "opencl_buffers")
	p := compile(t, m.graph(t), d)
	x, z := numbers(n), ir.NewTensor(ir.F32, n)
	for i := range n { // other pairs
		copy(z.Data[4*i:4*i+4], x.Data[4*((i*7+3)%n):])
	}
	want, err := interp.Graph(m.graph(t), map[string]*ir.Tensor{"x": x, "z": z})
	require.NoError(t, err)
	got := opencltest.Run(t, root, []opencltest.Case{{Name: "functions", Program: p, Device: d, Inputs: []*ir.Tensor{x, z}, Exact: true}})[0]
	if got.Status == opencltest.Lacks {
		t.Skip("the device has no doubles, which Pow needs")
	}
	require.Zero(t, got.Status)
	for k, name := range names {
		for i := range n {
			a, b := word(got.Outputs[k], i), word(want[k], i)
			if a != b && !(isNaN(a) && isNaN(b)) {
				assert.Fail(t, "another number", "%s of %v, %v is %v, want %v", name, value(word(x, i)), value(word(z, i)), value(a), value(b))
				break
			}
		}
	}
}

func word(t *ir.Tensor, i int) uint32 { return binary.LittleEndian.Uint32(t.Data[4*i:]) }
func value(w uint32) float32          { return math.Float32frombits(w) }
func isNaN(w uint32) bool             { return value(w) != value(w) }
