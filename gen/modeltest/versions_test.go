package modeltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/target"
)

// TestRandomVersions compiles random graphs with kernels of their own for small dimensions wherever there are some, whatever they gain: the
// verifier finds them right, and they compute what the network does, in all variants.
func TestRandomVersions(t *testing.T) {
	versions := 0
	for s := range uint64(120) {
		r := newRandom(s + 1)
		want, err := interp.Graph(r.g, r.inputs)
		if err != nil || len(r.g.Outputs) == 0 {
			continue // the dimensions suit no shape of the network
		}
		state := &pipeline.State{Graph: newRandom(s + 1).g, EveryVersion: true}
		var all []*target.Target
		for _, name := range []string{Chips[int(s)%len(Chips)], "x86_64_v3"}[:1+s%2] {
			chip, err := Chip(name)
			require.NoError(t, err)
			if all = append(all, chip); name == "arm64" || name == "x86_64_v3" {
				break
			}
		}
		require.NoError(t, state.SetChips(all))
		_, err = pipeline.Run(slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses), state, pipeline.Options{})
		require.NoError(t, err, "seed %d", s+1)
		state.Program.Walk(func(x plan.Step) {
			if x.Choose != nil {
				versions += len(x.Choose.Versions) - 1
			}
		})
		for i := range state.Program.Variants() {
			got, err := runTexts(state.Program.Variant(i), InputsOf(state.Program, r.inputs))
			var dims *run.DimsError
			if errors.As(err, &dims) {
				continue
			}
			require.NoError(t, err, "seed %d, variant %d", s+1, i)
			for k := range want {
				require.NoError(t, compare(got[k], want[k]), "seed %d, variant %d, output %d", s+1, i, k)
			}
		}
	}
	require.Greater(t, versions, 100)
}
