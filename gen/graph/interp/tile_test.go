package interp

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTiles: vector instructions give the bits that Go's own operations give.
func TestTiles(t *testing.T) {
	if tileWide == nil {
		t.Skip("this processor has no vector instructions that tiles are made of")
	}
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(r.NormFloat64())
		}
		return out
	}
	wide := tileWide
	defer func() { tileWide = wide }()
	for _, depth := range []int64{1, 2, 7, 100} {
		x, y, sum := fill(int(tileRows*depth)), fill(int(tileColumns*depth)), fill(tileRows*tileColumns)
		other := append([]float32{}, sum...)
		tileWide = wide
		tile32(sum, x, y, depth, tileRows)
		tileWide = nil
		tile32(other, x, y, depth, tileRows)
		assert.Equal(t, other, sum, "depth %d", depth)
	}
}
