package opencl_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
)

// TestSumParts: kernels that add parts of sums, and those that join them with what follows, compute the same as one kernel does.
func TestSumParts(t *testing.T) {
	d := device(t, "opencl_nvidia")
	for _, c := range []struct {
		name  string
		parts int64
		model *model
	}{
		{"rows and a matrix", 4, newModel().
			line("input %%x f32[49, 512]").line("input %%w f32[512, 70]").line("input %%b f32[70]").
			line("%%p ?[*] = MatMul.13(%%x, %%w)").line("%%q ?[*] = Add.14(%%p, %%b)").line("%%y ?[*] = Relu.14(%%q)").line("output %%y")},
		{"rows and weights", 3, newModel().weights("w", 384, 70).
			line("input %%x f32[2, 33, 384]").line("%%y ?[*] = MatMul.13(%%x, @w)").line("output %%y")},
		{"weights that lie along the sum", 4, newModel().weights("w", 130, 1024).weights("b", 130).
			line("input %%x f32[40, 1024]").line("%%y ?[*] = Gemm.13(%%x, @w, @b) {transB = 1}").line("output %%y")},
		{"a vector and a matrix", 2, newModel().
			line("input %%x f32[1, 512]").line("input %%w f32[512, 300]").line("%%y ?[*] = MatMul.13(%%x, %%w)").line("output %%y")},
		{"a 3x3 convolution", 2, newModel().weights("w", 40, 64, 3, 3).weights("b", 40).
			line("input %%x f32[2, 64, 7, 7]").line("input %%r f32[2, 40, 7, 7]").
			line("%%p ?[*] = Conv.11(%%x, @w, @b) {pads = [1, 1, 1, 1]}").line("%%s ?[*] = Add.14(%%p, %%r)").line("%%y ?[*] = Relu.14(%%s)").line("output %%y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &pipeline.State{Graph: c.model.graph(t), Target: d, SumParts: c.parts}
			for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
				_, err := pipeline.Run(ps, s, pipeline.Options{})
				require.NoError(t, err)
			}
			calls := s.Program.Calls()
			require.Len(t, calls, 2)
			assert.Equal(t, c.parts, first(t, calls[0].Block.Results[0]))
			for _, v := range calls[0].Args {
				if v.Const != nil {
					assert.Equal(t, "w.packed", v.Name, "items that are neighbours read neighbours")
				}
			}
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

// first is how many points the first axis of a value has.
func first(t *testing.T, v *ir.Value) int64 {
	dims, known := v.Static()
	require.True(t, known)
	return dims[0]
}
