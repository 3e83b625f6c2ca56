package cost

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLosses: each processor counts by the ratio to its own best, however fast it is.
func TestLosses(t *testing.T) {
	assert.Equal(t, []float64{3, 1, 2}, Losses([][]float64{{3, 1, 2}}), "of one processor, what it takes")
	assert.Equal(t, []float64{2, 3, 1.5}, Losses([][]float64{
		{100, 300, 150},
		{8, 4, 5},
	}))
}
