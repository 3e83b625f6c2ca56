package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/plan"
)

// TestPooled: poolings whose windows lie side by side are computed where the convolution is that they read, and give what the interpreter gives; others are
// computed after it.
func TestPooled(t *testing.T) {
	every := []string{"arm64", "x86_64", "x86_64_v3", "x86_64_v4"}
	same, two := []int64{1, 1, 1, 1}, []int64{2, 2}
	for _, c := range []struct {
		convolution
		pooled []string // chips that compute them there
	}{
		{convolution: convolution{name: "filters that share what they keep", x: []int64{1, 32, 24, 28}, w: []int64{48, 32, 3, 3}, pads: same, share: 16, add: true, pool: two}, pooled: every},
		{convolution: convolution{name: "blocks of pixels", x: []int64{1, 20, 32, 64}, w: []int64{18, 20, 3, 3}, pads: same, share: 1, add: true, pool: two}, pooled: every},
		{convolution: convolution{name: "dense", x: []int64{2, 16, 24, 24}, w: []int64{32, 16, 5, 5}, pads: []int64{2, 2, 2, 2}, add: true, pool: two}, pooled: every},
		{convolution: convolution{name: "long windows", x: []int64{1, 32, 30, 24}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, pool: []int64{3, 2}}, pooled: every},
		{convolution: convolution{name: "windows of rows", x: []int64{1, 32, 24, 28}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, pool: []int64{2, 1}}, pooled: every},
		{convolution: convolution{name: "rows left over", x: []int64{1, 32, 25, 24}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, pool: two}},
		{convolution: convolution{name: "filters left over", x: []int64{1, 32, 24, 24}, w: []int64{41, 32, 3, 3}, pads: same, share: 16, pool: two}, pooled: []string{"arm64", "x86_64", "x86_64_v4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pooled []string
			for chip, p := range c.run(t) {
				if slices.ContainsFunc(p.Calls(), func(x *plan.Call) bool {
					return slices.Contains(x.Block.Ops, "Conv") && slices.Contains(x.Block.Ops, "MaxPool")
				}) {
					pooled = append(pooled, chip)
				}
			}
			slices.Sort(pooled)
			assert.Equal(t, c.pooled, pooled)
		})
	}
}
