package lower

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sched"
)

// TestWinogradSchedules: each way to cut a convolution into tasks is a schedule that is proved, and that its text gives back.
func TestWinogradSchedules(t *testing.T) {
	for name, text := range map[string]string{
		"whole tiles":                     "1, 32, 24, 24; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"tiles that reach beyond":         "2, 32, 27, 13; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"channels that fill no block":     "1, 21, 12, 12; 37, 21, 3, 3; pads = [1, 1, 1, 1]",
		"parts":                           "1, 256, 14, 14; 256, 256, 3, 3; pads = [1, 1, 1, 1]",
		"one tile":                        "1, 64, 4, 4; 64, 64, 3, 3; pads = [0, 0, 0, 0]",
		"extents that only the run knows": "1, 16, M, N; 16, 16, 3, 3; pads = [1, 1, 1, 1]",
	} {
		t.Run(name, func(t *testing.T) {
			b, env := convolution(t, ir.F32, text, "x86_64_v4", true)
			env.Winograd = true
			kernels, err := Winograd(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels)
			for _, l := range kernels {
				require.NoError(t, l.Check(), l.Schedule)
				require.NoError(t, loop.Verify(l.Kernel), "%s\n%s", l.Schedule, l.Kernel)
				again, err := sched.Parse(l.Schedule.String())
				require.NoError(t, err)
				assert.Equal(t, l.Schedule.String(), again.String())
				assert.Contains(t, l.Name, l.Schedule.Digest())
				args, err := l.Args()
				require.NoError(t, err)
				dims, _ := args[1].Shape.Static()
				assert.True(t, l.Kernel.Buffers[1].Size.Is(elements(dims)), "%s of %v", l.Kernel.Buffers[1].Size, dims)
			}
		})
	}
}
