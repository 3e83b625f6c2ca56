// Package layouttest makes layouts for tests.
package layouttest

import (
	"math/rand/v2"
	"slices"

	"rules_dnn/gen/kernel/layout"
)

// Parts are random ones of values of a rank: axes in any order, some of them in several parts that lie anywhere, some padded.
func Parts(r *rand.Rand, rank int) layout.Parts {
	var out layout.Parts
	for _, axis := range r.Perm(rank) {
		x := layout.Part{Axis: axis}
		if r.IntN(5) == 0 {
			x.Pad = int64(1 + r.IntN(3))
		}
		out = append(out, x)
	}
	if r.IntN(4) == 0 { // as they are mostly
		slices.SortFunc(out, func(a, b layout.Part) int { return a.Axis - b.Axis })
	}
	for range r.IntN(min(rank, 3) + 1) {
		axis := r.IntN(rank)
		first := slices.IndexFunc(out, func(x layout.Part) bool { return x.Axis == axis })
		at := first + 1 + r.IntN(len(out)-first)
		if r.IntN(4) == 0 { // before the outermost part, too
			at = r.IntN(len(out) + 1)
		}
		out = slices.Insert(out, at, layout.Part{Axis: axis, Size: int64(1 + r.IntN(5))})
	}
	return out
}

// Layout is a random one of values of a rank, in a buffer.
func Layout(r *rand.Rand, rank int) layout.Layout {
	l, err := Parts(r, rank).Layout(rank)
	if err != nil {
		panic(err)
	}
	return l
}
