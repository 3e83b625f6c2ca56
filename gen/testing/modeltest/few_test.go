package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
)

// TestFewChannels: the lanes of a convolution of fewer channels than a register has lanes are pixels, where windows overlap or several
// channels share what is packed, and those of a convolution of one input channel are, too.
func TestFewChannels(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []struct {
		convolution
		pixels bool // are the lanes on x86_64_v4
	}{
		{convolution{name: "large windows", x: []int64{1, 16, 40, 40}, w: []int64{3, 16, 9, 9}, pads: none, add: true}, true},
		{convolution{name: "padded", x: []int64{2, 16, 24, 150}, w: []int64{3, 16, 3, 3}, pads: same}, true},
		{convolution{name: "two channels", x: []int64{1, 8, 20, 64}, w: []int64{2, 8, 3, 3}, pads: same}, true},
		{convolution{name: "much padding", x: []int64{1, 8, 12, 20}, w: []int64{2, 8, 5, 5}, pads: []int64{4, 30, 4, 30}}, true},
		{convolution{name: "strides", x: []int64{1, 16, 33, 65}, w: []int64{4, 16, 3, 3}, pads: same, strides: []int64{2, 2}}, false},
		{convolution{name: "behind another convolution", x: []int64{1, 16, 40, 48}, w: []int64{3, 16, 7, 7}, pads: []int64{3, 3, 3, 3}, between: true}, true},
		{convolution{name: "of 16 bits", x: []int64{1, 16, 40, 40}, w: []int64{3, 16, 9, 9}, pads: []int64{4, 4, 4, 4}, half: ir.F16}, true},
		{convolution{name: "of one dimension", x: []int64{1, 16, 300}, w: []int64{2, 16, 9}, pads: []int64{4, 4}}, true},
		{convolution{name: "of three", x: []int64{1, 8, 6, 12, 40}, w: []int64{2, 8, 3, 3, 3}, pads: []int64{1, 1, 1, 1, 1, 1}}, true},
		{convolution{name: "of many sizes", x: []int64{1, 16, 24, 40}, w: []int64{3, 16, 3, 3}, pads: same, symbolic: true}, false},
		{convolution{name: "from one channel", x: []int64{1, 1, 24, 150}, w: []int64{40, 1, 3, 3}, pads: same, add: true}, true},
		{convolution{name: "from one channel, of one dimension", x: []int64{2, 1, 300}, w: []int64{37, 1, 9}, pads: []int64{4, 4}}, true},
		{convolution{name: "from one channel, of 16 bits", x: []int64{1, 1, 40, 40}, w: []int64{32, 1, 5, 5}, pads: none, half: ir.F16}, true},
		{convolution{name: "from one channel, with strides", x: []int64{1, 1, 33, 65}, w: []int64{40, 1, 3, 3}, pads: same, strides: []int64{2, 2}}, false},
		{convolution{name: "a row of results", x: []int64{5, 16, 3, 3}, w: []int64{3, 16, 3, 3}, pads: none}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.run(t)["x86_64_v4"]
			found := slices.ContainsFunc(p.Calls(), func(s *plan.Call) bool { return s.Kernel.Anchor == "product" })
			if c.pixels {
				assert.True(t, found, "the lanes are pixels\n%s", p)
			}
		})
	}
}
