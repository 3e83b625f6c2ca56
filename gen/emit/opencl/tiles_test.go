package opencl_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/pipeline"
)

// mostTiles bounds the kernels of a contraction that are tried: PoCL takes seconds for each.
const mostTiles = 3

// TestTilesOfGroups: tiles of groups that are worth measuring compute the same: of all images and of each, with weights that are packed, and with
// edges each way.
func TestTilesOfGroups(t *testing.T) {
	all := map[string]bool{}
	for _, c := range []struct {
		name, device string
		model        *model
	}{
		{"3x3 convolution of three images", "opencl_nvidia", newModel().weights("w", 40, 16, 3, 3).weights("b", 40).
			line("input %%x f32[3, 16, 9, 12]").line("input %%r f32[3, 40, 9, 12]").
			line("%%p ?[*] = Conv.11(%%x, @w, @b) {pads = [1, 1, 1, 1]}").line("%%s ?[*] = Add.14(%%p, %%r)").line("%%y ?[*] = Relu.14(%%s)").line("output %%y")},
		{"1x1 convolution of forty images of nine points", "opencl_buffers", newModel().weights("w", 70, 24, 1, 1).
			line("input %%x f32[40, 24, 3, 3]").line("%%y ?[*] = Conv.11(%%x, @w)").line("output %%y")},
		{"rows and a matrix of weights", "opencl_nvidia", newModel().weights("w", 100, 70).
			line("input %%x f32[3, 50, 100]").line("%%y ?[*] = MatMul.13(%%x, @w)").line("output %%y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, g := device(t, c.device), c.model.graph(t)
			r := rand.New(rand.NewPCG(1, 2))
			var cases []opencltest.Case
			seen := map[string]bool{}
			for k := 1; k <= mostTiles; k++ {
				s := &pipeline.State{Graph: c.model.graph(t), Target: d, Candidate: k}
				for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
					_, err := pipeline.Run(ps, s, pipeline.Options{})
					require.NoError(t, err)
				}
				call := kernelOf(s.Program, "group tiles")
				if call == nil || seen[call.Schedule] {
					continue
				}
				seen[call.Schedule] = true
				name, _, _ := strings.Cut(call.Tuning.Kernel, "#")
				all[name] = true
				x := opencltest.Case{Name: name, Program: s.Program, Device: d}
				for i, v := range s.Program.Inputs {
					if len(cases) > 0 {
						x.Inputs = append(x.Inputs, cases[0].Inputs[i])
						continue
					}
					dims, _ := v.Static()
					x.Inputs = append(x.Inputs, random(r, v.Type, dims...))
				}
				cases = append(cases, x)
			}
			require.NotEmpty(t, cases)
			for i, got := range opencltest.Run(t, root, cases) {
				if assert.Zero(t, got.Status, cases[i].Name) {
					agrees(t, g, cases[i].Inputs, got.Outputs)
				}
			}
		})
	}
	images := false
	for n := range all {
		images = images || strings.HasSuffix(n, "of all images ")
	}
	assert.True(t, images, "%v", all)
}
