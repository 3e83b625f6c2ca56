package nest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestAlongMemory: the innermost loop of a reduction of everything walks memory, whatever the operand's layout; where the order of additions
// would change, it stays.
func TestAlongMemory(t *testing.T) {
	last, err := layout.Parse("axis1")
	require.NoError(t, err)
	for _, c := range []struct {
		op     string
		layout layout.Layout
		want   bool
	}{
		{"ReduceMax.18", layout.RowMajor, true},
		{"ReduceMax.18", last, true},
		{"ReduceMin.18", last, true},
		{"ReduceProd.18", last, false},
	} {
		b := lowertest.Formed(t, "input %x f32[1, 192, 5, 7]\n%y ?[*] = "+c.op+"(%x) {keepdims = 0}\noutput %y")
		env := &lower.Env{Options: lower.Options{Vectors: true}, Target: lowertest.Chip(t, "x86_64_v4"), Layouts: func(v *ir.Value) layout.Layout {
			if len(v.Shape) == 4 {
				return c.layout
			}
			return layout.RowMajor
		}}
		l, err := Generic(b, env)
		require.NoError(t, err)
		vectors := false
		loop.Walk(l.Kernel.Body, func(s loop.Stmt) bool {
			a, ok := s.(loop.Alloc)
			vectors = vectors || ok && a.Buf.Size.Is(16)
			return true
		})
		assert.Equal(t, c.want, vectors, "%s of %s:\n%s", c.op, c.layout, l.Kernel)
	}
}
