package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func randomBoxes(r *rand.Rand, n, steps, life int) []*box {
	var out []*box
	for range n {
		first := r.IntN(steps)
		out = append(out, &box{first: first, last: min(steps, first+r.IntN(life)), size: 1 + r.Int64N(20)})
	}
	return out
}

// checkPacked fails where boxes overlap in time and memory, or lie beyond the peak.
func checkPacked(t *testing.T, boxes []*box, peak int64, what string) {
	t.Helper()
	highest := int64(0)
	for i, a := range boxes {
		require.GreaterOrEqual(t, a.offset, int64(0), what)
		highest = max(highest, a.offset+a.size)
		for _, b := range boxes[:i] {
			require.False(t, a.overlaps(b) && a.offset < b.offset+b.size && b.offset < a.offset+a.size, "%+v and %+v overlap; %s", a, b, what)
		}
	}
	require.Equal(t, highest, peak, what)
	require.LessOrEqual(t, liveBound(boxes), peak, what)
}

// least is the lowest peak of all orders of placing each box as low as it can be: one of them is a best packing.
func least(boxes []*box) int64 {
	best := int64(1) << 60
	var try func(placed []*box)
	try = func(placed []*box) {
		if len(placed) == len(boxes) {
			peak := int64(0)
			for _, b := range placed {
				peak = max(peak, b.offset+b.size)
			}
			best = min(best, peak)
			return
		}
		for _, b := range boxes {
			if slices.Contains(placed, b) {
				continue
			}
			b.offset = 0
			for again := true; again; {
				again = false
				for _, o := range placed {
					if o.overlaps(b) && o.offset < b.offset+b.size && b.offset < o.offset+o.size {
						b.offset, again = o.offset+o.size, true
					}
				}
			}
			try(append(slices.Clip(placed), b))
		}
	}
	try(nil)
	return best
}

// TestPackSmall: of seven boxes, packing finds a best one.
func TestPackSmall(t *testing.T) {
	for seed := range uint64(60) {
		boxes := randomBoxes(rand.New(rand.NewPCG(seed, 3)), 7, 6, 4)
		want := least(boxes)
		peak := pack(boxes)
		checkPacked(t, boxes, peak, fmt.Sprint("seed ", seed))
		assert.Equal(t, want, peak, "seed %d", seed)
	}
}

// TestPackMany: of values as those of networks, most of which live for a few steps, hardly more memory is taken than lives at
// once, and the same each time.
func TestPackMany(t *testing.T) {
	for seed := range uint64(6) {
		boxes := randomBoxes(rand.New(rand.NewPCG(seed, 4)), 500, 400, 8)
		for i := range 20 {
			boxes[i].last = min(400, boxes[i].first+100)
		}
		peak := pack(boxes)
		checkPacked(t, boxes, peak, fmt.Sprint("seed ", seed))
		assert.LessOrEqual(t, float64(peak), 1.03*float64(liveBound(boxes)), "seed %d", seed)
		var again []*box
		for _, b := range boxes {
			again = append(again, &box{first: b.first, last: b.last, size: b.size})
		}
		require.Equal(t, peak, pack(again))
		for i, b := range boxes {
			require.Equal(t, b.offset, again[i].offset)
		}
	}
}

// BenchmarkPack packs 500 boxes whose bound is out of reach, so that the whole search runs.
func BenchmarkPack(b *testing.B) {
	for range b.N {
		pack(randomBoxes(rand.New(rand.NewPCG(1, 5)), 500, 60, 30))
	}
}
