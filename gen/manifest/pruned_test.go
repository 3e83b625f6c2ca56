package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	blocks "rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/plan"
)

// TestSameLabels: nodes of several pruned layers may have one label. Their weights tell the blocks apart, and where these have other names, the
// blocks are told of as ambiguous.
func TestSameLabels(t *testing.T) {
	call := func(function, weights string) plan.Step {
		w := ir.ConstValue(weights, ir.NewTensor(ir.F32, 1))
		return plan.Step{Call: &plan.Call{Function: function, Args: []*ir.Value{w}, Block: &blocks.Block{Origins: []string{`Conv "same"`}}}}
	}
	p := &plan.Program{Steps: []plan.Step{call("k1", "w1.packed"), call("k2", "w2"), call("k3", "folded.weight")}, Pruning: &plan.Pruning{
		Pruned: []plan.PrunedLayer{{Weights: "w1", Node: `Conv "same"`}, {Weights: "w2", Node: `Conv "same"`}},
	}}
	layers, err := Chosen(p)
	require.NoError(t, err)
	shared := PrunedBlock{Kernel: "k3", Ambiguous: true}
	require.Equal(t, []PrunedBlock{{Kernel: "k1"}, shared}, layers[0].Blocks)
	require.Equal(t, []PrunedBlock{{Kernel: "k2"}, shared}, layers[1].Blocks)
}
