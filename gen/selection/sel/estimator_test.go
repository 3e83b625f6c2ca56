package sel

import (
	"testing"

	"rules_dnn/gen/target/chips/chipstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEstimator: blocks that are equal up to names are estimated once, to what each is estimated to by itself, and others are not taken for them.
func TestEstimator(t *testing.T) {
	g := formed(t, `
  input %x f32[2, 96, 64]
  input %u f32[2, 64, 64]
  input %v f32[2, 64, 64]
  input %w f32[2, 64, 48]
  %a f32[2, 96, 64] = MatMul.13(%x, %u)
  %b f32[2, 96, 64] = MatMul.13(%a, %v)
  %c f32[2, 96, 48] = MatMul.13(%b, %w)
  output %c
`)
	require.Len(t, g.Blocks, 3)
	for _, name := range []string{"x86_64_v4", "arm64", "hexagon_v68"} {
		target := chipstest.Target(t, name)
		e := NewEstimator(g.Facts, target, all, nil)
		for range 2 {
			for _, b := range g.Blocks {
				assert.Equal(t, Estimate(b, g.Facts, target, all), e.Alone(b), name)
				assert.Equal(t, EstimateShared(b, g.Facts, target, all), e.Shared(b), name)
			}
		}
		assert.Len(t, e.alone, 2, name)
		assert.Len(t, e.shared, 2, name)
		assert.NotEqual(t, e.Alone(g.Blocks[0]), e.Alone(g.Blocks[2]), name)
	}
}
