package sel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/target/chips/chipstest"
)

// versionsOf are the guards of each block's versions, and what their constants add, as a part of the others.
func versionsOf(t *testing.T, text string) (guards map[string][]string, added float64) {
	t.Helper()
	g, v4, o := fused(t, text), chipstest.Target(t, "x86_64_v4"), tuned
	c, err := Run(g, v4, o)
	require.NoError(t, err)
	require.NoError(t, c.AddVersions(g, v4, o))
	guards, whole := map[string][]string{}, int64(0)
	everyBlock(g, 1, func(b *block.Block, _ float64) {
		if k, ok := c.Kernels[b]; ok {
			whole += constantBytes(k)
		}
		for _, v := range c.Versions[b] {
			added += float64(v.added)
			for _, d := range v.Guard {
				guards[b.Ops[0]] = append(guards[b.Ops[0]], d.Relation())
			}
			assert.Less(t, v.Kernel.Cycles, c.Kernels[b].Cycles, b.Label())
		}
	})
	return guards, added / float64(max(whole, 1))
}

// TestPoints: where few points of Winograd's weights are enough for small images, a version reads only these, and adds no constant.
func TestPoints(t *testing.T) {
	const graph = `  symbol H 2..512
  symbol W 2..512
%s  input %%x f32[1, 256, H, W]
  %%y ?[*] = Conv.11(%%x, @w) {pads = [1, 1, 1, 1]} "conv"
  output %%y`
	guards, added := versionsOf(t, fmt.Sprintf(graph, filters("w", 256, 256, 3, 3)))
	assert.Equal(t, []string{"8 >= H", "8 >= W"}, guards["Conv"])
	assert.Zero(t, added)
}

// TestAddVersions: blocks that gain by them have versions for the sizes up to which they do, of few more constants.
func TestAddVersions(t *testing.T) {
	const graph = `  symbol N 1..8
  symbol H %s
  symbol W %s
%s  input %%x f32[N, 64, H, W]
  %%y ?[*] = Conv.11(%%x, @w) {%s} "conv"
  %%z ?[*] = Relu.14(%%y)
  output %%z`
	square, one := filters("w", 64, 64, 3, 3), filters("w", 64, 64, 1, 1)
	for _, c := range []struct {
		name, h, w, weights, attrs string
		want                       []string
	}{
		{"padded", "1..512", "1..512", square, "pads = [1, 1, 1, 1]", []string{"1 >= H", "1 >= W", "8 >= H", "8 >= W"}},
		{"never so small", "9..512", "9..512", square, "pads = [1, 1, 1, 1]", nil},
		{"never larger", "1..1", "1..1", square, "pads = [1, 1, 1, 1]", nil},
		{"a ninth of the weights would be added", "1..512", "1..512", square, "pads = [1, 1, 1, 1], strides = [4, 4]", nil},
		{"all weights are read", "1..512", "1..512", one, "pads = [0, 0, 0, 0]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			guards, added := versionsOf(t, fmt.Sprintf(graph, c.h, c.w, c.weights, c.attrs))
			assert.Equal(t, c.want, guards["Conv"])
			assert.LessOrEqual(t, added, mostAdded)
			assert.Equal(t, c.want != nil, added > 0, "%f", added)
		})
	}
}
