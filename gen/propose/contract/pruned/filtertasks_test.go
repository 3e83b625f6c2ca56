package pruned

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/weights"
)

// TestFilterTasks: threads have an even number of tasks, or many, of as many rows each, whatever the size of the image: the filters of a band are
// dealt out where there are few bands, and what they read is copied once.
func TestFilterTasks(t *testing.T) {
	for graph, want := range map[string]struct{ tasks, sets int64 }{
		"1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]":   {4, 4},
		"1, 128, 14, 14; 128, 128, 3, 3; pads = [1, 1, 1, 1]": {4, 4}, // rows of pixels
		"1, 128, 56, 56; 64, 128, 3, 3; pads = [1, 1, 1, 1]":  {4, 4},
		"1, 256, 56, 56; 64, 256, 3, 3; pads = [1, 1, 1, 1]":  {4, 2}, // two bands that end within a tile
		"3, 64, 28, 28; 64, 64, 3, 3; pads = [1, 1, 1, 1]":    {12, 4},
		"1, 64, 28, 28; 7, 64, 3, 3; pads = [1, 1, 1, 1]":     {1, 1}, // too few filters
	} {
		b, env := contracttest.Convolution(t, ir.F32, graph, "x86_64_zen4", false)
		env.Pruned, env.Tiles = weights.NewEncodings(), 1
		contracttest.Prune(b, 4)
		layouts := map[*ir.Value]layout.Layout{}
		require.NoError(t, PixelLayouts(b, env, func(v *ir.Value, l layout.Layout) { layouts[v] = l }))
		env.Layouts = func(v *ir.Value) layout.Layout { return layouts[v] }
		propose := Apart
		if len(layouts) == 0 {
			propose = Pixels
		}
		ls, err := propose(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, ls, graph)
		l := ls[0]
		require.NoError(t, l.Make())
		n, known := l.Kernel.Tasks().Const()
		require.True(t, known)
		assert.Equal(t, want.tasks, n, "%s: %s", graph, l.Schedule)
		assert.Equal(t, sched.Ref{Stage: 1, Loop: vars.Band}, l.Schedule.Stages[0].At)
		dealt := slices.ContainsFunc(l.Schedule.Stages[1].Loops, func(x sched.Loop) bool { return x.Var == dealtVar && x.Stored && x.Kind == sched.Task })
		assert.Equal(t, dealt, len(l.Kernel.KeepsScratch()) == 1, "%s", l.Schedule)
		assert.Equal(t, want.sets > 1, dealt, "%s", l.Schedule)
	}
}

// TestStrips: where what a tile reads is much of the second-level cache, tasks have strips of columns, which lie in few pieces, and copies of their own;
// filters are dealt out no more.
func TestStrips(t *testing.T) {
	for _, c := range []struct {
		graph, tile string
		strips      bool
		tasks       int64
	}{
		{"1, 256, 56, 56; 256, 256, 3, 3; pads = [1, 1, 1, 1]", "4x7", true, 4},
		{"1, 256, 56, 56; 256, 256, 3, 3; pads = [1, 1, 1, 1]", "7x2", false, 4}, // narrower ones would copy nearly as much beside as they have
		{"1, 128, 56, 56; 256, 128, 3, 3; pads = [1, 1, 1, 1]", "4x7", false, 4}, // there is room for what a tile reads
	} {
		b, env := contracttest.Convolution(t, ir.F32, c.graph, "x86_64_zen4", false)
		env.Pruned, env.Only = weights.NewEncodings(), "pixels tile "+c.tile
		contracttest.Prune(b, 4)
		layouts := map[*ir.Value]layout.Layout{}
		require.NoError(t, PixelLayouts(b, env, func(v *ir.Value, l layout.Layout) { layouts[v] = l }))
		env.Layouts = func(v *ir.Value) layout.Layout { return layouts[v] }
		ls, err := Apart(b, env)
		require.NoError(t, err)
		found := false
		for _, l := range ls {
			x := &l.Schedule.Stages[1]
			blocks := slices.ContainsFunc(x.Loops, func(x sched.Loop) bool { return x.Var == blockVar })
			strips := slices.ContainsFunc(x.Loops, func(x sched.Loop) bool { return x.Var == stripVar })
			if blocks { // whose tiles read some of the channels at a time
				assert.False(t, strips, "%s", l.Schedule)
				continue
			}
			found = true
			require.NoError(t, l.Make())
			assert.Equal(t, c.strips, strips, "%s: %s", c.graph, l.Schedule)
			n, known := l.Kernel.Tasks().Const()
			require.True(t, known)
			assert.Equal(t, c.tasks, n, "%s: %s", c.graph, l.Schedule)
			dealt := slices.ContainsFunc(x.Loops, func(x sched.Loop) bool { return x.Var == dealtVar })
			assert.Equal(t, !strips, dealt, "%s", l.Schedule)
			if strips {
				assert.Equal(t, sched.Ref{Stage: 1, Loop: stripVar}, l.Schedule.Stages[0].At)
			}
		}
		assert.True(t, found, c.graph)
	}
}
