package pipeline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// halved is a network of which an exponential stays f32.
const halved = `graph "g" opset 18 {
  const @w f32[8, 4] = {1, -1, 0.5, 0.25, 3, 2, 1, 0, 1, -1, 0.3, 0.25, 3, 2, 1, 0, 1, -1, 0.5, 0.1, 3, 2, 1, 0, 1, -1, 0.5, 0.25, 3, 0.7, 1, 0}
  input %x f32[3, 8]
  %a ?[*] = Relu.14(%x) "relu"
  %b ?[*] = MatMul.13(%a, @w) "product"
  %e ?[*] = Exp.13(%b) "exp"
  %y ?[*] = Softmax.13(%e) "softmax"
  output %y
  output %b
}`

// TestHalf: a network stored in 16 bits keeps its interface, takes half the memory, says what stays f32, and computes what it did but for
// roundings, on every chip.
func TestHalf(t *testing.T) {
	x := ramp(3, 8)
	whole := compile(t, halved)
	want, err := interp.Graph(whole.Graph, map[string]*ir.Tensor{"x": x})
	require.NoError(t, err)
	for _, name := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
		s := parse(t, halved)
		s.Store = ir.F16
		s.Target = chipstest.Target(t, name)
		for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
			_, err := Run(passes, s, Options{})
			require.NoError(t, err)
		}
		p := s.Program
		assert.Equal(t, &plan.Precision{Storage: "f16", Product: "f32", Accumulator: "f32", Nodes: 2, Kept: []plan.Kept{
			{Node: `Exp "exp"`, Why: "its results may leave the range of 16 bits even if its operands do not"},
			{Node: `Softmax "softmax"`, Why: `it is computed with "e", which stays f32`},
		}}, p.Precision)
		for _, v := range append(append([]*ir.Value{}, p.Inputs...), p.Outputs...) {
			assert.Equal(t, ir.F32, v.Type, v.Name)
		}
		got, err := run.Program(p, []*ir.Tensor{x})
		require.NoError(t, err)
		for i := range want {
			a, b := f32s(want[i]), f32s(got[i])
			most := 0.0
			for _, y := range a {
				most = max(most, math.Abs(float64(y)))
			}
			assert.InDeltaSlice(t, a, b, 2e-3*most, name)
		}
		assert.NotEqual(t, f32s(want[1]), f32s(got[1]), "%s: nothing was rounded", name)
	}
	assert.Nil(t, whole.Program.Precision)
}

// TestBF16: products are summed in pairs where a chip has instructions for that, and in a library for several where all of them do.
func TestBF16(t *testing.T) {
	const wide = `graph "g" opset 18 {
  input %x f32[64, 128]
  input %w f32[128, 64]
  %y ?[*] = MatMul.13(%x, %w) "product"
  output %y
}`
	for _, c := range []struct {
		chips []string
		pairs int
	}{
		{[]string{"x86_64_v4_vnni"}, 0},
		{[]string{"arm64_neoverse_v1"}, 0},
		{[]string{"x86_64_zen4"}, 1},
		{[]string{"x86_64_sapphire_rapids"}, 1},
		{[]string{"x86_64_zen4", "x86_64_sapphire_rapids"}, 1},
		{[]string{"x86_64_v3", "x86_64_zen4"}, 0},
	} {
		s := parse(t, wide)
		s.Store = ir.BF16
		var all []*target.Target
		for _, name := range c.chips {
			chip := chipstest.Target(t, name)
			all = append(all, chip)
		}
		require.NoError(t, s.SetChips(all))
		for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
			_, err := Run(passes, s, Options{})
			require.NoError(t, err)
		}
		product := map[int]string{0: "f32", 1: "bf16"}[c.pairs]
		assert.Equal(t, &plan.Precision{Storage: "bf16", Product: product, Accumulator: "f32", Nodes: 1, Pairs: c.pairs}, s.Program.Precision, "%v", c.chips)
		exact := compile(t, wide)
		want, err := interp.Graph(exact.Graph, map[string]*ir.Tensor{"x": ramp(64, 128), "w": ramp(128, 64)})
		require.NoError(t, err)
		got, err := run.Program(s.Program, []*ir.Tensor{ramp(64, 128), ramp(128, 64)})
		require.NoError(t, err)
		most := 0.0
		for _, y := range f32s(want[0]) {
			most = max(most, math.Abs(float64(y)))
		}
		assert.InDeltaSlice(t, f32s(want[0]), f32s(got[0]), 1e-2*most, "%v", c.chips)
		assert.NotEqual(t, f32s(want[0]), f32s(got[0]), "%v: nothing was rounded", c.chips)
	}
}
