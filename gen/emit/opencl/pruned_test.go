package opencl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// vggLayer is one of VGG-16's convolutions of 3x3: its channels and extents, which are smaller here where they have as many edges.
type vggLayer struct{ in, out, size int64 }

// vggLayers are the nine unique ones, L1 to L9 of PatDNN.
var vggLayers = []vggLayer{{3, 64, 14}, {64, 64, 14}, {64, 128, 14}, {128, 128, 9}, {128, 256, 9}, {256, 256, 7}, {256, 512, 5}, {512, 512, 4}, {512, 512, 3}}

// graph is the layer with weights that keep 4 taps by one of 8 patterns and, but for the first layer, one of 3.6 kernels, both shared by some filters.
func (l vggLayer) graph(t *testing.T, share int) *ir.Graph {
	rate := 3.6
	if l.in == 3 {
		rate = 1
	}
	return prunedConv{vggLayer: l, taps: 3, images: 1, rate: rate, attrs: ir.Attrs{"pads": []int64{1, 1, 1, 1}}}.graph(t, share)
}

// prunedConv is a convolution of kernels of so many taps each way, of so many images, of which one of rate kernels is kept.
type prunedConv struct {
	vggLayer
	taps, images int64
	rate         float64
	attrs        ir.Attrs
}

// graph is the convolution with weights that keep 4 taps, where kernels have several, by one of 8 patterns.
func (c prunedConv) graph(t *testing.T, share int) *ir.Graph {
	r := rand.New(rand.NewPCG(uint64(c.in), uint64(c.out)))
	w := random(r, ir.F32, c.out, c.in, c.taps, c.taps)
	x := &prune.Layer{Name: "w", Node: "conv", Op: "Conv", Shape: w.Shape, Groups: 1, Weights: w}
	floats, err := x.Floats()
	require.NoError(t, err)
	s := prune.Settings{Connectivity: c.rate, Share: share}
	if c.taps > 1 {
		counts := prune.Counts{}
		require.NoError(t, counts.Count(x, floats, 4, share))
		s.Patterns = counts.Top(8)
	}
	mask, _, err := prune.Project(x, floats, s)
	require.NoError(t, err)
	for i, kept := range mask.Weights() {
		if !kept {
			clear(w.Data[4*i : 4*i+4])
		}
	}
	in := &ir.Value{Name: "x", Type: ir.F32, HasShape: true, Shape: ir.Dims(c.images, c.in, c.size, c.size)}
	n := &ir.Node{Op: "Conv", Version: 11, Name: "conv", Attrs: c.attrs, Inputs: []*ir.Value{in, ir.ConstValue("w", w), ir.ConstValue("b", random(r, ir.F32, c.out))}}
	n.Outputs = []*ir.Value{{Name: "y", Def: n}}
	return &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{in}, Nodes: []*ir.Node{n}, Outputs: n.Outputs}
}

// keeps reports whether a register tile sums over what is stored of pruned weights.
func keeps(p *plan.Program) bool {
	return slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool {
		found := false
		loop.Tiles(c.Kernel.Body, func(x loop.Tile) { found = found || x.Micro.Kept != nil })
		return found
	})
}

// TestPruned: kernels of VGG-16's nine unique layers sum over the weights that are stored, and give what the interpreter gives.
// A device whose groups share what they read has other kernels: TestPrunedShared.
func TestPruned(t *testing.T) {
	var cases []opencltest.Case
	var want []*ir.Tensor
	for i, name := range []string{"opencl_buffers", fewCores} {
		d, kept, share := device(t, name).Unshared(), 0, []int{16, 4}[i] // of items that share no memory
		for i, l := range vggLayers {
			g, p := l.graph(t, share), compile(t, l.graph(t, share), d)
			if keeps(p) {
				kept++
			}
			c := opencltest.Case{Name: fmt.Sprintf("L%d, shared by %d, on %s", i+1, share, name), Program: p, Device: d}
			c.Inputs = []*ir.Tensor{random(rand.New(rand.NewPCG(7, 8)), ir.F32, 1, l.in, l.size, l.size)}
			out, err := run.Program(p, c.Inputs)
			require.NoError(t, err, c.Name)
			agrees(t, g, c.Inputs, out)
			cases, want = append(cases, c), append(want, out[0])
		}
		if name == fewCores {
			assert.Equal(t, len(vggLayers), kept)
		}
		assert.GreaterOrEqual(t, kept, 6, name)
	}
	for i, r := range opencltest.Run(t, root, cases) {
		if assert.Zero(t, r.Status, cases[i].Name) {
			assert.NoError(t, compare(r.Outputs[0], want[i]), cases[i].Name)
		}
	}
}

// TestPrunedShared: where items share memory, and filters what they keep, groups of work-items sum over the points that groups of filters keep: any
// tiles of them give what the interpreter gives, on a device and in the interpreter of loops.
func TestPrunedShared(t *testing.T) {
	padded := ir.Attrs{"pads": []int64{1, 1, 1, 1}}
	for _, c := range []struct {
		name string
		of   prunedConv
		want []string // parts of kernels' names
	}{
		{"3x3", prunedConv{vggLayer{64, 48, 14}, 3, 1, 3.6, padded}, []string{" kept by 16", " in "}},
		{"3x3 without padding, of three images", prunedConv{vggLayer{32, 32, 9}, 3, 3, 3.6, nil}, []string{" kept by 16", " of all images"}},
		{"3x3 by twos", prunedConv{vggLayer{33, 16, 13}, 3, 1, 2, ir.Attrs{"pads": []int64{1, 1, 0, 0}, "strides": []int64{2, 2}}}, []string{" kept by 16"}},
		{"1x1", prunedConv{vggLayer{70, 64, 10}, 1, 1, 3.6, nil}, []string{" kept by 16"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, d := c.of.graph(t, 16), device(t, "opencl_nvidia")
			in := []*ir.Tensor{random(rand.New(rand.NewPCG(7, 8)), ir.F32, c.of.images, c.of.in, c.of.size, c.of.size)}
			var cases []opencltest.Case
			found := map[string]bool{}
			for k := 1; k <= mostKept && len(cases) < mostTiles+1; k++ {
				s := &pipeline.State{Graph: c.of.graph(t, 16), Target: d, Candidate: k, SumParts: 1}
				for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
					_, err := pipeline.Run(ps, s, pipeline.Options{})
					require.NoError(t, err)
				}
				call := kernelOf(s.Program, "group tiles")
				if call == nil {
					continue
				}
				name, _, _ := strings.Cut(call.Tuning.Kernel, "#")
				adds := false
				for _, w := range c.want {
					adds = adds || strings.Contains(name, " kept by ") && strings.Contains(name, w) && !found[w]
					found[w] = found[w] || strings.Contains(name, " kept by ") && strings.Contains(name, w)
				}
				if adds {
					cases = append(cases, opencltest.Case{Name: name, Program: s.Program, Device: d, Inputs: in})
				}
			}
			for _, w := range c.want {
				assert.True(t, found[w], "no kernel %q", w)
			}
			for i, got := range opencltest.Run(t, root, cases) {
				looped, err := run.Program(cases[i].Program, in)
				require.NoError(t, err, cases[i].Name)
				agrees(t, g, in, looped)
				if assert.Zero(t, got.Status, cases[i].Name) {
					agrees(t, g, in, got.Outputs)
				}
			}
		})
	}
}

// mostKept is how many kernels of a pruned layer are looked at.
const mostKept = 24

// TestPrunedChosen: estimates choose such kernels for VGG-16's layers in their own sizes, where filters share what they keep; where each keeps what it
// likes, weights are multiplied as dense ones, by the same kernels.
func TestPrunedChosen(t *testing.T) {
	d := device(t, "opencl_nvidia")
	kernels := func(g *ir.Graph) (out []string) {
		for _, c := range compile(t, g, d).Calls() {
			out = append(out, c.Kernel.String())
		}
		return out
	}
	for _, l := range []vggLayer{{64, 64, 224}, {256, 256, 56}, {512, 512, 14}} {
		p := compile(t, l.graph(t, 16), d)
		assert.False(t, keeps(p))
		assert.True(t, slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool {
			return slices.ContainsFunc(c.Args, func(v *ir.Value) bool { return v.Name == "w.points" })
		}), "no kernel of %+v sums over the points that a table says", l)
		dense := l.graph(t, 1)
		w := dense.Nodes[0].Inputs[1]
		w.Const = random(rand.New(rand.NewPCG(1, 2)), ir.F32, l.out, l.in, 3, 3)
		assert.Equal(t, kernels(dense), kernels(l.graph(t, 1)), "%+v", l)
	}
}
