package contracttest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/contract/winograd"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target"
)

// TestEstimateOfSchedule: what is estimated is not made, and its schedule tells about as much as the loops of the kernel do; it tells
// nothing of loops that only the run knows.
func TestEstimateOfSchedule(t *testing.T) {
	estimated := 0
	for _, name := range slices.Sorted(maps.Keys(Contractions)) {
		for _, chipName := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
			for _, blocked := range []bool{false, true} {
				b, env := Convolution(t, ir.F32, Contractions[name], chipName, blocked)
				kernels, err := tiled.Candidates(b, env)
				require.NoError(t, err)
				for _, l := range kernels {
					assert.Nil(t, l.Kernel, "%s on %s", name, chipName)
					cycles, ok := cyclesOf(l, env)
					if strings.HasSuffix(name, "of the run") {
						assert.False(t, ok, "%s on %s", name, chipName)
						continue
					}
					require.True(t, ok, "%s on %s", name, chipName)
					require.NoError(t, l.Make())
					loops := cost.Kernel(l.Kernel, env.Target, env.Symbols)
					assert.InEpsilon(t, 1, cycles/loops, 0.5, "%s on %s, blocked %t: %.0f cycles of the schedule, %.0f of the loops\n%s", name, chipName, blocked, cycles, loops, l.Schedule)
					estimated++
				}
			}
		}
	}
	assert.Greater(t, estimated, 40)
}

// cyclesOf is the cycles of a schedule on its chip.
func cyclesOf(l *lower.Lowered, env *lower.Env) (float64, bool) {
	cycles, ok := cost.Schedule(l.Work, l.Schedule, l.Tiles, []*target.Target{env.Target}, env.Symbols)
	if !ok {
		return 0, false
	}
	return cycles[0], true
}

// TestEstimateOfWinograd: nothing is made of what is estimated there either, and stages that are written out count what their iterations share
// once, as their code does.
func TestEstimateOfWinograd(t *testing.T) {
	for _, text := range []string{
		"1, 32, 24, 24; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"2, 32, 27, 13; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"1, 256, 14, 14; 256, 256, 3, 3; pads = [1, 1, 1, 1]",
		"1, 16, 4, 9, 8; 24, 16, 3, 3, 3; pads = [1, 1, 1, 1, 1, 1]",
	} {
		for _, chipName := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
			b, env := Convolution(t, ir.F32, text, chipName, true)
			env.Winograd = true
			kernels, err := winograd.Candidates(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels)
			for _, l := range kernels {
				cycles, ok := cyclesOf(l, env)
				require.True(t, ok, "%s on %s", text, chipName)
				assert.Nil(t, l.Kernel)
				require.NoError(t, l.Make())
				loops := cost.Kernel(l.Kernel, env.Target, env.Symbols)
				assert.InEpsilon(t, 1, cycles/loops, 0.5, "%s on %s: %.0f cycles of the schedule, %.0f of the loops\n%s", text, chipName, cycles, loops, l.Schedule)
			}
		}
	}
}

// TestEstimateOfPruned: kernels that sum over what is stored of weights are estimated from their schedules, too, and cost what they keep.
func TestEstimateOfPruned(t *testing.T) {
	for _, chipName := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
		least := map[int64]float64{}
		for _, kept := range []int64{2, 4} {
			b, env := Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", chipName, true)
			env.Pruned = weights.NewEncodings()
			Prune(b, kept)
			kernels, err := pruned.Filters(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels)
			least[kept] = leastOf(t, kernels, env, chipName)
		}
		assert.Less(t, least[2], 0.7*least[4], chipName)
	}
}

// leastOf is the least estimate of some kernels, which are near those of their loops, and of which nothing is made for that.
func leastOf(t *testing.T, kernels []*lower.Lowered, env *lower.Env, chipName string) float64 {
	t.Helper()
	least := math.Inf(1)
	for _, l := range kernels {
		cycles, ok := cyclesOf(l, env)
		require.True(t, ok, chipName)
		assert.Nil(t, l.Kernel)
		require.NoError(t, l.Make())
		loops := cost.Kernel(l.Kernel, env.Target, env.Symbols)
		assert.InEpsilon(t, 1, cycles/loops, 0.5, "%s: %.0f cycles of the schedule, %.0f of the loops\n%s", chipName, cycles, loops, l.Schedule)
		least = min(least, cycles)
	}
	return least
}

// TestEstimateOfKept: kernels by Winograd's algorithm cost what they keep of weights.
func TestEstimateOfKept(t *testing.T) {
	for _, chipName := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
		least := map[int64]float64{}
		for _, every := range []int64{2, 6} {
			b, env := Convolution(t, ir.F32, "1, 256, 28, 28; 256, 256, 3, 3; pads = [1, 1, 1, 1]", chipName, true)
			env.Winograd, env.Pruned = true, weights.NewEncodings()
			Drop(b, every)
			kernels, err := winograd.Kept(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels, chipName)
			least[every] = leastOf(t, kernels, env, chipName)
		}
		assert.Less(t, least[6], 0.6*least[2], chipName)
	}
}

// TestEstimateOfRests: rows that fill no tile cost what they execute, whatever the tile is.
func TestEstimateOfRests(t *testing.T) {
	cycles := func(pixels int) float64 {
		b, env := Convolution(t, ir.F32, fmt.Sprintf("1, 512, 1, %d; 64, 512, 1, 1; ", pixels), "x86_64_v4", true)
		env.Only = "contraction tile 6x4"
		kernels, err := tiled.Candidates(b, env)
		require.NoError(t, err)
		require.Len(t, kernels, 1)
		l := kernels[0]
		c, ok := cyclesOf(l, env)
		require.True(t, ok)
		return c
	}
	whole, rest := cycles(24), cycles(25)
	assert.Less(t, whole, rest)
	assert.Less(t, rest, cycles(30), "one row more is no whole tile more")
}

// TestFiltersComeLate: of a constant that a few tiles read first, what these tiles do hides little; where more memory comes a cycle, or other tiles of
// the same task share it, that costs less.
func TestFiltersComeLate(t *testing.T) {
	b, env := Convolution(t, ir.F32, "1, 512, 28, 28; 512, 512, 3, 3; pads = [1, 1, 1, 1]", "x86_64_zen4", true)
	env.Winograd = true
	kernels, err := winograd.Candidates(b, env)
	require.NoError(t, err)
	cycles := func(bytesPerCycle float64) map[string]float64 {
		chip := *env.Target
		chip.BytesPerCycle = bytesPerCycle
		out := map[string]float64{}
		for _, l := range kernels {
			c, ok := cost.Schedule(l.Work, l.Schedule, l.Tiles, []*target.Target{&chip}, env.Symbols)
			require.True(t, ok)
			out[lower.Unhashed(l.Name)] = c[0]
		}
		return out
	}
	slow, fast := cycles(env.Target.BytesPerCycle), cycles(1000)
	few, many := "winograd F(4,3) tile 5x4, tasks of 15, 1 parts", "winograd F(4,3) tile 5x4, tasks of 25, 2 parts"
	require.Contains(t, slow, few)
	require.Contains(t, slow, many)
	assert.Less(t, fast[few], fast[many], "which transforms inputs twice")
	assert.Less(t, slow[many], slow[few], "filters are read by each task, and come from memory")
}

// BenchmarkMake is what following a schedule takes beside that.
func BenchmarkMake(b *testing.B) {
	block, env := Convolution(b, ir.F32, Contractions["bands"], "x86_64_v4", true)
	for b.Loop() {
		kernels, err := tiled.Candidates(block, env)
		if err != nil || kernels[0].Make() != nil {
			b.Fatal("no kernel")
		}
	}
}
