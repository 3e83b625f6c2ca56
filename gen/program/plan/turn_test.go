package plan

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPackInTurn: boxes that an allocator places do not overlap, and take little more than lives at once.
func TestPackInTurn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var boxes []*box
		for range 200 {
			first := r.IntN(100)
			boxes = append(boxes, &box{first: first, last: first + r.IntN(20), size: 64 * int64(1+r.IntN(8))})
		}
		peak := packInTurn(boxes)
		for i, x := range boxes {
			require.LessOrEqual(t, x.offset+x.size, peak)
			for _, y := range boxes[:i] {
				require.False(t, x.overlaps(y) && x.offset < y.offset+y.size && y.offset < x.offset+x.size, "%+v and %+v", x, y)
			}
		}
		assert.LessOrEqual(t, peak, 2*liveBound(boxes))
	}
}

// TestPackManyPairs: boxes of too many pairs to search in are placed all the same.
func TestPackManyPairs(t *testing.T) {
	var boxes []*box
	for i := range 2000 {
		boxes = append(boxes, &box{first: i, last: 4000 - i, size: 64})
	}
	_, few := neighbours(boxes, maxPairs)
	require.False(t, few)
	assert.EqualValues(t, 2000*64, pack(boxes))
}

// TestNeighbours: the sweep finds what comparing all pairs finds.
func TestNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var boxes []*box
	for range 300 {
		first := r.IntN(50)
		boxes = append(boxes, &box{first: first, last: first + r.IntN(10), size: int64(r.IntN(9))})
	}
	near, few := neighbours(boxes, maxPairs)
	require.True(t, few)
	most := int64(0)
	for i, x := range boxes {
		var want []int
		live := int64(0)
		for k, y := range boxes {
			if i != k && x.overlaps(y) {
				want = append(want, k)
			}
			if y.first <= x.first && x.first <= y.last {
				live += y.size
			}
		}
		assert.ElementsMatch(t, want, near[i])
		most = max(most, live)
	}
	assert.Equal(t, most, liveBound(boxes))
}
