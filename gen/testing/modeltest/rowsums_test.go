package modeltest

import (
	"fmt"
	"testing"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// TestReducedRows: rows of lengths about the vectors' are reduced, with an axis of one point, and of more, reduced around them.
func TestReducedRows(t *testing.T) {
	for _, op := range []string{"ReduceSum.13", "ReduceMax.20", "ReduceLogSumExp.18"} {
		for _, around := range []int64{1, 2} {
			for _, n := range []int64{1, 2, 3, 4, 5, 6, 7, 9, 15, 19, 31, 67} {
				text := fmt.Sprintf("const @axes i64[2] = {0, 3}\ninput %%x f32[%d, 4, 3, %d]\n%%y ?[*] = %s(%%x, @axes) {keepdims = 0}\noutput %%y\n", around, n, op)
				t.Run(fmt.Sprintf("%s of %d around %d", op, around, n), func(t *testing.T) {
					everywhere(t, func() *ir.Graph { return irtest.Parse(t, text) }, map[string]*ir.Tensor{"x": wave(around, 4, 3, n)})
				})
			}
		}
	}
}

// TestPickedRows: the place of the greatest in rows, with axes of one point besides.
func TestPickedRows(t *testing.T) {
	for _, n := range []int64{1, 3, 4, 5, 7, 9, 19, 67} {
		text := fmt.Sprintf("input %%x f32[1, 4, 1, %d]\n%%y ?[*] = ArgMax.13(%%x) {axis = 3}\noutput %%y\n", n)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			everywhere(t, func() *ir.Graph { return irtest.Parse(t, text) }, map[string]*ir.Tensor{"x": wave(1, 4, 1, n)})
		})
	}
}
