package tiled

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/micro"
)

// TestSetsOfChannels: tasks that widen their pixels of 16 bits have sets of channels, also where the last set's tile has fewer: every tile's
// schedule is right.
func TestSetsOfChannels(t *testing.T) {
	for _, text := range []string{
		"1, 2048, 1, 1; 1000, 2048, 1, 1; ",
		"1, 512, 7, 7; 1000, 512, 1, 1; ",
		"1, 512, 7, 7; 2048, 512, 1, 1; ",
	} {
		for _, chip := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
			for _, typ := range []ir.DType{ir.F16, ir.BF16} {
				b, env := contracttest.Convolution(t, typ, text, chip, true)
				env.Tiles = 8
				kernels, err := Candidates(b, env)
				require.NoError(t, err)
				require.NotEmpty(t, kernels)
				for _, k := range kernels {
					require.NoError(t, k.Check(), "%s %s\n%s", text, chip, k.Schedule)
					require.NoError(t, k.Make())
					require.NoError(t, loop.Verify(k.Kernel), "%s", k.Schedule)
				}
			}
		}
	}
}

// TestWideWeights: few weights of 16 bits, which tiles find in the first-level cache, are packed as f32; many stay as they are.
func TestWideWeights(t *testing.T) {
	for text, want := range map[string]ir.DType{
		"1, 144, 56, 56; 24, 144, 1, 1; ": ir.F32,
		"1, 128, 56, 56; 64, 128, 1, 1; ": ir.F32,
		"1, 128, 56, 56; 80, 128, 1, 1; ": ir.F16,
	} {
		b, env := contracttest.Convolution(t, ir.F16, text, "x86_64_v4", true)
		kernels, err := Candidates(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		assert.Equal(t, want, kernels[0].Packing.Type, "%s", text)
	}
}

// TestWidenedOnce: where weights are many, tasks have sets of channels whose weights stay in the second-level cache between those of one set;
// where all weights do, tasks have pixels, so that these are widened once.
func TestWidenedOnce(t *testing.T) {
	for text, want := range map[string]struct{ pixels, channels bool }{
		"1, 512, 7, 7; 2048, 512, 1, 1; ":                     {true, true},
		"1, 256, 56, 56; 64, 256, 1, 1; ":                     {true, false},
		"1, 128, 28, 28; 512, 128, 1, 1; ":                    {true, false},
		"1, 512, 14, 14; 1024, 512, 1, 1; ":                   {true, true},
		"1, 1024, 14, 14; 2048, 1024, 1, 1; strides = [2, 2]": {false, true},
	} {
		b, env := contracttest.Convolution(t, ir.F16, text, "x86_64_v4", true)
		kernels, err := Candidates(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		s := kernels[0].Schedule.String()
		assert.Equal(t, want.pixels, strings.Contains(s, "task tc"), "%s\n%s", text, s)
		assert.Equal(t, want.channels, strings.Contains(s, "task cs") || strings.Contains(s, "task cg"), "%s\n%s", text, s)
	}
}

// TestStreamedHalves: of a narrow tile's W of 16 bits, which stays in the first-level cache, the next one is fetched, too, where all of W does not.
func TestStreamedHalves(t *testing.T) {
	for text, want := range map[string]bool{
		"1, 256, 28, 28; 512, 256, 1, 1; ": true,
		"1, 64, 28, 28; 64, 64, 1, 1; ":    false,
	} {
		b, env := contracttest.Convolution(t, ir.F16, text, "x86_64_v4", true)
		kernels, err := Candidates(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		s := kernels[0].Schedule
		tile := s.Stages[len(s.Stages)-1].Tile
		assert.Equal(t, want, tile.Ahead > 0, "%s\n%s", text, s)
		assert.Equal(t, want, tile.Next > 0, "%s\n%s", text, s)
	}
}

// TestTasksOfRuns: tiles of several rows of pixels leave enough tasks, which are sets of channels.
func TestTasksOfRuns(t *testing.T) {
	b, env := contracttest.Convolution(t, ir.F16, "1, 1024, 14, 14; 2048, 1024, 1, 1; strides = [2, 2]", "x86_64_v4", true)
	kernels, err := Candidates(b, env)
	require.NoError(t, err)
	require.NotEmpty(t, kernels)
	k := kernels[0]
	require.Contains(t, k.Schedule.String(), "rows tu", "tiles have runs")
	require.NoError(t, k.Make())
	tasks, known := k.Kernel.Tasks().Const()
	require.True(t, known)
	assert.GreaterOrEqual(t, tasks, int64(2*micro.FewTasks), "%s", k.Schedule)
}

// TestCopiedForSets: tasks that copy what they need of X compute all channels whose weights of 16 bits leave the second-level cache room, and not one
// group of a narrow tile's.
func TestCopiedForSets(t *testing.T) {
	for text, sets := range map[string]int64{
		"1, 128, 56, 56; 128, 128, 3, 3; pads = [1, 1, 1, 1], strides = [2, 2]": 1,
		"1, 256, 28, 28; 256, 256, 3, 3; pads = [1, 1, 1, 1], strides = [2, 2]": 4,
	} {
		b, env := contracttest.Convolution(t, ir.F16, text, "x86_64_v4", true)
		c := Lay(b, env)
		require.NotNil(t, c)
		p, _ := c.Plan(env, nil)
		require.NotNil(t, p)
		got := int64(1)
		if p.GroupTasks {
			got = p.Groups / max(p.SetGroups, 1)
		}
		assert.Equal(t, sets, got, "%s", text)
		size := int64(ir.F16.Size()) * c.kSteps() * p.TileLanes * p.Groups / got
		assert.LessOrEqual(t, size, c.Target.L2/2, "%s", text)
	}
}
