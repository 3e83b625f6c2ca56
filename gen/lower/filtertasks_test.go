package lower

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
)

// TestFilterTasks: threads have an even number of tasks, or many, of as many rows each, whatever the size of the image: the filters of a band are
// dealt out where there are few bands, and what they read is copied once.
func TestFilterTasks(t *testing.T) {
	for graph, want := range map[string]int64{ // tasks
		"1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]":   4, // one band
		"1, 128, 14, 14; 128, 128, 3, 3; pads = [1, 1, 1, 1]": 4, // rows of pixels, two bands
		"1, 256, 56, 56; 64, 256, 3, 3; pads = [1, 1, 1, 1]":  4, // two bands that end within a tile
		"3, 64, 28, 28; 64, 64, 3, 3; pads = [1, 1, 1, 1]":    12,
		"1, 64, 28, 28; 7, 64, 3, 3; pads = [1, 1, 1, 1]":     1, // too few filters
	} {
		b, env := convolution(t, ir.F32, graph, "x86_64_v4", false)
		env.Pruned, env.Tiles = NewEncodings(), 1
		prune(b, 4)
		layouts := map[*ir.Value]layout.Layout{}
		require.NoError(t, PixelLayouts(b, env, func(v *ir.Value, l layout.Layout) { layouts[v] = l }))
		env.Layouts = func(v *ir.Value) layout.Layout { return layouts[v] }
		propose := PrunedApart
		if len(layouts) == 0 {
			propose = PrunedPixels
		}
		ls, err := propose(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, ls, graph)
		l := ls[0]
		require.NoError(t, l.Make())
		n, known := l.Kernel.Tasks().Const()
		require.True(t, known)
		assert.Equal(t, want, n, "%s: %s", graph, l.Schedule)
		assert.Equal(t, sched.Ref{Stage: 1, Loop: bandVar}, l.Schedule.Stages[0].At)
		dealt := slices.ContainsFunc(l.Schedule.Stages[1].Loops, func(x sched.Loop) bool { return x.Var == dealtVar && x.Stored && x.Kind == sched.Task })
		assert.Equal(t, dealt, len(l.Kernel.KeepsScratch()) == 1, "%s", l.Schedule)
		assert.Equal(t, want > 1, dealt, "%s", l.Schedule)
	}
}
