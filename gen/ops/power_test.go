package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// TestPowers: squares and cubes by constants are products, where these are as exact as the function.
func TestPowers(t *testing.T) {
	for _, c := range []struct {
		t        ir.DType
		exponent *ir.Value
		calls    []string
	}{
		{ir.F32, num32(2), []string{"mul"}},
		{ir.F32, num64(2), []string{"mul"}},
		{ir.F16, num32(2), []string{"mul"}},
		{ir.F32, num32(3), []string{"mul", "mul"}},
		{ir.F64, num64(3), []string{"mul", "mul"}},
		{ir.F16, num32(3), []string{"pow", "cast"}},
		{ir.F32, num32(2.5), []string{"pow"}},
		{ir.F32, f32(), []string{"pow"}},
		{ir.I64, num64(2), []string{"pow"}},
		{ir.F32, vec(2, 3), []string{"pow", "cast"}},
	} {
		m, err := Build(node("Pow", nil, val(c.t, "N", 2), c.exponent), nil)
		require.NoError(t, err)
		var calls []string
		te.Walk(m.Stages[0].Results[0], func(e te.Expr) {
			if x, ok := e.(te.Call); ok {
				calls = append(calls, x.Fn)
			}
		})
		assert.Equal(t, c.calls, calls, "%s to the power of %v", c.t, c.exponent.Const)
	}
}
