package product

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestInGroups: each element lies where the parts that kernels read say.
func TestInGroups(t *testing.T) {
	for _, c := range []struct {
		dims    []int64
		columns int
		width   int64
	}{
		{[]int64{5, 8, 2}, 1, 4}, // of each point of a sum, columns, and neighbours
		{[]int64{3, 3, 6, 32, 2}, 3, 16},
		{[]int64{12, 2}, 0, 4},
		{[]int64{7, 24}, 1, 8},
	} {
		k, size := &packing{columns: c.columns}, int64(1)
		for _, n := range c.dims {
			k.Axes, size = append(k.Axes, te.Axis{Extent: sym.Const(n)}), size*n
		}
		from, to := make([]byte, size), make([]byte, size)
		for i := range from {
			from[i] = byte(i)
		}
		inGroups(to, from, c.dims, c.columns, int(c.width))
		parts := k.grouped(c.width)
		assert.NoError(t, parts.Check(len(c.dims)))
		at := make([]sym.Expr, len(c.dims))
		for i := range from {
			rest := int64(i)
			for d := len(at) - 1; d >= 0; d-- {
				at[d], rest = sym.Const(rest%c.dims[d]), rest/c.dims[d]
			}
			offset, _ := parts.Offset(ir.Dims(c.dims...), at, nil).Const()
			assert.Equal(t, from[i], to[offset], "%v: element %d at %d", c.dims, i, offset)
		}
	}
}
