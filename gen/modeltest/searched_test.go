package modeltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/tuning"
)

// TestSearched compiles random graphs with kernels that nothing proposes by itself, which a search finds: the verifier finds them right, and so do
// interpreters, from their texts too.
func TestSearched(t *testing.T) {
	const most = 4
	found := map[string]bool{}
	for s := range uint64(24) {
		r := newRandom(s + 1)
		if len(r.g.Outputs) == 0 {
			continue
		}
		want, err := interp.Graph(r.g, r.inputs)
		if err != nil {
			continue // the dimensions suit no shape of the network
		}
		name := Chips[int(s)%len(Chips)]
		chip, err := Chip(name)
		require.NoError(t, err)
		compile := func(candidate int, times tuning.Times) *pipeline.State {
			state := &pipeline.State{Graph: newRandom(s + 1).g, Target: chip, Candidate: candidate, Times: times}
			_, err := pipeline.Run(slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses), state, pipeline.Options{})
			require.NoError(t, err, "seed %d, candidate %d, %s", s+1, candidate, name)
			return state
		}
		times := tuning.Times{}
		for _, c := range compile(1, nil).Program.Calls() {
			if x := c.Tuning; x != nil && times[x.Key] == nil {
				for i, kernel := range x.Kernels {
					times[x.Key] = append(times[x.Key], tuning.Kernel{Name: kernel, Micros: float64(10 + i), Rounds: 1, Params: x.Params[i]})
				}
			}
		}
		for k := 2; k <= most; k++ {
			state := compile(k, times)
			some := false
			for _, c := range state.Program.Calls() {
				if c.Tuning != nil && c.Tuning.Kernel != c.Tuning.Kernels[0] {
					some, found[c.Tuning.Kernel] = true, true
				}
			}
			if !some {
				break
			}
			got, err := runTexts(state.Program, InputsOf(state.Program, r.inputs))
			var dims *run.DimsError
			if errors.As(err, &dims) {
				continue
			}
			require.NoError(t, err, "seed %d, candidate %d, %s", s+1, k, name)
			for i := range want {
				require.NoError(t, compare(got[i], want[i]), "seed %d, candidate %d, %s, output %d", s+1, k, name, i)
			}
		}
	}
	t.Logf("%d kernels", len(found))
	require.Greater(t, len(found), 10, "kernels that a search finds: %v", found)
}
