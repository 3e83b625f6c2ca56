package pipeline

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/precision"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
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
		{[]string{"arm64_neoverse_n1"}, 0},
		{[]string{"arm64_neoverse_v1"}, 1},
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

// TestSumHalves checks that kernels add products in f16 if that is allowed and a chip of the
// library can do it.
func TestSumHalves(t *testing.T) {
	floats := plan.Precision{Storage: "f16", Product: "f32", Accumulator: "f32", Nodes: 1}
	halves := plan.Precision{Storage: "f16", Product: "f16", Accumulator: "f16", Nodes: 1, Halves: 1}
	for _, c := range []struct {
		chips   []string
		allowed bool
		want    plan.Precision
	}{
		{[]string{"arm64_cortex_a76"}, false, floats},
		{[]string{"arm64_cortex_a76"}, true, halves},
		{[]string{"arm64_fp16"}, true, halves},
		{[]string{"arm64_i8mm"}, true, halves},
		{[]string{"arm64", "arm64_fp16"}, true, halves},
		{[]string{"arm64_fp16", "arm64_dotprod"}, true, floats}, // the manifest describes the last chip
	} {
		x := &ir.Value{Name: "x", Type: ir.F32, HasShape: true, Shape: ir.Dims(64, 256)}
		n := &ir.Node{Op: "MatMul", Version: 13, Name: "product", Inputs: []*ir.Value{x, ir.ConstValue("w", ramp(256, 64))}}
		n.Outputs = []*ir.Value{{Name: "y", Def: n}}
		g := &ir.Graph{Name: "g", Opset: 18, Inputs: []*ir.Value{x}, Nodes: []*ir.Node{n}, Outputs: n.Outputs}
		s := &State{Graph: g, Store: ir.F16, SumHalves: c.allowed}
		var all []*target.Target
		for _, name := range c.chips {
			all = append(all, chipstest.Target(t, name))
		}
		require.NoError(t, s.SetChips(all))
		through(t, s)
		assert.Equal(t, &c.want, s.Program.Precision, "%v", c.chips)
	}
}

// TestSumHalvesOfHalves checks that products of a network in f16 are added in f16 if that is
// allowed. Otherwise the precision changes nothing, which is an error.
func TestSumHalvesOfHalves(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		s := parse(t, `graph "g" opset 18 {
input %x f16[64, 256]
input %w f16[256, 64]
%y ?[*] = MatMul.13(%x, %w)
output %y
}`)
		s.Store, s.SumHalves = ir.F16, allowed
		require.NoError(t, s.SetChips([]*target.Target{chipstest.Target(t, "arm64_fp16")}))
		_, err := Run(GraphPasses, s, Options{})
		require.NoError(t, err)
		_, err = Run(CompilePasses, s, Options{})
		if !allowed {
			require.ErrorIs(t, err, precision.ErrNothing)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, &plan.Precision{Storage: "f16", Product: "f16", Accumulator: "f16", Halves: 1}, s.Program.Precision)
	}
}

// TestSumHalvesUnable checks that chips without instructions that add f16 are refused.
func TestSumHalvesUnable(t *testing.T) {
	for _, chips := range [][]string{{"arm64"}, {"x86_64_v4"}, {"arm64", "arm64_dotprod"}} {
		s := parse(t, halved)
		s.Store, s.SumHalves = ir.F16, true
		var all []*target.Target
		for _, name := range chips {
			all = append(all, chipstest.Target(t, name))
		}
		require.NoError(t, s.SetChips(all))
		_, err := Run(GraphPasses, s, Options{})
		require.NoError(t, err)
		_, err = Run(CompilePasses, s, Options{})
		require.ErrorContains(t, err, "accumulation in fp16: the chip "+chips[len(chips)-1]+" has no instruction that adds f16")
	}
}

// pruned returns a convolution whose filters keep four taps of every third kernel, in one of three
// patterns, and its weights. f16 rounds five weights to zero: a kernel, and one tap of another.
func pruned() (g *ir.Graph, w *ir.Tensor) {
	const filters, channels, taps = 16, 24, 9
	patterns := [][]int{{0, 1, 3, 4}, {1, 2, 4, 5}, {3, 4, 6, 7}}
	w = ir.NewTensor(ir.F32, filters, channels, 3, 3)
	put := func(at int, x float32) { binary.LittleEndian.PutUint32(w.Data[4*at:], math.Float32bits(x)) }
	for f := range filters {
		for c := f % 3; c < channels; c += 3 {
			for i, tap := range patterns[(f+c/3)%3] {
				x := float32((7*f+3*c+5*i)%13-6)/8 + 0.0301
				if first := f == 0 && c == 0; first || f == 1 && c == 1 && i == 2 {
					x = 1e-9
				}
				put((f*channels+c)*taps+tap, x)
			}
		}
	}
	x := &ir.Value{Name: "x", Type: ir.F32, HasShape: true, Shape: ir.Dims(1, channels, 12, 16)}
	n := &ir.Node{Op: "Conv", Version: 11, Name: "conv", Attrs: ir.Attrs{"pads": []int64{1, 1, 1, 1}}, Inputs: []*ir.Value{x, ir.ConstValue("w", w)}}
	n.Outputs = []*ir.Value{{Name: "y", Def: n}}
	return &ir.Graph{Name: "g", Opset: 18, Inputs: []*ir.Value{x}, Nodes: []*ir.Node{n}, Outputs: n.Outputs}, w
}

// TestPrunedIn16Bits checks that rounding of masked weights keeps zeros and patterns, and that
// kernels leave out weights that become zero. It compares results with the dense network with the
// same rounded weights.
func TestPrunedIn16Bits(t *testing.T) {
	for _, c := range []struct {
		store     ir.DType
		kernels   string
		tolerance float64
	}{
		{ir.F16, "fkw of 127 kernels ", 2e-3}, // of 128
		{ir.BF16, "fkw of 128 kernels ", 1.6e-2},
	} {
		round := func(x float32) float32 {
			if c.store == ir.BF16 {
				return scalar.BF16ToF32(scalar.F32ToBF16(x))
			}
			return scalar.F16ToF32(scalar.F32ToF16(x))
		}
		rounded := func(t *ir.Tensor) {
			for i, x := range f32s(t) {
				binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(round(x)))
			}
		}
		dense, w := pruned()
		x := ramp(1, 24, 12, 16)
		for i, v := range f32s(x) {
			binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(math.Sin(float64(v)))))
		}
		narrow := &ir.Tensor{Type: ir.F32, Shape: x.Shape, Data: slices.Clone(x.Data)}
		rounded(w)
		rounded(narrow)
		require.NoError(t, shape.Infer(dense))
		want, err := interp.Graph(dense, map[string]*ir.Tensor{"x": narrow})
		require.NoError(t, err)
		for _, name := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "x86_64_zen4", "arm64"} {
			g, _ := pruned()
			s := &State{Graph: g, Store: c.store, Packed: map[string]bool{`Conv "conv"`: true}}
			require.NoError(t, s.SetChips([]*target.Target{chipstest.Target(t, name)}))
			through(t, s)
			kept := false
			for _, call := range s.Program.Calls() {
				loop.Tiles(call.Kernel.Body, func(x loop.Tile) { kept = kept || x.Micro.Kept != nil && x.Micro.Stored == c.store })
				if strings.Contains(call.Schedule, "fkw") {
					assert.Contains(t, call.Schedule, c.kernels, name)
					assert.NotContains(t, call.Schedule, "1ff", "%s: patterns of all taps", name)
				}
			}
			assert.True(t, kept, "%s: %s", name, s.Program)
			got, err := run.Program(s.Program, []*ir.Tensor{x})
			require.NoError(t, err)
			a, most := f32s(want[0]), 0.0
			for _, y := range a {
				most = max(most, math.Abs(float64(y)))
			}
			assert.InDeltaSlice(t, a, f32s(got[0]), c.tolerance*most, name)
		}
	}
}
