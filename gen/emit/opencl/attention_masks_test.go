package opencl_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/testing/modeltest/attentiontest"
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

// TestAttentionInHalves: stored in 16 bits, masks beyond their range are what they are in f32.
func TestAttentionInHalves(t *testing.T) {
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
		out, err := run.Program(p, in)
		require.NoError(t, err, name)
		assert.NoError(t, attentiontest.Within(expected[0], out[0], 4e-3), "%s, loops", name)
		cases, want = append(cases, opencltest.Case{Name: name, Program: p, Device: d, Inputs: in}), append(want, expected[0])
	}
	for i, r := range opencltest.Run(t, root, cases) {
		require.Zero(t, r.Status, cases[i].Name)
		assert.NoError(t, attentiontest.Within(want[i], r.Outputs[0], 4e-3), cases[i].Name)
	}
}

// TestAttentionOfMatrices: attention in 16 bits whose items multiply together, of queries, keys and columns that are no whole tiles, of keys as they lie and transposed.
func TestAttentionOfMatrices(t *testing.T) {
	const softmax = "%p ?[*] = Softmax.13(%a) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y\n"
	var cases []opencltest.Case
	var want []*ir.Tensor
	for _, text := range []string{
		"input %q f32[4, 150, 64]\ninput %k f32[4, 64, 157]\ninput %v f32[4, 157, 64]\n%a ?[*] = MatMul.13(%q, %k)\n" + softmax,
		"input %q f32[2, 2, 197, 40]\ninput %k f32[2, 2, 197, 40]\ninput %v f32[2, 2, 197, 24]\ninput %m f32[197, 197]\n%t ?[*] = Transpose.13(%k) {perm = [0, 1, 3, 2]}\n" +
			"%s ?[*] = MatMul.13(%q, %t)\n%a ?[*] = Add.14(%s, %m)\n" + softmax,
		"input %q f32[3, 70, 32]\ninput %k f32[3, 96, 32]\ninput %v f32[3, 96, 20]\n%t ?[*] = Transpose.13(%k) {perm = [0, 2, 1]}\n%a ?[*] = MatMul.13(%q, %t)\n" + softmax,
	} {
		g, d := parsed(t, text), device(t, "opencl_nvidia")
		d.OpenCL.LaunchMicros = 1e4
		r := rand.New(rand.NewPCG(1, 2))
		var in []*ir.Tensor
		byName := map[string]*ir.Tensor{}
		for _, v := range g.Inputs {
			dims, _ := v.Static()
			in = append(in, random(r, ir.F32, dims...))
			byName[v.Name] = in[len(in)-1]
		}
		expected, err := interp.Graph(g, byName)
		require.NoError(t, err)
		p := compiled(t, &pipeline.State{Graph: g, Target: d, Store: ir.F16})
		together := 0
		for _, c := range p.Calls() {
			loop.Tiles(c.Kernel.Body, func(x loop.Tile) {
				if c.Kernel.Anchor == "attention" && x.Micro.Instr.Down > 0 {
					together++
				}
			})
		}
		require.Equal(t, 2, together, text)
		out, err := run.Program(p, in)
		require.NoError(t, err)
		assert.NoError(t, attentiontest.Within(expected[0], out[0], 4e-3), text)
		cases, want = append(cases, opencltest.Case{Name: text, Program: p, Device: d, Inputs: in}), append(want, expected[0])
	}
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
