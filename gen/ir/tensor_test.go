package ir

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

// TestFits: each dimension may be fine, and their product not.
func TestFits(t *testing.T) {
	n := sym.Var("N")
	for _, c := range []struct {
		shape Shape
		want  string
	}{
		{Dims(1<<20, 1<<18), ""},
		{Dims(1<<20, 0, 1<<18), ""},
		{Shape{n, sym.Scale(n, 1<<38)}, ""},
		{Dims(1<<20, 1<<19), "more than 1099511627776 bytes"},
		{Dims(1<<20, 0, 1<<19), "more than 1099511627776 bytes"},
		{Shape{sym.Scale(n, 1<<20), sym.Scale(n, 1<<19)}, "more than 1099511627776 bytes"},
		{Shape{sym.Scale(n, 1<<30), sym.Scale(n, 1<<40)}, "overflows 64 bits"},
	} {
		err := c.shape.Fits(F32)
		if c.want == "" {
			require.NoError(t, err, "%v", c.shape)
			continue
		}
		require.ErrorContains(t, err, c.want, "%v", c.shape)
	}
}
