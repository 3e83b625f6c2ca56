package sel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
)

// noise is how many times as long as another kernel the estimates' choice takes at most where nothing is gained for sure.
const noise = 1.03

// measured is the fastest kernel that the record has of a block, or the one that estimates prefer where it has none, or
// none that is faster beyond noise. Its
// cycles are as many fewer than those of the estimates' choice as it is faster: so that the layouts for which
// it was measured stay the best, whose blocks get cheaper and no others.
func (s *selector) measured(b *block.Block, lay lower.Layouts, estimated Kernel) (Kernel, error) {
	d := s.sideOf(b, lay)
	key, what := d.blockKey(b, lay)
	known, is := d.times[key]
	if !is {
		return estimated, nil
	}
	s.found[key] = true
	times, err := s.counting(b, lay, known, estimated)
	if err != nil {
		return Kernel{}, err
	}
	preferred := slices.IndexFunc(times, func(t counting) bool { return t.Name == estimated.Name && !otherParameters(t.Kernel, estimated) })
	for _, t := range times {
		if preferred >= 0 && times[preferred].counted < noise*t.counted {
			t = times[preferred]
		}
		k := estimated
		if t.Name != k.Name || otherParameters(t.Kernel, k) {
			named, why, err := s.recorded(b, lay, t.Kernel)
			if err != nil {
				return Kernel{}, err
			}
			if named.Lowered == nil {
				s.stale[fmt.Sprintf("%s: no kernel is %q%s", what, t.Name, why)] = true
				continue
			}
			named.packable = estimated.packable
			k = named
			if preferred >= 0 {
				k.Cycles = d.scaled(estimated.Cycles, times[preferred].Micros, t.Micros)
			}
		}
		k.Tuning = &tuning.Choice{Key: key, What: what, Kernel: k.Name, Micros: t.Micros}
		return k, nil
	}
	return estimated, nil
}

// recorded is the kernel that a record names: of the parameters that it says, or one that is proposed by itself. The zero Kernel where there is
// none, and why not, as far as more is known than that.
func (s *selector) recorded(b *block.Block, lay lower.Layouts, t tuning.Kernel) (k Kernel, why string, err error) {
	if t.Params != "" {
		k, why, err = s.givenBy(b, lay, t)
		if k.Lowered != nil || err != nil {
			return k, why, err
		}
	}
	named, err := s.kernels(b, lay, 0, t.Name)
	if err != nil || len(named) == 0 {
		return Kernel{}, why, err
	}
	if otherParameters(t, named[0]) {
		return Kernel{}, why, nil
	}
	return named[0], "", nil
}

// otherParameters reports whether a kernel is proposed from other parameters than a record's line says, whose name has no digest that tells them apart.
func otherParameters(t tuning.Kernel, k Kernel) bool {
	if t.Params == "" || k.Point == nil || lower.Unhashed(t.Name) != t.Name {
		return false
	}
	p, _ := k.Point()
	return p == nil || p.String() != t.Params
}

// givenBy is the kernel of a record's parameters, if its schedule is the one that was measured, and is right: a record is no better known than a
// model.
func (s *selector) givenBy(b *block.Block, lay lower.Layouts, t tuning.Kernel) (k Kernel, why string, err error) {
	p, err := params.Parse(t.Params)
	if err != nil {
		return Kernel{}, "", err
	}
	if k, err = s.proposedFrom(b, lay, p); err != nil {
		return Kernel{}, fmt.Sprintf(": %v", err), nil
	}
	if k.Lowered == nil {
		return Kernel{}, "", nil
	}
	if k.Name != t.Name {
		return Kernel{}, fmt.Sprintf(": the kernel with the parameters %q is now called %q", p, k.Name), nil
	}
	if k.Check != nil {
		if err := k.Check(); err != nil {
			return Kernel{}, fmt.Sprintf(": its schedule is not valid for the chip: %v", err), nil
		}
	}
	return k, "", nil
}

// proposedFrom is the kernel that is proposed from parameters, the zero Kernel where there is none; a *params.Error where they are none of the block's.
func (s *selector) proposedFrom(b *block.Block, lay lower.Layouts, p *params.Point) (Kernel, error) {
	s.point = p
	defer func() { s.point = nil }()
	ks, err := s.kernels(b, lay, 0, "")
	if err != nil {
		return Kernel{}, err
	}
	for _, k := range ks {
		if pointOf(k) == p.String() {
			k.given = p
			return k, nil
		}
	}
	return Kernel{}, nil
}

// pointOf is the text of a kernel's parameters, "" of one without.
func pointOf(k Kernel) string {
	if k.Point == nil {
		return ""
	}
	p, _ := k.Point()
	if p == nil {
		return ""
	}
	return p.String()
}

// staleNotes are sorted.
func (s *selector) staleNotes() []string {
	for _, d := range s.sides {
		missing := 0
		for key := range d.times {
			if !s.found[key] {
				missing++
			}
		}
		on := ""
		if d.space == layout.Device {
			on = " on " + d.t.Name
		}
		if missing > 0 {
			s.stale[fmt.Sprintf("%d of %d blocks%s are not in the model", missing, len(d.times), on)] = true
		}
	}
	return slices.Sorted(maps.Keys(s.stale))
}

const (
	// tilesTried is how many tiles of each width are candidates.
	tilesTried = 3
	// leftOut is how many times the best estimate a candidate may be estimated to take; slower ones are not measured.
	leftOut = 4
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
	key, what := s.sideOf(b, lay).blockKey(b, lay)
	k.Tuning = &tuning.Choice{Key: key, What: what, Kernel: k.Name}
	for _, x := range all {
		k.Tuning.Kernels, k.Tuning.Params = append(k.Tuning.Kernels, x.Name), append(k.Tuning.Params, pointOf(x))
	}
	return k, nil
}

// candidatesOf are the kernels that are worth measuring: the estimates' choice, the best of each family, and then the
// others, by their estimates; where some were measured, what a search finds next.
func (s *selector) candidatesOf(b *block.Block, lay lower.Layouts, estimated Kernel) ([]Kernel, error) {
	all, err := s.kernels(b, lay, tilesTried, "")
	if err != nil {
		return nil, err
	}
	d := s.sideOf(b, lay)
	key, _ := d.blockKey(b, lay)
	if known := d.history[key]; known != nil {
		return s.searched(b, lay, estimated, known, append([]Kernel{estimated}, all...))
	}
	slices.SortStableFunc(all, func(a, b Kernel) int { return cmp.Compare(a.Cycles, b.Cycles) })
	names, families := map[string]bool{estimated.Name: true}, map[string]bool{estimated.Family: true}
	firsts, others := []Kernel{estimated}, []Kernel{}
	for _, k := range all {
		switch {
		case names[k.Name] || k.Cycles > leftOut*estimated.Cycles:
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
