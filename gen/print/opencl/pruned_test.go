package opencl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/opencl/opencltest"
	"rules_dnn/gen/prune"
)

// vggLayer is one of VGG-16's convolutions of 3x3: its channels and extents, which are smaller here where they have as many edges.
type vggLayer struct{ in, out, size int64 }

// vggLayers are the nine unique ones, L1 to L9 of PatDNN.
var vggLayers = []vggLayer{{3, 64, 14}, {64, 64, 14}, {64, 128, 14}, {128, 128, 9}, {128, 256, 9}, {256, 256, 7}, {256, 512, 5}, {512, 512, 4}, {512, 512, 3}}

// graph is the layer with weights that keep 4 taps by one of 8 patterns and, but for the first layer, one of 3.6 kernels, both shared by some filters.
func (l vggLayer) graph(t *testing.T, share int) *ir.Graph {
	r := rand.New(rand.NewPCG(uint64(l.in), uint64(l.out)))
	w := random(r, ir.F32, l.out, l.in, 3, 3)
	x := &prune.Layer{Name: "w", Node: "conv", Op: "Conv", Shape: w.Shape, Groups: 1, Weights: w}
	counts := prune.Counts{}
	floats, err := x.Floats()
	require.NoError(t, err)
	require.NoError(t, counts.Count(x, floats, 4, share))
	rate := 3.6
	if l.in == 3 {
		rate = 1
	}
	mask, _, err := prune.Project(x, floats, prune.Settings{Patterns: counts.Top(8), Connectivity: rate, Share: share})
	require.NoError(t, err)
	for i, kept := range mask.Weights() {
		if !kept {
			clear(w.Data[4*i : 4*i+4])
		}
	}
	dims := []int64{1, l.in, l.size, l.size}
	in := &ir.Value{Name: "x", Type: ir.F32, HasShape: true, Shape: ir.Dims(dims...)}
	n := &ir.Node{Op: "Conv", Version: 11, Name: "conv", Attrs: ir.Attrs{"pads": []int64{1, 1, 1, 1}},
		Inputs: []*ir.Value{in, ir.ConstValue("w", w), ir.ConstValue("b", random(r, ir.F32, l.out))}}
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
// A device whose groups share what they read multiplies zeros: TestPrunedShared.
func TestPruned(t *testing.T) {
	var cases []opencltest.Case
	var want []*ir.Tensor
	for i, name := range []string{"opencl_buffers", fewCores} {
		d, kept, share := device(t, name).Unshared(), 0, []int{16, 4}[i] // items that share memory multiply zeros, too
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

// TestPrunedShared: where items run in step and share memory, pruned weights are multiplied as dense ones, by the same kernels.
func TestPrunedShared(t *testing.T) {
	layer, whole := vggLayers[5].graph(t, 16), vggLayers[5].graph(t, 16)
	w := whole.Nodes[0].Inputs[1]
	w.Const = random(rand.New(rand.NewPCG(1, 2)), ir.F32, vggLayers[5].out, vggLayers[5].in, 3, 3)
	pruned, dense := compile(t, layer, device(t, "opencl_nvidia")), compile(t, whole, device(t, "opencl_nvidia"))
	assert.False(t, keeps(pruned))
	require.Len(t, pruned.Calls(), len(dense.Calls()))
	for i, c := range pruned.Calls() {
		assert.Equal(t, dense.Calls()[i].Kernel.String(), c.Kernel.String())
	}
}
