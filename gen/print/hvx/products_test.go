package hvx_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/modeltest"
	"rules_dnn/gen/print/cpp/cpptest"
	"rules_dnn/gen/print/hvx/hvxtest"
)

const root = "../../.."

// TestProducts: what runs on Hexagon is, byte for byte, what the interpreter of loops computes. With
// -v it tells how many packets each takes.
func TestProducts(t *testing.T) {
	c, err := modeltest.Hexagon()
	require.NoError(t, err)
	products := slices.Concat(modeltest.AllProducts, modeltest.LargeProducts)
	var cases []cpptest.Case
	for _, p := range products {
		g, inputs := p.Graph()
		program, err := modeltest.CompileFor(g, c, nil)
		require.NoError(t, err)
		dims := map[string]int64{}
		if p.Symbolic {
			dims["M"] = p.Rows
		}
		cases = append(cases, cpptest.Case{Name: p.Name, Program: program, Dims: dims, Inputs: modeltest.InputsOf(program, inputs)})
	}
	for i, r := range hvxtest.Machine.Run(t, root, cases, append(c.Copts, "-O2")...) {
		p := products[i]
		t.Run(p.Name, func(t *testing.T) {
			want, err := run.Program(cases[i].Program, cases[i].Inputs)
			require.NoError(t, err)
			require.Zero(t, r.Status)
			assert.Equal(t, want[0].Data, r.Outputs[0].Data)
			t.Logf("%d MACs, %d packets, %d instructions, %d of HVX: %.1f MACs a packet", p.MACs(), r.Counts[hvxtest.Packets],
				r.Counts[hvxtest.Instructions], r.Counts[hvxtest.VectorInstructions], float64(p.MACs())/float64(r.Counts[hvxtest.Packets]))
		})
	}
}
