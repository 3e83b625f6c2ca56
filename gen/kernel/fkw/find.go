package fkw

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"rules_dnn/gen/ir"
)

// Bounds of what Find takes: more patterns are much code, and of more weights dense kernels are faster.
const (
	mostFound   = 16
	mostDensity = 0.6
)

// errDense ends a search: too much is kept.
var errDense = errors.New("too few weights are 0")

// Find is an encoding of weights of which enough are zero, as its filters, or so many that share what they keep, are pruned; the
// patterns are the taps that occur or, where these are too many, one of all taps. Nil where too few weights are left out.
func Find(t *ir.Tensor, share, block int64) (*Encoding, error) {
	r, err := rowsOf(t, share)
	if err != nil || r.filters == 0 {
		return nil, nil
	}
	e := &Encoding{Share: share, Block: block}
	seen, entries := map[Pattern]int64{}, 0
	dense := float64(int64(r.stored()) * r.inputs * r.taps)
	err = r.each(r.all(), func(_ int, data []byte) error {
		for _, p := range r.supports(data) {
			if p != 0 {
				seen[p]++
				e.Kernels++
				entries = max(entries, bits.OnesCount64(uint64(p)))
			}
		}
		if float64(e.Kernels*int64(entries)) > mostDensity*dense {
			return errDense
		}
		return nil
	})
	switch {
	case errors.Is(err, errDense):
		return nil, nil
	case err != nil:
		return nil, err
	case len(seen) == 0:
		return nil, nil
	}
	if e.Patterns = covering(seen, entries, int(r.taps)); len(e.Patterns) <= mostFound {
		return e, nil
	}
	if float64(e.Kernels*r.taps) > mostDensity*dense {
		return nil, nil
	}
	e.Patterns = []Pattern{Whole(int(r.taps))}
	return e, nil
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
