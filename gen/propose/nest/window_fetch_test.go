package nest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestFetched: windows that read each element of a large value once ask for the lines that those of some rows further down read; others leave it to
// the processor.
func TestFetched(t *testing.T) {
	blocks := layout.Of(layout.Part{Axis: 1, Size: 16})
	for _, c := range []struct {
		what, x, y, attrs, chip string
		fetched                 int // lines for each register of results
	}{
		{"of 2x2 pixels", "1, 64, 128, 128", "1, 64, 64, 64", "kernel_shape = [2, 2], strides = [2, 2]", "x86_64_v4", 4},
		{"of the same pixel of two rows, whose pixels are one axis", "1, 64, 128, 128", "1, 64, 64, 128", "kernel_shape = [2, 1], strides = [2, 1]", "x86_64_v4", 0},
		{"of 2x4 pixels", "1, 64, 128, 128", "1, 64, 64, 32", "kernel_shape = [2, 4], strides = [2, 4]", "x86_64_v4", 8},
		{"that overlap", "1, 64, 128, 128", "1, 64, 127, 127", "kernel_shape = [2, 2]", "x86_64_v4", 0},
		{"that leave pixels out", "1, 64, 128, 128", "1, 64, 43, 43", "kernel_shape = [2, 2], strides = [3, 3]", "x86_64_v4", 0},
		{"of a value in a near cache", "1, 64, 32, 32", "1, 64, 16, 16", "kernel_shape = [2, 2], strides = [2, 2]", "x86_64_v4", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := lowertest.Formed(t, fmt.Sprintf("  input %%x f32[%s]\n  %%y f32[%s] = MaxPool.12(%%x) {%s}\n  output %%y\n", c.x, c.y, c.attrs))
			env := &lower.Env{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}, Layouts: func(*ir.Value) layout.Layout { return blocks }, Target: lowertest.Chip(t, c.chip)}
			l, err := Generic(b, env)
			require.NoError(t, err)
			require.NoError(t, loop.Verify(l.Kernel))
			var at []string
			loop.Walk(l.Kernel.Body, func(s loop.Stmt) bool {
				if x, ok := s.(loop.Claim); ok {
					assert.True(t, x.Later)
					at = append(at, x.Index.String())
				}
				return true
			})
			assert.Len(t, at, c.fetched, "%s\n%s", at, l.Kernel)
		})
	}
}
