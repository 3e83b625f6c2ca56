package workgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/lowertest"
	"rules_dnn/gen/target"
)

// TestRefusedGroups: a schedule of work-groups that the verifier refuses on a device is no proposal, so that nothing gives way to it.
func TestRefusedGroups(t *testing.T) {
	const facts = `{"name": "test", "cpu": "opencl", "vector_bits": 128, "vector_registers": 32, "instructions": ["mad_f32x4"], "fma_per_cycle": 1,
		"loads_per_cycle": 1, "issue_per_cycle": 2, "tasks": 65536, "task_elements": 4, "parallel": 2048, "load_cycles": 1,
		"opencl": {"group_items": 64, "workers": 512, "local_bytes": 32768, "units": 16, "sub_group": 16},
		"l1d_bytes": 32768, "l2_bytes": 1048576, "bytes_per_cycle": 64, "l2_bytes_per_cycle": 128}`
	product := lowertest.Formed(t, "input %x f32[512, 512]\ninput %w f32[512, 512]\n%y ?[*] = MatMul.13(%x, %w)\noutput %y")
	for name, refuse := range map[string]func(o *target.OpenCL){
		"too few items":     func(o *target.OpenCL) { o.GroupItems = 2 },
		"too little memory": func(o *target.OpenCL) { o.LocalBytes = 64 },
	} {
		t.Run(name, func(t *testing.T) {
			d, err := target.Parse([]byte(facts))
			require.NoError(t, err)
			env := &lower.Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: d, Contractions: true, Vectors: true}
			g := sharedFactors(product, env)
			require.NotNil(t, g)
			tiles := g.tiles()
			require.NotEmpty(t, tiles)
			l, err := g.follow(tiles[0])
			require.NoError(t, err)
			assert.NotNil(t, l, "the device takes it")

			refuse(d.OpenCL)
			l, err = g.follow(tiles[0])
			require.NoError(t, err)
			assert.Nil(t, l, "the device does not")
		})
	}
}
