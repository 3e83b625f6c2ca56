package plan

import (
	"cmp"
	"slices"
)

// gap is free memory.
type gap struct{ from, to int64 }

// packInTurn places boxes as an allocator would that is told of each when it begins and when it ends: in the smallest gap
// that holds it. It takes little more time than sorting them.
func packInTurn(boxes []*box) (peak int64) {
	var free []gap // in the order of their places, none next to another one
	sweep(boxes, func(i int) {
		b := boxes[i]
		best := -1
		for k, g := range free {
			if g.to-g.from >= b.size && (best < 0 || g.to-g.from < free[best].to-free[best].from) {
				best = k
			}
		}
		if best < 0 {
			b.offset, peak = peak, peak+b.size
			return
		}
		b.offset = free[best].from
		if free[best].from += b.size; free[best].from == free[best].to {
			free = slices.Delete(free, best, best+1)
		}
	}, func(i int) { free = released(free, gap{boxes[i].offset, boxes[i].offset + boxes[i].size}) })
	return peak
}

// released adds a gap, which joins its neighbours.
func released(free []gap, g gap) []gap {
	at, _ := slices.BinarySearchFunc(free, g, func(a, b gap) int { return cmp.Compare(a.from, b.from) })
	if at < len(free) && free[at].from == g.to {
		g.to = free[at].to
		free = slices.Delete(free, at, at+1)
	}
	if at > 0 && free[at-1].to == g.from {
		free[at-1].to = g.to
		return free
	}
	return slices.Insert(free, at, g)
}
