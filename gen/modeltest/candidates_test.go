package modeltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/pipeline"
)

// TestCandidates compiles random graphs with kernels that estimates do not choose: the verifier finds them right, and so do
// interpreters, from their texts too.
func TestCandidates(t *testing.T) {
	const most = 3
	others := map[string]bool{}
	for s := range uint64(40) {
		r := newRandom(s + 1)
		if len(r.g.Outputs) == 0 {
			continue
		}
		want, err := interp.Graph(r.g, r.inputs)
		if err != nil {
			continue // the dimensions suit no shape of the network
		}
		for k := 1; k <= most; k++ {
			name := slices.Concat(Chips, Devices, DSPs)[(int(s)+k)%(len(Chips)+len(Devices)+len(DSPs))]
			chip, err := Chip(name)
			require.NoError(t, err)
			state := &pipeline.State{Graph: newRandom(s + 1).g, Target: chip, Candidate: k}
			_, err = pipeline.Run(slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses), state, pipeline.Options{})
			require.NoError(t, err, "seed %d, candidate %d, %s", s+1, k, name)
			got, err := runTexts(state.Program, InputsOf(state.Program, r.inputs))
			var dims *run.DimsError
			if errors.As(err, &dims) {
				continue
			}
			require.NoError(t, err, "seed %d, candidate %d, %s", s+1, k, name)
			for i := range want {
				require.NoError(t, compare(got[i], want[i]), "seed %d, candidate %d, %s, output %d", s+1, k, name, i)
			}
			for _, c := range state.Program.Calls() {
				if c.Tuning != nil && c.Tuning.Kernel != c.Tuning.Kernels[0] {
					others[c.Tuning.Kernel] = true
				}
			}
		}
	}
	require.Greater(t, len(others), 3, "kernels that no estimate chooses: %v", others)
}
