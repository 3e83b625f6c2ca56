package sel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/tuning"
)

// noise is how many times as long as another kernel the estimates' choice takes at most where nothing is gained for sure.
const noise = 1.03

// measured is the fastest kernel that the record has of a block, or the one that estimates prefer where it has none, or
// none that is faster beyond noise. Its
// cycles are as many fewer than those of the estimates' choice as it is faster: so that the layouts for which
// it was measured stay the best, whose blocks get cheaper and no others.
func (s *selector) measured(b *block.Block, lay lower.Layouts, estimated Kernel) (Kernel, error) {
	key := tuning.Key(b, lay, s.g.Facts, s.host().t)
	times, known := s.o.Times[key]
	if !known {
		return estimated, nil
	}
	s.found[key] = true
	preferred := slices.IndexFunc(times, func(t tuning.Kernel) bool { return t.Name == estimated.Name })
	for _, t := range times {
		if preferred >= 0 && times[preferred].Micros < noise*t.Micros {
			t = times[preferred]
		}
		k := estimated
		if t.Name != k.Name {
			named, err := s.kernels(b, lay, 0, t.Name)
			if err != nil {
				return Kernel{}, err
			}
			if len(named) == 0 {
				s.stale[fmt.Sprintf("%s: no kernel is %q", tuning.What(b, lay), t.Name)] = true
				continue
			}
			k = named[0]
			if preferred >= 0 {
				k.Cycles = estimated.Cycles * t.Micros / times[preferred].Micros
			}
		}
		k.Tuning = &tuning.Choice{Key: key, What: tuning.What(b, lay), Kernel: k.Name, Micros: t.Micros}
		return k, nil
	}
	return estimated, nil
}

// staleNotes are sorted.
func (s *selector) staleNotes() []string {
	if missing := len(s.o.Times) - len(s.found); missing > 0 {
		s.stale[fmt.Sprintf("%d of %d blocks are none of the model's", missing, len(s.o.Times))] = true
	}
	return slices.Sorted(maps.Keys(s.stale))
}

const (
	// tilesTried is how many tiles of each width are candidates.
	tilesTried = 3
	// pruned is how many times the best estimate a candidate may be estimated to take; slower ones are not measured.
	pruned = 4
)

// candidate is the k-th of a block's kernels that are worth measuring.
func (s *selector) candidate(b *block.Block, lay lower.Layouts, estimated Kernel) (Kernel, error) {
	all, err := s.candidatesOf(b, lay, estimated)
	if err != nil {
		return Kernel{}, err
	}
	k := all[0]
	if s.o.Candidate <= len(all) {
		k = all[s.o.Candidate-1]
	}
	k.Tuning = &tuning.Choice{Key: tuning.Key(b, lay, s.g.Facts, s.host().t), What: tuning.What(b, lay), Kernel: k.Name}
	for _, x := range all {
		k.Tuning.Kernels = append(k.Tuning.Kernels, x.Name)
	}
	return k, nil
}

// candidatesOf are the kernels that are worth measuring: the estimates' choice, the best of each family, and then the
// others, by their estimates.
func (s *selector) candidatesOf(b *block.Block, lay lower.Layouts, estimated Kernel) ([]Kernel, error) {
	all, err := s.kernels(b, lay, tilesTried, "")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b Kernel) int { return cmp.Compare(a.Cycles, b.Cycles) })
	names, families := map[string]bool{estimated.Name: true}, map[string]bool{estimated.Family: true}
	firsts, others := []Kernel{estimated}, []Kernel{}
	for _, k := range all {
		switch {
		case names[k.Name] || k.Cycles > pruned*estimated.Cycles:
			continue
		case families[k.Family]:
			others = append(others, k)
		default:
			firsts = append(firsts, k)
		}
		names[k.Name], families[k.Family] = true, true
	}
	return append(firsts, others...), nil
}
