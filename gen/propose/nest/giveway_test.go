package nest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/propose/workgroup"
	"rules_dnn/gen/target"
)

// TestGivesWay: loops give way to kernels of work-groups that are there, and to those alone.
func TestGivesWay(t *testing.T) {
	b := lowertest.Formed(t, "input %x f32[512, 512]\ninput %w f32[512, 512]\n%y ?[*] = MatMul.13(%x, %w)\noutput %y")
	for name, change := range map[string]func(o *target.OpenCL){
		"a device that takes them": func(o *target.OpenCL) {},
		"too few items":            func(o *target.OpenCL) { o.GroupItems = 2 },
		"too little memory":        func(o *target.OpenCL) { o.LocalBytes = 64 },
	} {
		t.Run(name, func(t *testing.T) {
			d := lowertest.Device(t)
			change(d.OpenCL)
			env := &lower.Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: d, Contractions: true, Vectors: true}
			groups, err := workgroup.Tiles(b, env)
			require.NoError(t, err)
			l, err := Generic(b, env)
			require.NoError(t, err)
			assert.Equal(t, len(groups) == 0, l != nil)
			if name == "a device that takes them" {
				assert.NotEmpty(t, groups)
			}
		})
	}
}
