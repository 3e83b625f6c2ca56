package modeltest

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/hostcpu"
)

// prune leaves kernels out and keeps one of four patterns of the others, the same of so many neighbouring filters. Dimension `of` of the weights is
// that of the filters, and the other one of the first two that of the channels.
func prune(w *ir.Tensor, of int, share int64) {
	taps := int64(1)
	for _, n := range w.Shape[2:] {
		taps *= n
	}
	steps := []int64{w.Shape[1] * taps, taps}
	r := rand.New(rand.NewPCG(uint64(w.Len()), 5))
	var kept, pattern []int64
	for f := range w.Shape[of] {
		if f%share == 0 {
			kept, pattern = nil, nil
			for range w.Shape[1-of] {
				kept, pattern = append(kept, r.Int64N(3)), append(pattern, r.Int64N(4))
			}
		}
		for c := range w.Shape[1-of] {
			for t := range taps {
				at := f*steps[of] + c*steps[1-of] + t
				if kept[c] > 0 || taps > 1 && (t+pattern[c])%max(taps/2, 2) != 0 {
					clear(w.Data[at*int64(w.Type.Size()) : (at+1)*int64(w.Type.Size())])
				}
			}
		}
	}
}

// prunedConvolutions returns convolutions in which filters share kept weights or have their own.
func prunedConvolutions() []convolution {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	return []convolution{
		{name: "windows", x: []int64{1, 32, 14, 14}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, add: true},
		{name: "a pattern for each filter", x: []int64{1, 32, 14, 14}, w: []int64{32, 32, 3, 3}, pads: same, share: 1, add: true},
		{name: "edges of pixels", x: []int64{2, 40, 9, 23}, w: []int64{20, 40, 3, 3}, pads: []int64{2, 0, 1, 3}, share: 1},
		{name: "strides of rows", x: []int64{1, 32, 15, 29}, w: []int64{24, 32, 3, 3}, pads: same, strides: []int64{2, 1}, share: 1},
		{name: "many rows", x: []int64{1, 20, 61, 40}, w: []int64{10, 20, 5, 3}, pads: []int64{2, 1, 2, 1}, share: 1},
		{name: "dilated pixels", x: []int64{1, 20, 19, 21}, w: []int64{18, 20, 3, 3}, pads: []int64{2, 4, 2, 4}, dilated: []int64{2, 4}, share: 1},
		{name: "pixels and a shortcut in blocks", x: []int64{1, 32, 16, 16}, w: []int64{32, 32, 3, 3}, pads: same, share: 1, shortcut: true},
		{name: "blocks of pixels", x: []int64{1, 20, 28, 28}, w: []int64{18, 20, 3, 3}, pads: same, share: 1, add: true},
		{name: "blocks of pixels, wide", x: []int64{2, 20, 24, 64}, w: []int64{18, 20, 5, 3}, pads: []int64{2, 1, 2, 1}, share: 1},
		{name: "points of pixels", x: []int64{1, 64, 10, 40}, w: []int64{21, 64, 1, 1}, pads: none, share: 1, add: true},
		{name: "edges", x: []int64{2, 40, 9, 11}, w: []int64{48, 40, 3, 3}, pads: []int64{2, 0, 1, 3}, share: 16},
		{name: "strides", x: []int64{1, 32, 15, 29}, w: []int64{32, 32, 3, 3}, pads: same, strides: []int64{2, 2}, share: 16},
		{name: "few channels", x: []int64{1, 3, 20, 20}, w: []int64{32, 3, 3, 3}, pads: same, share: 32},
		{name: "many channels", x: []int64{1, 150, 6, 7}, w: []int64{64, 150, 3, 3}, pads: same, share: 32},
		{name: "large windows", x: []int64{1, 24, 12, 12}, w: []int64{16, 24, 5, 5}, pads: []int64{2, 2, 2, 2}, share: 16},
		{name: "one point", x: []int64{1, 64, 10, 9}, w: []int64{64, 64, 1, 1}, pads: none, share: 16, add: true},
		{name: "filters left over", x: []int64{1, 48, 9, 10}, w: []int64{44, 48, 1, 1}, pads: none, share: 16, add: true},
		{name: "windows of filters left over", x: []int64{1, 32, 11, 10}, w: []int64{41, 32, 3, 3}, pads: same, share: 16},
		{name: "fewer filters than lanes", x: []int64{1, 64, 9, 10}, w: []int64{10, 64, 1, 1}, pads: none, share: 16, add: true},
		{name: "one axis", x: []int64{1, 32, 40}, w: []int64{32, 32, 3}, pads: []int64{1, 1}, share: 16},
		{name: "three axes", x: []int64{1, 16, 5, 6, 7}, w: []int64{16, 16, 3, 3, 3}, pads: []int64{1, 1, 1, 1, 1, 1}, share: 16},
		{name: "symbolic", x: []int64{1, 32, 14, 19}, w: []int64{32, 32, 3, 3}, pads: same, symbolic: true, share: 16, add: true},
	}
}

// TestPruned: convolutions and products with weights of which much is zero, at the same places in neighbouring filters, leave that out, and give
// what the interpreter gives.
func TestPruned(t *testing.T) {
	for _, c := range prunedConvolutions() {

		t.Run(c.name, func(t *testing.T) {
			for chip, p := range c.run(t) {
				stored := anyTile(p, func(m *loop.MicroKernel) bool { return m.Kept != nil })
				target, err := Chip(chip)
				require.NoError(t, err)
				assert.Equal(t, target.SumsStored(), stored, "%s: %s", chip, p)
				own := anyTile(p, func(m *loop.MicroKernel) bool { return m.Kept != nil && !m.Broadcast() })
				if c.share == 1 {
					assert.Equal(t, stored, own, "%s: lanes of pixels, where filters have nothing in common: %s", chip, p)
					apart := anyTile(p, func(m *loop.MicroKernel) bool { return m.Kept != nil && m.Rows > 1 && m.RowStep%m.Lanes() != 0 })
					assert.False(t, apart, "%s: rows of a copy are whole registers: %s", chip, p)
				}
			}
		})
	}
}

// TestPrunedHalves checks the same in 16 bits. All processors store weights in 16 bits, also those
// whose loads do not convert, except weights that Winograd's algorithm has transformed.
func TestPrunedHalves(t *testing.T) {
	for _, c := range prunedConvolutions() {
		for _, c.half = range loop.Halves {
			t.Run(c.name+"/"+c.half.String(), func(t *testing.T) {
				for chip, p := range c.run(t) {
					target, err := Chip(chip)
					require.NoError(t, err)
					skips := anyTile(p, func(m *loop.MicroKernel) bool { return m.Kept != nil })
					assert.Equal(t, target.SumsStoredOf(c.half), skips, "%s: %s", chip, p)
					for _, call := range p.Calls() {
						loop.Tiles(call.Kernel.Body, func(x loop.Tile) {
							wide := x.Micro.Kept != nil && x.Micro.Stored != c.half
							assert.True(t, !wide || strings.HasPrefix(call.Kernel.Anchor, "winograd"), "%s: %s", chip, p)
						})
					}
				}
			})
		}
	}
}

// TestPrunedHalvesCompiled compares compiled kernels of pruned weights in 16 bits with the
// interpreter: on chips with and without conversions of f16, and on 64-bit ARM.
func TestPrunedHalvesCompiled(t *testing.T) {
	for _, m := range []struct {
		chip    string
		machine *cpptest.Machine
	}{{"x86_64", &cpptest.Host}, {"x86_64_v3", &cpptest.Host}, {"x86_64_v4", &cpptest.Host}, {"arm64", &armMachine}} {
		t.Run(m.chip, func(t *testing.T) {
			chip, err := Chip(m.chip)
			require.NoError(t, err)
			if m.machine == &cpptest.Host && !hostcpu.Runs(chip.GOARCH(), chip.CPUFeatures...) {
				t.Skipf("this processor is no %s", m.chip)
			}
			var cases []cpptest.Case
			var wants [][]*ir.Tensor
			for _, c := range prunedConvolutions() {
				if c.symbolic {
					continue
				}
				for _, c.half = range loop.Halves {
					g, inputs := c.graph(rand.New(rand.NewPCG(1, 2)))
					require.NoError(t, shape.Infer(g))
					want, err := interp.Graph(g, inputs)
					require.NoError(t, err)
					g, _ = c.graph(rand.New(rand.NewPCG(1, 2)))
					p, err := Compile(g, Config{Chip: m.chip})
					require.NoError(t, err)
					require.True(t, anyTile(p, func(m *loop.MicroKernel) bool { return m.Kept != nil }), c.name)
					cases, wants = append(cases, cpptest.Case{Name: c.name + "/" + c.half.String(), Program: p, Inputs: InputsOf(p, inputs)}), append(wants, want)
				}
			}
			for i, r := range m.machine.Run(t, "../../..", cases, append(slices.Clone(chip.Copts), "-O1")...) {
				require.Zero(t, r.Status, cases[i].Name)
				for k, want := range wants[i] {
					assertClose(t, want, r.Outputs[k], cases[i].Name)
				}
			}
		})
	}
}

// TestKeptKernels: convolutions of which neighbouring filters drop the same kernels, as a whole, are computed by Winograd's algorithm with what is left
// on every processor, and give what the interpreter gives.
func TestKeptKernels(t *testing.T) {
	same := []int64{1, 1, 1, 1}
	for _, c := range []convolution{
		{name: "whole tiles", x: []int64{1, 96, 32, 32}, w: []int64{96, 96, 3, 3}, pads: same, add: true},
		{name: "edges", x: []int64{2, 80, 27, 18}, w: []int64{96, 80, 3, 3}, pads: []int64{2, 0, 1, 3}},
		{name: "between layers in blocks", x: []int64{1, 64, 20, 20}, w: []int64{64, 64, 3, 3}, pads: same, between: true, swish: true},
		{name: "symbolic", x: []int64{1, 64, 30, 33}, w: []int64{64, 64, 3, 3}, pads: same, symbolic: true, add: true},
		{name: "of f16", x: []int64{1, 96, 32, 32}, w: []int64{96, 96, 3, 3}, pads: same, add: true, half: ir.F16},
		{name: "of bf16", x: []int64{2, 80, 27, 18}, w: []int64{96, 80, 3, 3}, pads: []int64{2, 0, 1, 3}, half: ir.BF16},
	} {
		c.zeros = func(w *ir.Tensor) { dropKernels(w, 16, 3) }
		t.Run(c.name, func(t *testing.T) {
			found := false
			for chip, p := range c.run(t) {
				filters := slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return strings.HasSuffix(c.Kernel.Anchor, "of kept kernels") })
				found = found || filters
				assert.True(t, filters || c.half != ir.Invalid, "%s: %s", chip, p) // of 16 bits, others may be faster
				assertPieces(t, p)
			}
			assert.True(t, found)
		})
	}
}

// dropKernels leaves one in so many kernels, as a whole, the same of so many neighbouring filters.
func dropKernels(w *ir.Tensor, share, every int64) {
	size := w.Shape[2] * w.Shape[3] * int64(w.Type.Size())
	for k := range w.Shape[0] * w.Shape[1] {
		if (k/w.Shape[1]/share+k%w.Shape[1])%every != 0 {
			clear(w.Data[k*size : (k+1)*size])
		}
	}
}

// TestAsGiven: what is there to measure what PatDNN's reorder and shared loads gain gives what the interpreter gives, with a kernel that has them off.
func TestAsGiven(t *testing.T) {
	for _, c := range []convolution{
		{name: "pixels", x: []int64{1, 20, 14, 14}, w: []int64{18, 20, 3, 3}, pads: []int64{1, 1, 1, 1}, share: 1, add: true},
		{name: "blocks of pixels", x: []int64{1, 64, 28, 28}, w: []int64{32, 64, 3, 3}, pads: []int64{1, 1, 1, 1}, share: 1},
		{name: "filters that share what they keep", x: []int64{1, 32, 14, 14}, w: []int64{32, 32, 3, 3}, pads: []int64{1, 1, 1, 1}, share: 16},
	} {
		for _, off := range [][]string{{"reorder"}, {"reorder", "reuse"}} {
			g, inputs := c.graph(rand.New(rand.NewPCG(1, 2)))
			require.NoError(t, shape.Infer(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			g, _ = c.graph(rand.New(rand.NewPCG(1, 2)))
			p, err := Compile(g, Config{Chip: "x86_64_v4", Disable: off})
			require.NoError(t, err)
			assert.True(t, anyTile(p, func(m *loop.MicroKernel) bool {
				return m.Kept != nil && m.Kept.Given && (m.Broadcast() || m.Kept.Alone == (len(off) > 1))
			}), "%s: %s", c.name, p)
			got, err := run.Program(p, InputsOf(p, inputs))
			require.NoError(t, err)
			assertClose(t, want[0], got[0], p.String())
		}
	}
}

// pruneSome prunes constants of random graphs now and then, without a choice of the source: the graphs of all seeds stay what they are.
func (r *random) pruneSome(v *ir.Value, filters int) {
	h := fnv.New32a()
	h.Write([]byte(v.Name))
	h.Write(v.Const.Data[:min(len(v.Const.Data), 64)])
	if s := h.Sum32(); s%4 == 0 && len(v.Const.Shape) >= 2 && !slices.Contains(v.Const.Shape, 0) {
		prune(v.Const, filters, []int64{4, 8, 16}[s/4%3])
	}
}
