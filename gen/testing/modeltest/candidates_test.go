package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/run"
)

// seeded is a random graph that the interpreter computes, and what it gives.
type seeded struct {
	seed uint64
	r    *random
	want []*ir.Tensor
}

// eachSeeded calls f with those of the first seeds, but for graphs whose dimensions suit no shape of the network.
func eachSeeded(n uint64, f func(seeded)) {
	for s := range n {
		r := newRandom(s + 1)
		if len(r.g.Outputs) == 0 {
			continue
		}
		if want, err := interp.Graph(r.g, r.inputs); err == nil {
			f(seeded{s + 1, r, want})
		}
	}
}

// compile takes the k-th kernel of each block, of those that are proposed or, with times, that a search finds by them.
func (x seeded) compile(t *testing.T, chip string, k int, times tuning.Times) *pipeline.State {
	target, err := Chip(chip)
	require.NoError(t, err)
	state := &pipeline.State{Graph: newRandom(x.seed).g, Target: target, Candidate: k, Times: times}
	_, err = pipeline.Run(slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses), state, pipeline.Options{})
	require.NoError(t, err, x.name(chip, k))
	return state
}

// agrees compares what kernels compute that are read from their texts, too, and names those that are not what estimates choose. A run may refuse its dimensions.
func (x seeded) agrees(t *testing.T, chip string, k int, state *pipeline.State) (others []string) {
	got, err := runTexts(state.Program, InputsOf(state.Program, x.r.inputs))
	if errors.As(err, new(*run.DimsError)) {
		return nil
	}
	require.NoError(t, err, x.name(chip, k))
	for i := range x.want {
		require.NoError(t, compare(got[i], x.want[i]), "%s, output %d", x.name(chip, k), i)
	}
	return otherKernels(state)
}

// otherKernels are those of a program that estimates do not choose.
func otherKernels(state *pipeline.State) (names []string) {
	for _, c := range state.Program.Calls() {
		if c.Tuning != nil && c.Tuning.Kernel != c.Tuning.Kernels[0] {
			names = append(names, c.Tuning.Kernel)
		}
	}
	return names
}

func (x seeded) name(chip string, k int) string {
	return fmt.Sprintf("seed %d, candidate %d, %s", x.seed, k, chip)
}

// TestCandidates compiles random graphs with kernels that estimates do not choose: the verifier finds them right, and so do
// interpreters, from their texts too.
func TestCandidates(t *testing.T) {
	const most = 3
	others, chips := map[string]bool{}, slices.Concat(Chips, Devices, DSPs)
	eachSeeded(40, func(x seeded) {
		for k := 1; k <= most; k++ {
			chip := chips[(int(x.seed)-1+k)%len(chips)]
			for _, kernel := range x.agrees(t, chip, k, x.compile(t, chip, k, nil)) {
				others[kernel] = true
			}
		}
	})
	require.Greater(t, len(others), 3, "kernels that no estimate chooses: %v", others)
}
