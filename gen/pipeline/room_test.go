package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
)

// groupDevice are a device's facts, with so much memory for a group.
const groupDevice = `{"name": "test", "cpu": "opencl", "vector_bits": 128, "vector_registers": 32, "instructions": ["mad_f32x4"], "fma_per_cycle": 1,
	"loads_per_cycle": 1, "issue_per_cycle": 2, "tasks": 65536, "task_elements": 4, "parallel": 2048, "load_cycles": 1,
	"opencl": {"group_items": 64, "workers": 512, "local_bytes": 2048, "units": 16, "sub_group": 16},
	"l1d_bytes": 32768, "l2_bytes": 1048576, "bytes_per_cycle": 64, "l2_bytes_per_cycle": 128}`

// TestRoom: a kernel whose work-items share more memory than their device has, or are more, is found after whatever pass makes it so.
func TestRoom(t *testing.T) {
	const text = `
		input %x f32[64, 256]
		%y ?[*] = Softmax.13(%x) {axis = -1} "softmax"
		output %y`
	much := func(k *loop.Kernel) {
		shared := *k.Shared[0]
		shared.Size = sym.Const(513)
		k.Shared = append(slices.Clone(k.Shared), &loop.Buffer{Name: "more", Type: shared.Type, Write: true, Size: shared.Size})
	}
	for _, c := range []struct {
		name, after string
		device      bool // beside a host
		fewer       int64
		want        string
	}{
		{"enough", "plan", false, 0, ""},
		{"memory after select", "select", false, 0, "share "},
		{"memory after lower", "lower", false, 0, "share "},
		{"memory after plan", "plan", false, 0, "share "},
		{"memory of launches", "plan", true, 0, "share "},
		{"items", "select", false, 16, "groups of 64 work-items; the device allows 16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := target.Parse([]byte(groupDevice))
			require.NoError(t, err)
			s := &State{Graph: irtest.Parse(t, text), Target: d}
			if c.device {
				host := *d
				host.Name, host.CPU, host.OpenCL, host.Instructions, host.Tasks, host.Parallel = "host", "x86_64", nil, nil, 1, 1
				s.Target, s.Device = &host, d
				s.Price = func(_ *block.Block, space layout.Space) float64 {
					return map[layout.Space]float64{layout.Host: 1e12}[space]
				}
			}
			harm := Pass{Name: "harm", Run: func(s *State) error {
				all := s.grouped()
				require.Len(t, all, 1)
				switch {
				case c.want == "":
				case c.fewer > 0:
					d.OpenCL.GroupItems = c.fewer
				default:
					much(all[0].kernel)
				}
				return nil
			}}
			var passes []Pass
			for _, p := range slices.Concat(GraphPasses, CompilePasses) {
				if passes = append(passes, p); p.Name == c.after {
					passes = append(passes, harm)
				}
			}
			_, err = Run(passes, s, Options{})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, "after pass harm: ")
			assert.ErrorContains(t, err, c.want)
		})
	}
}
