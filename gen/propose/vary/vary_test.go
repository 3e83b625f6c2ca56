package vary

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCounts(t *testing.T) {
	assert.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Counts(10))
	assert.Equal(t, []int64{1, 2, 3, 5}, Counts(3, 5))
	all := Counts(1000)
	assert.Less(t, len(all), 60, fmt.Sprint(all))
	assert.Equal(t, []int64{1, 2, 3, 4, 6, 12}, Divisors(12, 100))
	assert.Equal(t, []int64{0, 64, 128, 256, 512}, Distances(512, 4))
}
