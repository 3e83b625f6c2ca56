package sel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestViews: which values lie in others on the host and on a device, whose values begin at multiples of 256 bytes: in one space, in buffers, and where
// they would begin as values of their own do.
func TestViews(t *testing.T) {
	const sixteen, sixtyFour = "const @from i64[1] = {16}\n", "const @from i64[1] = {64}\n"
	const row = "const @to i64[1] = {128}\ninput %x f32[256]\n%y ?[*] = Slice.13(%x, @from, @to)\noutput %y"
	const joined = "input %x f32[1, 16, 4, 4]\ninput %z f32[1, 16, 4, 4]\n%y ?[*] = Concat.13(%x, %z) {axis = 0}\noutput %y"
	const uneven = "input %x f32[16]\ninput %z f32[16]\n%y ?[*] = Concat.13(%x, %z) {axis = 0}\noutput %y"
	host, there := layout.RowMajor, layout.RowMajor.In(layout.Device)
	blocked := layout.Blocked(1, 16).In(layout.Device)
	image := layout.Texels(1).In(layout.Device)
	for _, c := range []struct {
		name, text string
		x, z, y    layout.Layout
		want       []string // where views begin; nil: there are none
	}{
		{"a part, on the host", sixteen + row, host, host, host, []string{"y in x at 16"}},
		{"a part, on the device", sixtyFour + row, there, there, there, []string{"y in x at 64"}},
		{"a part that begins where no value of the device's may", sixteen + row, there, there, there, nil},
		{"a part in the other space", sixtyFour + row, host, host, there, nil},
		{"a part of the other space", sixtyFour + row, there, there, host, nil},
		{"pieces, on the host", joined, host, host, host, []string{"x in y at 0", "z in y at 256"}},
		{"pieces, on the device", joined, there, there, there, []string{"x in y at 0", "z in y at 256"}},
		{"pieces in blocks, on the device", joined, blocked, blocked, blocked, []string{"x in y at 0", "z in y at 256"}},
		{"short pieces, on the host", uneven, host, host, host, []string{"x in y at 0", "z in y at 16"}},
		{"a piece that begins where no value of the device's may", uneven, there, there, there, nil},
		{"a piece in the other space", joined, there, host, there, nil},
		{"a piece in another order", joined, there, blocked, there, nil},
		{"pieces of images", joined, image, image, image, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := fused(t, c.text)
			d := chipstest.Target(t, "opencl_images")
			d.OpenCL.AlignBytes = 256
			s := newSelector(g, chipstest.Target(t, "x86_64_v4"), all)
			require.NoError(t, s.addDevice(d))
			views, ok := s.viewsIn(g.Blocks[len(g.Blocks)-1], func(v *ir.Value) layout.Layout {
				return map[string]layout.Layout{"x": c.x, "z": c.z, "y": c.y}[v.Name]
			})
			var got []string
			for _, v := range views {
				if ok {
					got = append(got, v.Value.Name+" in "+v.Of.Name+" at "+v.At.String())
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestWindowsInStep: windows have no register tiles where neighbouring work-items run in step.
func TestWindowsInStep(t *testing.T) {
	for inStep, want := range map[int64][]string{0: {"direct", "generic", "window"}, 1: {"direct", "generic", "window"}, 16: {"generic"}} {
		g := fused(t, filters("w", 16, 1, 3, 3)+"  input %x f32[1, 16, 14, 14]\n  %y ?[*] = Conv.11(%x, @w) {group = 16, pads = [1, 1, 1, 1]}\n  output %y\n")
		d := chipstest.Target(t, "opencl_buffers")
		d.OpenCL.SubGroup = inStep
		s := newSelector(g, d, all)
		ks, err := s.kernels(g.Blocks[0], func(v *ir.Value) layout.Layout {
			if v.Const != nil {
				return layout.RowMajor
			}
			return s.host().blocked
		}, 0, "")
		require.NoError(t, err)
		var anchors []string
		for _, k := range ks {
			require.NoError(t, k.Make())
			anchors = append(anchors, k.Kernel.Anchor)
		}
		assert.ElementsMatch(t, want, anchors, "%d in step", inStep)
	}
}
