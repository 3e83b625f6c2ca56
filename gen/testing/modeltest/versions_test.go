package modeltest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
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

// TestPointsOfWeights: versions for small images that read some points of Winograd's weights compute what the network does, in both variants.
func TestPointsOfWeights(t *testing.T) {
	r := &random{Rand: rand.New(rand.NewPCG(1, 2))}
	network := func() *ir.Graph {
		return irtest.Parse(t, "symbol H 2..512\nsymbol W 2..512\ninput %x f32[1, 256, H, W]\ninput %w f32[256, 256, 3, 3]\n"+
			"%y ?[*] = Conv.11(%x, %w) {pads = [1, 1, 1, 1]}\noutput %y\n")
	}
	w := r.floats([]int64{256, 256, 3, 3}, 1)
	state := &pipeline.State{Graph: network()}
	state.Graph.Inputs[1].Const, state.Graph.Inputs = w, state.Graph.Inputs[:1]
	var all []*target.Target
	for _, name := range []string{"x86_64_v3", "x86_64_v4"} {
		chip, err := Chip(name)
		require.NoError(t, err)
		all = append(all, chip)
	}
	require.NoError(t, state.SetChips(all))
	_, err := pipeline.Run(slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses), state, pipeline.Options{})
	require.NoError(t, err)
	parts := 0
	for i := range state.Program.Variants() {
		p := state.Program.Variant(i)
		p.Walk(func(x plan.Step) {
			if x.Choose == nil {
				return
			}
			for _, v := range x.Choose.Versions {
				if strings.Contains(v.Steps[0].Call.Kernel.Anchor, " of F(") {
					parts++
				}
			}
		})
		for _, size := range []int64{2, 3} {
			inputs := map[string]*ir.Tensor{"x": r.floats([]int64{1, 256, size, size + 1}, 1)}
			want, err := interp.Graph(network(), map[string]*ir.Tensor{"x": inputs["x"], "w": w})
			require.NoError(t, err)
			got, err := runTexts(p, InputsOf(p, inputs))
			require.NoError(t, err, "variant %d, size %d", i, size)
			require.NoError(t, compare(got[0], want[0]), "variant %d, size %d", i, size)
		}
	}
	require.NotZero(t, parts)
}
