package nodetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/propose/lower"
)

// TestRegionsBoundLoops: what a region holds of a tensor are bounds of loops, not conditions in loops over the whole tensor.
func TestRegionsBoundLoops(t *testing.T) {
	chip, run := hostChip(t), 0
	for _, c := range cases(t).Cases {
		if !strings.HasPrefix(c.Name, "test_roialign_adaptive") && !strings.HasPrefix(c.Name, "test_maxroipool") {
			continue
		}
		run++
		g, err := c.Graph()
		require.NoError(t, err)
		st := &pipeline.State{Graph: g, Target: chip}
		_, err = pipeline.Run(pipeline.GraphPasses, st, pipeline.Options{})
		require.NoError(t, err, c.Name)
		_, err = pipeline.Run(pipeline.CompilePasses, st, pipeline.Options{})
		require.NoError(t, err, c.Name)
		bounded := func(call *plan.Call) bool { return call.Kernel.Anchor == lower.WindowAnchor }
		require.True(t, slices.ContainsFunc(st.Program.Calls(), bounded), c.Name)
	}
	require.Greater(t, run, 15)
}
