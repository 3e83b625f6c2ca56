package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// box is what is placed: bytes, or multiples of a unit, that are taken from a first step to a last one.
type box struct {
	first, last  int
	size, offset int64
}

func (s *box) overlaps(o *box) bool { return o.first <= s.last && s.first <= o.last }

// searchWork bounds the search for a better packing of a box, in pairs of boxes that are looked at: 500 boxes are
// searched for about 50 ms.
const searchWork = 1 << 10

// maxPairs is how many pairs of boxes that overlap in time are placed with a search; of more, the boxes are placed one after
// the other in the order of their lives. Networks have up to some ten thousand.
const maxPairs = 1 << 20

// pack gives each box an offset such that no two overlap in both time and memory, and returns the peak.
// A box takes a gap between those that are placed already; what is tried are several orders of placing
// and, while the peak is above liveBound, changes of the best of them.
func pack(boxes []*box) int64 {
	near, few := neighbours(boxes, maxPairs)
	if !few {
		return packInTurn(boxes)
	}
	p := &packer{boxes: boxes, near: near, bound: liveBound(boxes), work: searchWork * int64(len(boxes))}
	for _, less := range orders {
		for _, tight := range []bool{false, true} {
			order := make([]int, len(boxes))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int { return less(boxes[a], boxes[b]) })
			p.try(order, tight)
			if p.peak == p.bound {
				return p.finish()
			}
		}
	}
	p.search()
	return p.finish()
}

// orders in which boxes are placed. The first one to reach the least peak is taken.
var orders = []func(a, b *box) int{
	func(a, b *box) int { return cmp.Compare(b.size, a.size) },
	func(a, b *box) int { return cmp.Or(cmp.Compare(b.length(), a.length()), cmp.Compare(b.size, a.size)) },
	func(a, b *box) int {
		return cmp.Compare(float64(b.size)*float64(b.length()), float64(a.size)*float64(a.length()))
	},
	func(a, b *box) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.length(), a.length())) },
	func(a, b *box) int { return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(b.length(), a.length())) },
}

func (s *box) length() int { return s.last - s.first + 1 }

// packer holds the best packing so far.
type packer struct {
	boxes       []*box
	near        [][]int // the others that live at some step of a box's life
	bound, work int64
	order       []int
	offsets     []int64 // nil before the first try
	peak        int64
}

// try places the boxes in an order, and keeps the result unless it is worse.
func (p *packer) try(order []int, tight bool) {
	offsets, peak := p.place(order, tight)
	if p.offsets == nil || peak <= p.peak {
		p.order, p.offsets, p.peak = order, offsets, peak
	}
}

// place gives each box the lowest gap, or the smallest, that holds it.
func (p *packer) place(order []int, tight bool) (offsets []int64, peak int64) {
	offsets = make([]int64, len(p.boxes))
	for i := range offsets {
		offsets[i] = -1
	}
	var busy []int
	for _, i := range order {
		busy = busy[:0]
		p.work -= int64(len(p.near[i])) + 1
		for _, k := range p.near[i] {
			if offsets[k] >= 0 {
				busy = append(busy, k)
			}
		}
		slices.SortFunc(busy, func(a, b int) int { return cmp.Or(cmp.Compare(offsets[a], offsets[b]), cmp.Compare(a, b)) })
		offsets[i] = p.gap(busy, offsets, p.boxes[i].size, tight)
		peak = max(peak, offsets[i]+p.boxes[i].size)
	}
	return offsets, peak
}

// gap finds a place between boxes that lie in the order of their offsets, or after them.
func (p *packer) gap(busy []int, offsets []int64, size int64, tight bool) int64 {
	at, best, least := int64(0), int64(-1), int64(-1)
	for _, k := range busy {
		room := offsets[k] - at
		if room >= size && (best < 0 || room < least) {
			if best, least = at, room; !tight {
				return best
			}
		}
		at = max(at, offsets[k]+p.boxes[k].size)
	}
	if best < 0 {
		return at
	}
	return best
}

// search moves a box that ends at the peak to an earlier place in the order, by numbers that are the same
// in every run, until the bound is reached or the work is done.
func (p *packer) search() {
	r := rand.New(rand.NewPCG(uint64(len(p.boxes)), 1))
	for p.peak > p.bound && p.work > 0 {
		order := slices.Clone(p.order)
		var high []int // places in the order
		for at, i := range order {
			if p.offsets[i]+p.boxes[i].size == p.peak && at > 0 {
				high = append(high, at)
			}
		}
		at := r.IntN(len(order))
		if len(high) > 0 && r.IntN(4) > 0 {
			at = high[r.IntN(len(high))]
		}
		to := r.IntN(at + 1)
		i := order[at]
		p.work -= int64(len(order))
		order = slices.Insert(slices.Delete(order, at, at+1), to, i)
		p.try(order, r.IntN(2) == 0)
	}
}

// finish writes the offsets.
func (p *packer) finish() int64 {
	for i, s := range p.boxes {
		s.offset = p.offsets[i]
	}
	return p.peak
}

// byFirst are the numbers of boxes in the order in which they begin to live.
func byFirst(boxes []*box) []int {
	order := make([]int, len(boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(boxes[a].first, boxes[b].first) })
	return order
}

// neighbours are, of each box, the others that live at some step of its life; false where there are more than some pairs.
func neighbours(boxes []*box, most int) ([][]int, bool) {
	near := make([][]int, len(boxes))
	pairs := 0
	var alive []int
	for _, i := range byFirst(boxes) {
		alive = slices.DeleteFunc(alive, func(k int) bool { return boxes[k].last < boxes[i].first })
		if pairs += len(alive); pairs > most {
			return nil, false
		}
		for _, k := range alive {
			near[i], near[k] = append(near[i], k), append(near[k], i)
		}
		alive = append(alive, i)
	}
	return near, true
}

// liveBound is the most that is live in one step.
func liveBound(boxes []*box) int64 {
	best, live := int64(0), int64(0)
	sweep(boxes, func(i int) { live += boxes[i].size; best = max(best, live) }, func(i int) { live -= boxes[i].size })
	return best
}

// sweep calls begin and end for each box, in the order of time: ends of earlier steps come before what begins.
func sweep(boxes []*box, begin, end func(i int)) {
	ends := make([]int, len(boxes))
	for i := range ends {
		ends[i] = i
	}
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(boxes[a].last, boxes[b].last) })
	done := 0
	for _, i := range byFirst(boxes) {
		for ; done < len(ends) && boxes[ends[done]].last < boxes[i].first; done++ {
			end(ends[done])
		}
		begin(i)
	}
}
