package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	blocks "rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
)

// TestSameLabels: nodes of several pruned layers may have one label. Their weights tell the blocks
// apart, and where these have other names, the blocks are told of as ambiguous.
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

// TestSharedPoints: of weights of which groups of filters have what they keep, the block says how
// many points that is.
func TestSharedPoints(t *testing.T) {
	w, other := ir.ConstValue("w.kept_points", ir.NewTensor(ir.F32, 4, 80, 16)), ir.ConstValue("a network's.kept_points", ir.NewTensor(ir.F32, 3))
	c := &plan.Call{Function: "k", Args: []*ir.Value{w, other}, Block: &blocks.Block{Origins: []string{"Conv"}}, Schedule: "stage 0\n"}
	layers, err := Chosen(&plan.Program{Steps: []plan.Step{{Call: c}}, Pruning: &plan.Pruning{Pruned: []plan.PrunedLayer{{Weights: "w", Node: "Conv"}}}})
	require.NoError(t, err)
	require.Equal(t, []PrunedBlock{{Kernel: "k", Encoding: "80 points shared by 16"}}, layers[0].Blocks)
}
