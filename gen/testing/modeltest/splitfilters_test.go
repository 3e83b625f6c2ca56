package modeltest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
)

// splitFilters compiles a graph for a device that computes all convolutions that it can by a transform of so many results along each axis.
func splitFilters(t *testing.T, g *ir.Graph, device string, results int64) *plan.Program {
	t.Helper()
	d, err := Chip(filepath.Join(root(), "platforms/devices", device+".json"))
	require.NoError(t, err)
	p, err := compile(&pipeline.State{Graph: g, Target: d, Winograd: results}, nil)
	require.NoError(t, err)
	return p
}

// TestSplitFilters: convolutions that a device computes by Winograd's algorithm, in three kernels, are what they are without it, with tiles that reach
// beyond the edges, and what follows them; of others nothing becomes of that.
func TestSplitFilters(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []struct {
		convolution
		apart bool
	}{
		{convolution{name: "whole tiles", x: []int64{1, 16, 8, 8}, w: []int64{16, 16, 3, 3}, pads: same}, true},
		{convolution{name: "edges", x: []int64{2, 16, 9, 11}, w: []int64{16, 16, 3, 3}, pads: same, add: true}, true},
		{convolution{name: "unpadded", x: []int64{2, 32, 13, 8}, w: []int64{16, 32, 3, 3}, pads: none, swish: true}, true},
		{convolution{name: "more pads on one side", x: []int64{1, 16, 10, 9}, w: []int64{16, 16, 3, 3}, pads: []int64{2, 0, 1, 3}}, true},
		{convolution{name: "channels", x: []int64{1, 21, 12, 12}, w: []int64{37, 21, 3, 3}, pads: same, add: true, shortcut: true}, true},
		{convolution{name: "one tile", x: []int64{2, 64, 2, 2}, w: []int64{64, 64, 3, 3}, pads: []int64{2, 2, 1, 1}}, true},
		{convolution{name: "between others", x: []int64{3, 32, 7, 7}, w: []int64{48, 32, 3, 3}, pads: same, between: true}, true},
		{convolution{name: "symbolic", x: []int64{1, 16, 14, 19}, w: []int64{16, 16, 3, 3}, pads: same, symbolic: true, add: true}, true},
		{convolution{name: "strides", x: []int64{1, 16, 9, 9}, w: []int64{16, 16, 3, 3}, pads: same, strides: []int64{2, 2}}, false},
		{convolution{name: "dilated", x: []int64{1, 16, 9, 9}, w: []int64{16, 16, 3, 3}, pads: same, dilated: []int64{2, 2}}, false},
		{convolution{name: "groups", x: []int64{1, 16, 9, 9}, w: []int64{16, 8, 3, 3}, pads: same, group: 2}, false},
		{convolution{name: "depthwise", x: []int64{1, 16, 9, 9}, w: []int64{16, 1, 3, 3}, pads: same, group: 16}, false},
		{convolution{name: "other windows", x: []int64{1, 16, 9, 9}, w: []int64{16, 16, 5, 3}, pads: []int64{2, 1, 2, 1}}, false},
		{convolution{name: "depth", x: []int64{1, 16, 4, 9, 8}, w: []int64{16, 16, 3, 3, 3}, pads: []int64{1, 1, 1, 1, 1, 1}}, false},
		{convolution{name: "of 16 bits", x: []int64{1, 16, 9, 11}, w: []int64{16, 16, 3, 3}, pads: same, half: ir.F16}, false},
	} {
		for results, device := range map[int64]string{2: "opencl_nvidia", 4: "opencl_buffers"} {
			t.Run(fmt.Sprintf("%s, %d results, %s", c.name, results, device), func(t *testing.T) {
				assert.Equal(t, c.apart, runSplitFilters(t, c.convolution, 1, device, results))
			})
		}
	}
}

// runSplitFilters compares a convolution by transforms with the interpreter, and reports whether it is by them.
func runSplitFilters(t *testing.T, c convolution, seed uint64, device string, results int64) bool {
	t.Helper()
	g, inputs := c.graph(rand.New(rand.NewPCG(seed, 2)))
	require.NoError(t, shape.Infer(g))
	want, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	g, _ = c.graph(rand.New(rand.NewPCG(seed, 2)))
	p := splitFilters(t, g, device, results)
	got, err := runTexts(p, InputsOf(p, inputs))
	require.NoError(t, err)
	assertClose(t, want[0], got[0], device)
	return slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool {
		return len(c.Block.Operands) > 0 && c.Block.Operands[0].Const != nil && c.Block.Operands[0].Name == fmt.Sprintf("w.winograd%d", results)
	})
}

// TestRandomSplitFilters: the same of random sizes. Estimates choose between several kernels of each block.
func TestRandomSplitFilters(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	size := func(most int64) int64 { return 1 + r.Int64N(most) }
	for i := range uint64(16) {
		pads := []int64{r.Int64N(3), r.Int64N(3), r.Int64N(3), r.Int64N(3)}
		c := convolution{name: "random", x: []int64{size(3), 1 + size(20), 2 + size(14), 2 + size(14)}, pads: pads, add: i%2 == 0, between: i%3 == 0, swish: i%5 == 0}
		c.w = []int64{1 + size(20), c.x[1], 3, 3}
		t.Run(fmt.Sprint(c.x, c.w, pads), func(t *testing.T) {
			assert.True(t, runSplitFilters(t, c, i, "opencl_nvidia", 2+2*int64(i%2)))
		})
	}
}
