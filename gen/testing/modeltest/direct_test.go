package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// TestDirect: depthwise convolutions that read their operand where it lies are what the interpreter computes, with rows and pixels at whose
// edges taps are padding, tiles in loops between them, and channels that fill no block, in f32 and in 16 bits, which loads widen.
func TestDirect(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "one tile", x: []int64{1, 32, 7, 7}, w: []int64{32, 1, 3, 3}, pads: same},
		{name: "tiles within", x: []int64{1, 16, 5, 150}, w: []int64{16, 1, 3, 3}, pads: same, add: true},
		{name: "steps", x: []int64{2, 48, 15, 30}, w: []int64{48, 1, 5, 5}, pads: []int64{1, 1, 2, 2}, strides: []int64{2, 2}},
		{name: "steps of other lengths", x: []int64{1, 16, 9, 61}, w: []int64{16, 1, 3, 5}, pads: []int64{1, 2, 1, 2}, strides: []int64{1, 3}},
		{name: "dilated", x: []int64{1, 16, 9, 40}, w: []int64{16, 1, 3, 3}, pads: []int64{2, 2, 2, 2}, dilated: []int64{2, 2}},
		{name: "unpadded", x: []int64{1, 16, 9, 40}, w: []int64{16, 1, 3, 3}, pads: none},
		{name: "more padding than taps", x: []int64{1, 16, 3, 4}, w: []int64{16, 1, 3, 3}, pads: []int64{4, 5, 3, 6}},
		{name: "last block not full", x: []int64{1, 40, 14, 14}, w: []int64{40, 1, 3, 3}, pads: same},
		{name: "no block full", x: []int64{1, 12, 14, 14}, w: []int64{12, 1, 3, 3}, pads: same, swish: true},
		{name: "costly results", x: []int64{1, 40, 28, 70}, w: []int64{40, 1, 5, 5}, pads: []int64{2, 2, 2, 2}, swish: true},
		{name: "lines", x: []int64{1, 32, 70}, w: []int64{32, 1, 5}, pads: []int64{2, 2}},
		{name: "columns", x: []int64{1, 32, 20, 20}, w: []int64{32, 1, 5, 1}, pads: []int64{2, 0, 2, 0}},
		{name: "depth", x: []int64{1, 16, 4, 9, 8}, w: []int64{16, 1, 3, 3, 3}, pads: []int64{1, 1, 1, 1, 1, 1}},
		{name: "two filters for a channel", x: []int64{1, 32, 28, 28}, w: []int64{64, 1, 7, 7}, pads: []int64{3, 3, 3, 3}, strides: []int64{2, 2}},
		{name: "three, in blocks that are not full", x: []int64{2, 8, 20, 24}, w: []int64{24, 1, 3, 3}, pads: same, add: true},
	} {
		c.between, c.group = true, c.x[1]
		for _, typ := range loop.Floats {
			t.Run(c.name+"/"+typ.String(), func(t *testing.T) {
				if typ != ir.F32 {
					c.half = typ
				}
				used := false
				for _, p := range c.run(t) {
					used = used || slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return c.Kernel.Anchor == "direct" })
					assertPieces(t, p)
				}
				assert.True(t, used, "no chip's code reads the operand where it lies")
			})
		}
	}
}
