package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/modeltest/attentiontest"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/opencl/opencltest"
	"rules_dnn/gen/shape"
	"rules_dnn/gen/target"
)

// TestAttentionOfMasks: what becomes of rows in which no key counts, or whose scores are no numbers, does not depend on which kernels compute them: by one kernel
// and by several it is what the operators' expressions give. A device runs one of two.
func TestAttentionOfMasks(t *testing.T) {
	var cases []opencltest.Case
	var want [][]*ir.Tensor
	names, texts := attentiontest.Graphs()
	for i, name := range names {
		d := device(t, "opencl_nvidia")
		d.OpenCL.LaunchMicros = 1e4 // or estimates would have some as three kernels
		p := planned(t, texts[i], d)
		require.Equal(t, 1, attentiontest.Kernels(p), "%s\n%s", name, p)
		apart := planned(t, texts[i], d, "attention")
		require.Zero(t, attentiontest.Kernels(apart), name)
		g := parsed(t, texts[i])
		in := attentiontest.Inputs(g)
		byName := map[string]*ir.Tensor{}
		for i, v := range g.Inputs {
			byName[v.Name] = in[i]
		}
		expected, err := interp.Graph(g, byName)
		require.NoError(t, err)
		for _, p := range []*plan.Program{p, apart} {
			out, err := run.Program(p, in)
			require.NoError(t, err, name)
			assert.NoError(t, attentiontest.Near(expected[0], out[0]), "%s, loops", name)
			if p != apart && i%2 == 0 { // compilers take long for each
				cases = append(cases, opencltest.Case{Name: name, Program: p, Device: d, Inputs: in})
				want = append(want, expected)
			}
		}
	}
	for i, r := range opencltest.Run(t, root, cases) {
		require.Zero(t, r.Status, cases[i].Name)
		assert.NoError(t, attentiontest.Near(want[i][0], r.Outputs[0]), cases[i].Name)
	}
}

// TestAttentionInHalves: stored in 16 bits, masks beyond their range are what they are in f32; where items multiply together, too.
func TestAttentionInHalves(t *testing.T) {
	together := 0
	var cases []opencltest.Case
	var want []*ir.Tensor
	names, texts := attentiontest.Halves()
	for i, name := range names {
		g, d := parsed(t, texts[i]), device(t, "opencl_nvidia")
		in := attentiontest.HalvesInputs(g)
		byName := map[string]*ir.Tensor{}
		for i, v := range g.Inputs {
			byName[v.Name] = in[i]
		}
		expected, err := interp.Graph(g, byName)
		require.NoError(t, err)
		p := compiled(t, &pipeline.State{Graph: g, Target: d, Store: ir.F16})
		for _, c := range p.Calls() {
			loop.Tiles(c.Kernel.Body, func(x loop.Tile) {
				if c.Kernel.Anchor == "attention" && x.Micro.Instr.Down > 0 {
					together++
				}
			})
		}
		out, err := run.Program(p, in)
		require.NoError(t, err, name)
		assert.NoError(t, attentiontest.Within(expected[0], out[0], 4e-3), "%s, loops", name)
		cases, want = append(cases, opencltest.Case{Name: name, Program: p, Device: d, Inputs: in}), append(want, expected[0])
	}
	require.Positive(t, together)
	for i, r := range opencltest.Run(t, root, cases) {
		require.Zero(t, r.Status, cases[i].Name)
		assert.NoError(t, attentiontest.Within(want[i], r.Outputs[0], 4e-3), cases[i].Name)
	}
}

func parsed(t *testing.T, text string) *ir.Graph {
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 24 {\n"+text+"}\n"), nil)
	require.NoError(t, err)
	require.NoError(t, shape.Infer(g))
	return g
}

// planned is a graph's program, with some parts of the compiler switched off.
func planned(t *testing.T, text string, d *target.Target, without ...string) *plan.Program {
	return compiled(t, &pipeline.State{Graph: parsed(t, text), Target: d}, without...)
}

func compiled(t *testing.T, s *pipeline.State, without ...string) *plan.Program {
	for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
		_, err := pipeline.Run(ps, s, pipeline.Options{Disable: without})
		require.NoError(t, err)
	}
	return s.Program
}
