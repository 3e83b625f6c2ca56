package sel

import (
	"errors"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/selection/search"
)

// searchedAtOnce is how many kernels of a block a search finds at most that are to be measured next.
const searchedAtOnce = 16

// searched are the kernels of a block that are worth measuring next, of which some were measured: the estimates' choice, with which all others are
// compared, then what a search finds.
func (s *selector) searched(b *block.Block, lay lower.Layouts, estimated Kernel, known []tuning.Kernel, proposed []Kernel) ([]Kernel, error) {
	points, err := s.pointsToMeasure(b, lay, estimated, known, proposed)
	if err != nil {
		return nil, err
	}
	out := []Kernel{estimated}
	for _, p := range points {
		k, err := s.proposedFrom(b, lay, p)
		if errors.As(err, new(*params.Error)) {
			continue // of an equal block of other weights
		}
		if err != nil {
			return nil, err
		}
		if k.Lowered != nil && k.Name != estimated.Name {
			out = append(out, k)
		}
	}
	return out, nil
}

// pointsToMeasure are those that a search finds, once for blocks that are equal.
func (s *selector) pointsToMeasure(b *block.Block, lay lower.Layouts, estimated Kernel, known []tuning.Kernel, proposed []Kernel) ([]*params.Point, error) {
	key, _ := s.sideOf(b, lay).blockKey(b, lay)
	if points, ok := s.next[key]; ok {
		return points, nil
	}
	var failed error
	p := &search.Problem{Seed: key, Known: map[string]float64{}}
	for _, k := range proposed {
		from(p, k)
	}
	for _, t := range known {
		p.Known[t.Name] = t.Micros
		if x, err := params.Parse(t.Params); t.Params != "" && err == nil {
			p.Start = append(p.Start, x)
		}
	}
	p.Kernel = func(x *params.Point) (string, float64, bool) {
		s.space = p.Spaces[slices.IndexFunc(p.Spaces, func(of *params.Space) bool { return of.Algorithm == x.Algorithm })]
		defer func() { s.space = nil }()
		k, ok, err := s.worth(b, lay, x, estimated)
		if failed = errors.Join(failed, err); !ok {
			return "", 0, false
		}
		return k.Name, s.score(k), true
	}
	points := slices.DeleteFunc(p.Next(searchedAtOnce), func(x *params.Point) bool {
		k, err := s.proposedFrom(b, lay, x)
		failed = errors.Join(failed, err)
		return k.Lowered == nil || k.Check != nil && k.Check() != nil
	})
	s.next[key] = points
	return points, failed
}

// from lets a search begin with what a kernel was proposed from.
func from(p *search.Problem, k Kernel) {
	if k.Point == nil {
		return
	}
	point, space := k.Point()
	if !slices.ContainsFunc(p.Spaces, func(x *params.Space) bool { return x.Algorithm == space.Algorithm }) {
		p.Spaces = append(p.Spaces, space)
	}
	if point != nil {
		p.Start = append(p.Start, point)
	}
}

// worth is the kernel of a point, and whether it is worth measuring: there is one, and it is not estimated to take many times as long as the
// estimates' choice.
func (s *selector) worth(b *block.Block, lay lower.Layouts, p *params.Point, estimated Kernel) (Kernel, bool, error) {
	k, err := s.proposedFrom(b, lay, p)
	if errors.As(err, new(*params.Error)) {
		return Kernel{}, false, nil
	}
	if err != nil || k.Lowered == nil || k.Cycles > leftOut*estimated.Cycles {
		return Kernel{}, false, err
	}
	return k, true, nil
}
