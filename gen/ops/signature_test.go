package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestAlternatives: a node takes a shape of its signature that needs no check of the run, if any.
// Otherwise it prefers shapes that leave all symbols free.
func TestAlternatives(t *testing.T) {
	for _, c := range []struct {
		b, scale *ir.Value
		want     string
	}{
		{val(ir.I8, "K", "N"), f32(1, "N"), ""},
		{val(ir.I8, "K", "N"), f32("N"), ""},
		{val(ir.I8, "K", "N"), f32(1), ""},
		{val(ir.I8, "K", "N"), f32(1, 1), ""},
		{val(ir.I8, "K", "N"), f32("P"), "P == N"},
		{val(ir.I8, "K", 4), f32(1, "P"), "P == 4"},
		{val(ir.I8, "K", 1), f32("P"), "P == 1"},
	} {
		e, err := Expand(microsoft("DynamicQuantizeMatMul", nil, f32(2, "K"), c.b, c.scale), nil)
		require.NoError(t, err)
		assert.Equal(t, c.want, checksText(&Meaning{Checks: e.Checks}), "B %s, b_scale %s", c.b.Shape, c.scale.Shape)
	}
}
