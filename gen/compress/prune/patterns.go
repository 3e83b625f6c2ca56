package prune

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/kernel/fkw"
)

// Centre is the tap in the middle of a kernel; -1 where a dimension is even, so that none is.
func Centre(kernel []int64) int {
	at, taps := int64(0), int64(1)
	for _, d := range kernel {
		if d%2 == 0 {
			return -1
		}
		at, taps = at*d+d/2, taps*d
	}
	return int(at)
}

// Counts are how many kernels have each natural pattern: the centre, where there is one, and the taps with the largest weights.
type Counts map[fkw.Pattern]int64

// Count adds the natural patterns of a layer's kernels; those that share filters have one together.
func (c Counts) Count(l *Layer, weights []float32, entries, share int) error {
	if err := l.check(weights); err != nil {
		return l.errorf("%w", err)
	}
	if taps := l.Taps(); entries < 1 || entries > taps {
		return l.errorf("patterns of %d entries for kernels of %d taps", entries, taps)
	}
	if !slices.Contains(Shares, share) {
		return l.errorf("share = %d; want one of %v", share, Shares)
	}
	p := newProjection(l.mask(Settings{Share: share}), l, weights)
	centre, squares := Centre(l.Shape[2:]), make([]float64, l.Taps())
	for i := range p.units {
		p.units[i].squares(p.mask, weights, squares)
		if slices.Max(squares) > 0 { // what is pruned already has no pattern of its own
			c[natural(squares, centre, entries)] += int64(p.units[i].filters)
		}
	}
	return nil
}

// natural is the pattern of the taps with the largest squares, the first of equals, and of the centre.
func natural(squares []float64, centre, entries int) fkw.Pattern {
	var p fkw.Pattern
	if centre >= 0 {
		p = 1 << centre
	}
	for bits.OnesCount64(uint64(p)) < entries {
		best := -1
		for t, x := range squares {
			if p>>t&1 == 0 && (best < 0 || x > squares[best]) {
				best = t
			}
		}
		p |= 1 << best
	}
	return p
}

// Top are the k most frequent patterns, the most frequent first, of equals that of the earlier taps. There may be fewer.
func (c Counts) Top(k int) []fkw.Pattern {
	all := slices.SortedFunc(maps.Keys(c), func(a, b fkw.Pattern) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b))
	})
	return all[:min(k, len(all))]
}

// checkPatterns refuses numbers of patterns and entries that no layer can have.
func checkPatterns(patterns int) error {
	if patterns < 1 || patterns > masks.MaxPatterns {
		return fmt.Errorf("patterns = %d; want 1 to %d", patterns, masks.MaxPatterns)
	}
	return nil
}
