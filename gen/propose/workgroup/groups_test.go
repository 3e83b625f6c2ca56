package workgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/target"
)

// TestRefusedGroups: a schedule of work-groups that the verifier refuses on a device is no proposal, so that nothing gives way to it.
func TestRefusedGroups(t *testing.T) {
	product := lowertest.Formed(t, "input %x f32[512, 512]\ninput %w f32[512, 512]\n%y ?[*] = MatMul.13(%x, %w)\noutput %y")
	for name, refuse := range map[string]func(o *target.OpenCL){
		"too few items":     func(o *target.OpenCL) { o.GroupItems = 2 },
		"too little memory": func(o *target.OpenCL) { o.LocalBytes = 64 },
	} {
		t.Run(name, func(t *testing.T) {
			d := lowertest.Device(t)
			env := lower.NewEnv(d, nil, lower.Options{Contractions: true, Vectors: true})
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
