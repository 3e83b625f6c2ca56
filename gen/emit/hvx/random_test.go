package hvx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/testing/modeltest"
)

// TestRandomIntegers: random graphs on integers are, byte for byte, on Hexagon what the interpreter of stages computes.
func TestRandomIntegers(t *testing.T) {
	const seeds, least = 60, 50
	var cases []cpptest.Case
	var graphs []*modeltest.Integers
	var wants [][]*ir.Tensor
	empty := 0
	for seed := range uint64(seeds) {
		x := modeltest.NewIntegers(1000 + seed)
		if len(x.Graph.Outputs) == 0 {
			empty++
			continue
		}
		want, err := interp.Graph(x.Graph, x.Inputs)
		require.NoError(t, err, "seed %d", seed)
		chip, err := modeltest.Hexagon(chips[seed%uint64(len(chips))]...)
		require.NoError(t, err)
		x = modeltest.NewIntegers(1000 + seed)
		p, err := modeltest.CompileFor(x.Graph, chip, nil)
		require.NoError(t, err, "seed %d", seed)
		cases = append(cases, cpptest.Case{Name: p.Name, Program: p, Dims: x.Dims, Inputs: modeltest.InputsOf(p, x.Inputs)})
		graphs, wants = append(graphs, x), append(wants, want)
	}
	t.Logf("%d run; %d without nodes", len(cases), empty)
	require.GreaterOrEqual(t, len(cases), least)
	c, err := modeltest.Hexagon()
	require.NoError(t, err)
	for i, r := range hvxtest.Machine.Run(t, root, cases, append(c.Copts, "-O1")...) {
		if !assert.Zero(t, r.Status, graphs[i].Ops) {
			continue
		}
		for k, want := range wants[i] {
			assert.Equal(t, want.Data, r.Outputs[k].Data, "output %d of %v", k, graphs[i].Ops)
		}
	}
}
