package modeltest

import (
	"fmt"
	"testing"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// TestScans: rows of lengths about the vectors', and of one more, are scanned side by side, up and down, whole and in parts.
func TestScans(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 34, 257, 513} {
		for _, attrs := range []string{"", "{reverse = 1}", "{exclusive = 1, reverse = 1}"} {
			for _, rows := range []int64{1, 4} {
				text := fmt.Sprintf("const @axis i64[] = {1}\ninput %%x f32[%d, 3, %d]\n%%y ?[*] = CumSum.14(%%x, @axis) %s\noutput %%y\n", rows, n, attrs)
				t.Run(fmt.Sprintf("%d of %d %s", rows, n, attrs), func(t *testing.T) {
					everywhere(t, func() *ir.Graph { return irtest.Parse(t, text) }, map[string]*ir.Tensor{"x": wave(rows, 3, n)})
				})
			}
		}
	}
}
