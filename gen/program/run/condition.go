package run

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// condition is compiled bounds that all hold, or not, at a lane.
type condition struct {
	bounds []bound
	// uniform: all lanes agree. straight: the lanes where it holds lie side by side.
	uniform, straight bool
}

type bound struct{ e, lo, hi *form }

func (c *compiler) condition(ws []te.Within) *condition {
	k := &condition{uniform: true, straight: true}
	for _, w := range ws {
		b := bound{c.index(w.E), c.index(w.Lo), c.index(w.Hi)}
		k.bounds = append(k.bounds, b)
		same := b.lo.uniform() && b.hi.uniform()
		k.uniform = k.uniform && same && b.e.uniform()
		k.straight = k.straight && same && !b.e.scattered
	}
	return k
}

func (k *condition) holds(lane int) bool {
	for _, b := range k.bounds {
		if e := b.e.at(lane); e < b.lo.at(lane) || e >= b.hi.at(lane) {
			return false
		}
	}
	return true
}

// runs calls f for each run of lanes among [lo, hi) that agree.
func (k *condition) runs(lo, hi int, f func(truth bool, lo, hi int)) {
	switch {
	case k.uniform:
		f(k.holds(lo), lo, hi)
	case k.straight:
		a, b := k.interval(int64(lo), int64(hi))
		some(false, lo, a, f)
		some(true, a, b, f)
		some(false, b, hi, f)
	default:
		for lo < hi {
			truth, end := k.holds(lo), lo+1
			for end < hi && k.holds(end) == truth {
				end++
			}
			f(truth, lo, end)
			lo = end
		}
	}
}

func some(truth bool, lo, hi int, f func(truth bool, lo, hi int)) {
	if lo < hi {
		f(truth, lo, hi)
	}
}

// interval is the lanes among [lo, hi) where a straight condition holds.
func (k *condition) interval(lo, hi int64) (int, int) {
	first := lo
	for _, b := range k.bounds {
		e, step := b.e.line(0)
		from, to := b.lo.base(), b.hi.base()
		switch {
		case step == 0:
			if e < from || e >= to {
				return int(first), int(first)
			}
			continue
		case step < 0: // from <= e + step*x < to, mirrored
			e, step, from, to = -e, -step, 1-to, 1-from
		}
		lo = max(lo, sym.CeilInt(from-e, step))
		hi = min(hi, sym.CeilInt(to-e, step))
	}
	if lo >= hi {
		return int(first), int(first)
	}
	return int(lo), int(hi)
}
