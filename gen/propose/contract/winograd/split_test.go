package winograd

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/workgroup"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestSplitFilterSchedules: what transforms inputs and sums has a schedule that is proved, and whose text gives the same kernel: an item has all of a
// tile.
func TestSplitFilterSchedules(t *testing.T) {
	for name, text := range map[string]string{
		"whole tiles":              "1, 32, 24, 24; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"tiles that reach beyond":  "2, 32, 27, 13; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"no padding, one tile":     "1, 21, 4, 4; 37, 21, 3, 3; pads = [0, 0, 0, 0]",
		"rows of a single tile":    "3, 21, 2, 12; 37, 21, 3, 3; pads = [1, 1, 1, 1]",
		"pads that are not alike":  "3, 21, 9, 12; 37, 21, 3, 3; pads = [0, 1, 2, 2]",
		"padding of a whole tile":  "3, 21, 9, 12; 37, 21, 3, 3; pads = [6, 5, 4, 5]",
		"as many channels as taps": "1, 3, 9, 9; 3, 3, 3, 3; pads = [1, 1, 1, 1]",
	} {
		t.Run(name, func(t *testing.T) {
			b, env := contracttest.Convolution(t, ir.F32, text, "x86_64", false)
			env.Contractions = true
			env.Target, env.Layouts = chipstest.Target(t, "opencl_nvidia"), func(*ir.Value) layout.Layout { return layout.RowMajor }
			all := SplitFilters(b, env, []int64{2, 4})
			require.Len(t, all, 2)
			for _, blocks := range all {
				require.Len(t, blocks, 3)
				for _, i := range []int{0, 2} {
					l, err := workgroup.Choices(blocks[i], env)
					require.NoError(t, err)
					require.NotNil(t, l)
					require.NoError(t, l.Check(), l.Schedule)
					require.NoError(t, l.Make())
					require.NoError(t, loop.Verify(l.Kernel), "%s\n%s", l.Schedule, l.Kernel)
					again, err := sched.Parse(l.Schedule.String())
					require.NoError(t, err)
					require.Equal(t, l.Schedule.String(), again.String())
					k, err := follow.Kernel(l.Work, again, env.Target)
					require.NoError(t, err)
					k.Anchor = workgroup.ChoicesAnchor
					assert.Equal(t, l.Kernel.String(), env.Done(k, nil).Kernel.String())
				}
				ls, err := workgroup.Choices(blocks[1], env)
				require.NoError(t, err)
				assert.Nil(t, ls, "a product chooses nothing")
			}
		})
	}
}

// TestTransformedWeights: the constant has of each filter what the transform of it alone has.
func TestTransformedWeights(t *testing.T) {
	b, env := contracttest.Convolution(t, ir.F32, "1, 5, 8, 8; 7, 5, 3, 3; pads = [1, 1, 1, 1]", "x86_64", false)
	env.Winograd = true
	for i := range b.Operands[1].Const.Len() {
		putFilter(b.Operands[1].Const.Data, ir.F32, i, float32(i%17)/3-2)
	}
	for _, n := range []int64{2, 4} {
		u := SplitFilters(b, env, []int64{n})[0][1].Operands[0]
		f := wino.New(int(n), filterTaps)
		points := f.Points() * f.Points()
		require.Equal(t, ir.Dims(int64(points), 5, 7), u.Shape)
		got, err := u.Const.Bytes()
		require.NoError(t, err)
		w, err := b.Operands[1].Const.Bytes()
		require.NoError(t, err)
		at := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
		filter, want, taps := f.Filter(), make([]float32, points), make([]float32, 9)
		for k := range 7 {
			for c := range 5 {
				for i := range taps {
					taps[i] = at(w, (k*5+c)*9+i)
				}
				filter.Apply(want, taps, 0, f.Points())
				for p, x := range want {
					require.Equal(t, x, at(got, (p*5+c)*7+k), "point %d of filter %d, %d", p, k, c)
				}
			}
		}
	}
}
