package fkw

import (
	"cmp"
	"math/bits"
	"slices"

	"rules_dnn/gen/ir"
)

// Bounds of what Find takes for pruned: more patterns are much code, and of more weights dense kernels are faster.
const (
	mostFound   = 16
	mostDensity = 0.6
)

// Find is an encoding of weights of which enough are zero, as its filters, or so many that share what they keep, are pruned; the
// patterns are the taps that occur. Nil where too few weights are left out, or where patterns are too many.
func Find(t *ir.Tensor, share, block int64) *Encoding {
	w := &Weights{Encoding: Encoding{Share: share, Block: block}, Type: t.Type}
	if w.shape(t) != nil || w.filters == 0 {
		return nil
	}
	seen := map[Pattern]int64{}
	stored := w.Stored(int64(w.filters))
	for f := range int(stored) {
		for c := range w.inputs {
			if p := w.support(t, f, c); p != 0 {
				seen[p]++
				w.Kernels++
			}
		}
	}
	entries := 0
	for p := range seen {
		entries = max(entries, bits.OnesCount64(uint64(p)))
	}
	dense := float64(stored * int64(w.inputs) * w.taps)
	if len(seen) == 0 || float64(w.Kernels*int64(entries)) > mostDensity*dense {
		return nil
	}
	if w.Patterns = covering(seen, entries, int(w.taps)); len(w.Patterns) > mostFound {
		return nil
	}
	return &w.Encoding
}

// covering are patterns of as many taps that have all that were seen, the most frequent first: a kernel is stored by the first that
// has its taps.
func covering(seen map[Pattern]int64, entries, taps int) []Pattern {
	var all []Pattern
	for p := range seen {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Pattern) int {
		return cmp.Or(len(b.Taps())-len(a.Taps()), cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b))
	})
	var out []Pattern
	for _, p := range all {
		if slices.ContainsFunc(out, func(q Pattern) bool { return p&^q == 0 }) {
			continue
		}
		for t := 0; t < taps && len(p.Taps()) < entries; t++ {
			p |= 1 << t
		}
		if out = append(out, p); len(out) > mostFound {
			break
		}
	}
	return out
}
