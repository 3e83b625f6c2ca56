// Package search finds points of parameters that are worth measuring, by a genetic algorithm (PatDNN 2.5.5): individuals are points of the spaces
// of a block's algorithms, their fitness is what a performance model says of the kernels that are proposed from them, and what was measured is
// known. The same problem gives the same points: chance is seeded by it.
package search

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/params"
)

// Problem is what is searched.
type Problem struct {
	// Spaces are those of the algorithms that compute the block.
	Spaces []*params.Space
	// Start are points that are proposed without a search.
	Start []*params.Point
	// Known are the times of kernels that were measured, by name.
	Known map[string]float64
	// Seed tells the problem from others.
	Seed string
	// Kernel is the name of the kernel that is proposed from a point, and how long it takes by a model, as a logarithm: kernels of a name are
	// the same. False where there is none.
	Kernel func(*params.Point) (name string, score float64, ok bool)
	// Evaluations is how many points are looked at; 0: as many as usual.
	Evaluations int
}

const (
	// usualEvaluations is how many points of a problem are looked at, population of how many a generation is, and elite how many of it are as they
	// were in the one before.
	usualEvaluations, population, elite = 192, 24, 8
	// tournament is how many individuals parents are the best of.
	tournament = 3
	// exploring: one of so many that are to be measured is none of the model's choice, but one that it likes less, so that it learns of it, too.
	exploring = 4
	// mostTries bounds draws of points of which few go together.
	mostTries = 64
)

// individual is a point that was looked at.
type individual struct {
	point *params.Point
	space *params.Space
	name  string
	score float64
}

// Next are so many points to measure, fewer where the spaces have no more: the best ones by the model first, each of a kernel of its own that was
// not measured.
func (p *Problem) Next(n int) []*params.Point {
	s := &search{Problem: p, r: rand.New(rand.NewSource(p.seed())), seen: map[string]bool{}}
	if s.Evaluations == 0 {
		s.Evaluations = usualEvaluations
	}
	for _, x := range p.Start {
		s.look(x)
	}
	for range mostTries {
		if len(s.all) >= population || s.looked >= s.Evaluations {
			break
		}
		s.look(s.random())
	}
	for s.looked < s.Evaluations {
		if !s.generation() {
			break
		}
	}
	return s.choose(n)
}

// seed is of the problem and what is known of it: another measurement leads on.
func (p *Problem) seed() int64 {
	h := sha256.New()
	fmt.Fprintln(h, p.Seed)
	for _, name := range slices.Sorted(maps.Keys(p.Known)) {
		fmt.Fprintln(h, name)
	}
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)))
}

type search struct {
	*Problem
	r      *rand.Rand
	seen   map[string]bool // points
	all    []individual
	looked int
}

// look notes the kernel of a point that is new; false where there is none.
func (s *search) look(p *params.Point) bool {
	if p == nil || s.seen[p.String()] {
		return false
	}
	s.seen[p.String()] = true
	space := s.spaceOf(p)
	if space == nil || space.Check(p) != nil {
		return false
	}
	s.looked++
	name, score, ok := s.Kernel(p)
	if ok && !math.IsNaN(score) {
		s.all = append(s.all, individual{p, space, name, score})
	}
	return ok
}

func (s *search) spaceOf(p *params.Point) *params.Space {
	i := slices.IndexFunc(s.Spaces, func(x *params.Space) bool { return x.Algorithm == p.Algorithm })
	if i < 0 {
		return nil
	}
	return s.Spaces[i]
}

// random is a point of one of the spaces whose values go together, or nil.
func (s *search) random() *params.Point {
	if len(s.Spaces) == 0 {
		return nil
	}
	x := s.Spaces[s.r.Intn(len(s.Spaces))]
	for range mostTries {
		values := make([]int64, len(x.Params))
		for i, of := range x.Params {
			values[i] = of.Values[s.r.Intn(len(of.Values))]
		}
		if x.Fits == nil || x.Fits(values) {
			return x.Of(values...)
		}
	}
	return nil
}

// generation looks at children of what was looked at; false where no new ones are found.
func (s *search) generation() bool {
	before := s.looked
	parents := s.ranked()
	parents = parents[:min(len(parents), population)]
	for i := 0; i < population-elite && s.looked < s.Evaluations && len(parents) > 0; i++ {
		for range mostTries {
			if s.look(s.child(parents)) {
				break
			}
		}
	}
	return s.looked > before
}

// ranked is all that was looked at, the best first: kernels of a name once, measured ones by what they took.
func (s *search) ranked() []individual {
	offset := s.offset()
	names := map[string]bool{}
	var out []individual
	for _, x := range s.all {
		if names[x.name] {
			continue
		}
		names[x.name] = true
		if us, known := s.Known[x.name]; known {
			x.score = scalar.Log(us) + offset
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b individual) int { return cmp.Compare(a.score, b.score) })
	return out
}

// offset is by how much scores are more than the logarithms of times, on average.
func (s *search) offset() float64 {
	sum, n := 0.0, 0.0
	names := map[string]bool{}
	for _, x := range s.all {
		if us, known := s.Known[x.name]; known && !names[x.name] {
			sum, n = sum+x.score-scalar.Log(us), n+1
		}
		names[x.name] = true
	}
	return sum / max(n, 1)
}

// parent is the best of a few, which are ranked.
func (s *search) parent(ranked []individual) individual {
	best := len(ranked)
	for range tournament {
		best = min(best, s.r.Intn(len(ranked)))
	}
	return ranked[best]
}

// child has each value of one of two parents of an algorithm, and some other ones. Nil where they do not go together.
func (s *search) child(ranked []individual) *params.Point {
	a, b := s.parent(ranked), s.parent(ranked)
	if b.space != a.space {
		b = a
	}
	n := len(a.space.Params)
	values := make([]int64, n)
	for i, x := range a.space.Params {
		values[i] = a.point.Values[i].N
		if s.r.Intn(2) == 0 {
			values[i] = b.point.Values[i].N
		}
		if s.r.Intn(n+1) == 0 {
			values[i] = s.mutated(x, values[i])
		}
	}
	if a.space.Fits != nil && !a.space.Fits(values) {
		return nil
	}
	return a.space.Of(values...)
}

// mutated is a neighbour of a value, or any other one now and then.
func (s *search) mutated(x params.Param, n int64) int64 {
	i, _ := slices.BinarySearch(x.Values, n)
	if s.r.Intn(4) == 0 {
		return x.Values[s.r.Intn(len(x.Values))]
	}
	step := 1 + s.r.Intn(2)
	if s.r.Intn(2) == 0 {
		step = -step
	}
	return x.Values[min(max(i+step, 0), len(x.Values)-1)]
}

// choose gives the best of what was not measured, and now and then one of the next ones.
func (s *search) choose(n int) []*params.Point {
	all := slices.DeleteFunc(s.ranked(), func(x individual) bool { _, known := s.Known[x.name]; return known })
	var out []*params.Point
	for len(out) < n && len(all) > 0 {
		i := 0
		if len(out)%exploring == exploring-1 {
			i = s.r.Intn((len(all) + 1) / 2)
		}
		out, all = append(out, all[i].point), slices.Delete(all, i, i+1)
	}
	return out
}
