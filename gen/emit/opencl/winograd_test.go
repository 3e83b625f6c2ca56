package opencl_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/pipeline"
)

// TestWinograd: convolutions by Winograd's algorithm, in three kernels, compute the same as directly.
func TestWinograd(t *testing.T) {
	d := device(t, "opencl_nvidia")
	for _, c := range []struct {
		name    string
		results int64
		model   *model
	}{
		{"whole tiles", 2, newModel().weights("w", 72, 64, 3, 3).weights("b", 72).
			line("input %%x f32[2, 64, 16, 20]").line("%%y ?[*] = Conv.11(%%x, @w, @b) {pads = [1, 1, 1, 1]}").line("output %%y")},
		{"parts of tiles, and what follows", 4, newModel().weights("w", 72, 64, 3, 3).weights("b", 72).
			line("input %%x f32[2, 64, 17, 22]").line("input %%r f32[2, 72, 17, 22]").
			line("%%p ?[*] = Conv.11(%%x, @w, @b) {pads = [1, 1, 1, 1]}").line("%%s ?[*] = Add.14(%%p, %%r)").line("%%y ?[*] = Relu.14(%%s)").line("output %%y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &pipeline.State{Graph: c.model.graph(t), Target: d, Winograd: c.results}
			for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
				_, err := pipeline.Run(ps, s, pipeline.Options{})
				require.NoError(t, err)
			}
			var kernels []string
			for _, x := range s.Program.Calls() {
				kernels = append(kernels, x.Kernel.Anchor)
			}
			assert.Equal(t, []string{"choices", "group tiles", "choices"}, kernels)
			r := rand.New(rand.NewPCG(1, 2))
			x := opencltest.Case{Name: c.name, Program: s.Program, Device: d}
			for _, v := range s.Program.Inputs {
				dims, _ := v.Static()
				x.Inputs = append(x.Inputs, random(r, v.Type, dims...))
			}
			got := opencltest.Run(t, root, []opencltest.Case{x})[0]
			if assert.Zero(t, got.Status) {
				agrees(t, c.model.graph(t), x.Inputs, got.Outputs)
			}
		})
	}
}
