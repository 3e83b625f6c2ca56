package nodetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/pipeline"
)

// TestLinearAttentionOfAnyLength runs ONNX's cases with symbols for batch and length alone;
// with symbols for all dimensions it is not known how decay and beta extend.
func TestLinearAttentionOfAnyLength(t *testing.T) {
	s, err := Load()
	require.NoError(t, err)
	run := 0
	for _, c := range s.Cases {
		g, err := c.Graph()
		if err != nil || len(g.Nodes) != 1 || g.Nodes[0].Op != "LinearAttention" {
			continue
		}
		run++
		t.Run(c.Label(), func(t *testing.T) {
			inputs := map[string]*ir.Tensor{}
			for i, v := range g.Inputs {
				inputs[v.Name] = c.Inputs[i]
				v.Shape = slices.Clone(v.Shape)
				v.Shape[0] = sym.Var("B")
				if len(v.Shape) == 3 {
					v.Shape[1] = sym.Var("T")
				}
			}
			for _, v := range g.Outputs {
				v.Shape, v.HasShape = nil, false
			}
			for _, name := range []string{"B", "T"} {
				g.Symbols = append(g.Symbols, ir.Symbol{Name: name, Lo: 1, Hi: sym.MaxDim})
			}
			require.NoError(t, simplify.Run(g))
			require.NoError(t, ir.Verify(g))
			require.NoError(t, checkShapes(g, c, map[string]int64{"B": c.Inputs[0].Shape[0], "T": c.Inputs[0].Shape[1]}))
			got, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			for i, want := range c.Outputs {
				require.NoError(t, Compare(got[i], want))
			}
		})
	}
	require.GreaterOrEqual(t, run, 14)
}

// TestRecurrentOfNothing: without steps the last state is the first one, and without
// sequences there is none; in the interpreter and as a graph.
func TestRecurrentOfNothing(t *testing.T) {
	for _, dims := range [][2]int64{{0, 3}, {4, 0}, {0, 0}} {
		steps, batch := dims[0], dims[1]
		for op, gates := range map[string]int64{"RNN": 1, "GRU": 3, "LSTM": 4} {
			n := &ir.Node{Op: op, Name: "n", Attrs: ir.Attrs{}}
			for _, name := range []string{"y", "h"} {
				n.Outputs = append(n.Outputs, &ir.Value{Name: name, Def: n})
			}
			first := wave(1.7, 1, batch, 3)
			operands := []*ir.Tensor{wave(0.7, steps, batch, 2), wave(1.3, 1, 3*gates, 2), wave(2.1, 1, 3*gates, 3), nil, nil, first}
			g, inputs := symbolicSequence(n, operands)
			for i := range g.Symbols {
				g.Symbols[i].Lo = 0
			}
			check := func(got []*ir.Tensor, err error) {
				require.NoError(t, err)
				require.Equal(t, []int64{steps, 1, batch, 3}, got[0].Shape)
				require.NoError(t, Compare(got[1], first))
			}
			if steps == 0 {
				check(interp.Interp{}.Node(n, operands))
				require.NoError(t, simplify.Run(g))
				check(interp.Graph(g, inputs))
				continue
			}
			require.NoError(t, simplify.Run(g))
			got, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			require.Equal(t, []int64{steps, 1, 0, 3}, got[0].Shape)
			require.Equal(t, []int64{1, 0, 3}, got[1].Shape)
		}
	}
}

// TestCompiledRecurrent compares with ONNX Runtime what the cases compute when compiled, for
// any number of steps and of sequences; without -every, a part of them.
func TestCompiledRecurrent(t *testing.T) {
	chip := hostChip(t)
	var list []cpptest.Case
	var of []*recurrentCase
	for i, c := range recurrentCases(t) {
		if !*every && i%5 != 4 {
			continue
		}
		n := c.node(t)
		g, inputs := symbolicSequence(n, c.operands(n))
		st := &pipeline.State{Graph: g, Target: chip}
		_, err := pipeline.Run(pipeline.GraphPasses, st, pipeline.Options{})
		require.NoError(t, err, c.Name)
		_, err = pipeline.Run(pipeline.CompilePasses, st, pipeline.Options{})
		require.NoError(t, err, c.Name)
		p := cpptest.Case{Name: c.Name, Program: st.Program, Dims: map[string]int64{"T": 4, "B": 3}}
		for _, v := range g.Inputs {
			p.Inputs = append(p.Inputs, inputs[v.Name])
		}
		list, of = append(list, p), append(of, c)
	}
	flags := append(slices.Clone(chip.Copts), strings.Fields(*copts)...)
	for i, r := range cpptest.Run(t, repository, list, flags...) {
		t.Run(of[i].Name, func(t *testing.T) {
			require.Zero(t, r.Status)
			of[i].compare(t, r.Outputs)
		})
	}
}
