package prune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/kernel/fkw"
)

// unit is what is kept or dropped together: the kernels of one channel of one or more filters.
type unit struct {
	filter, channel int32
	filters         uint16
	pattern         uint8 // of the mask, from 1
	norm            float64
}

// projection finds the mask that keeps the most of the weights' norm.
type projection struct {
	mask    *masks.Layer
	weights []float32
	units   []unit
}

// newProjection makes the units: filters of different groups share none.
func newProjection(m *masks.Layer, l *Layer, weights []float32) *projection {
	p := &projection{mask: m, weights: weights}
	each := m.Filters() / max(l.Groups, 1)
	for first := 0; first < m.Filters(); first += each {
		for f := first; f < first+each; f += m.Share {
			for c := range m.Channels() {
				p.units = append(p.units, unit{filter: int32(f), filters: uint16(min(m.Share, first+each-f)), channel: int32(c)})
			}
		}
	}
	return p
}

// squares are the squares of a unit's weights, tap by tap, of all its filters.
func (u *unit) squares(m *masks.Layer, weights []float32, to []float64) {
	clear(to)
	for f := range int(u.filters) {
		at := m.At(int(u.filter)+f, int(u.channel))
		for t := range to {
			x := float64(weights[at+t])
			to[t] += float64(x * x) // no fused multiply-add: the same choice on every machine
		}
	}
}

// choosePatterns gives each unit the pattern that keeps most of its norm, the first of equals.
func (p *projection) choosePatterns() {
	squares := make([]float64, p.mask.Taps())
	taps := make([][]int, len(p.mask.Patterns))
	for i, pattern := range p.mask.Patterns {
		taps[i] = pattern.Taps()
	}
	for i := range p.units {
		u := &p.units[i]
		u.squares(p.mask, p.weights, squares)
		u.norm = -1
		for k, list := range taps {
			sum := 0.0
			for _, t := range list {
				sum += squares[t]
			}
			if sum > u.norm {
				u.norm, u.pattern = sum, uint8(k+1)
			}
		}
		p.set(u)
	}
}

// set writes a unit's pattern into the mask.
func (p *projection) set(u *unit) {
	for f := range int(u.filters) {
		p.mask.Kernels[(int(u.filter)+f)*p.mask.Channels()+int(u.channel)] = u.pattern
	}
}

// dropKernels keeps the strongest of the units, the first of equals.
func (p *projection) dropKernels(rate float64) {
	left := kept(len(p.units), rate)
	if left == len(p.units) {
		return
	}
	order := make([]int32, len(p.units)) // a fully connected layer may have a hundred million
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.units[b].norm, p.units[a].norm), cmp.Compare(a, b))
	})
	for _, i := range order[left:] {
		p.units[i].pattern = 0
		p.set(&p.units[i])
	}
}

// Kernels is how many units Project keeps of a layer: kernels, or where filters share them those that they have together.
func Kernels(l *Layer, s Settings) int {
	return kept(len(newProjection(l.mask(s), l, nil).units), s.Connectivity)
}

// kept is how many of n a rate keeps: at least one.
func kept(n int, rate float64) int {
	return min(n, max(1, int(math.Round(float64(n)/rate))))
}

// check refuses settings that the layer cannot have.
func (s Settings) check(l *Layer) error {
	switch {
	case !(s.Connectivity >= 1) || math.IsInf(s.Connectivity, 0):
		return fmt.Errorf("connectivity = %v; want a number N of 1 or more: 1 of N kernels is kept", s.Connectivity)
	case !slices.Contains(Shares, s.Share):
		return fmt.Errorf("share = %d; want one of %v", s.Share, Shares)
	}
	m := &masks.Layer{Shape: l.Shape, FilterAxis: l.FilterAxis}
	table := fkw.Encoding{Patterns: s.Patterns, Share: 1}
	switch {
	case len(s.Patterns) == 0:
		table.Patterns = []fkw.Pattern{fkw.Whole(m.Taps())}
	case len(s.Patterns) > masks.MaxPatterns:
		return fmt.Errorf("%d patterns; want at most %d", len(s.Patterns), masks.MaxPatterns)
	}
	if err := table.Check(); err != nil {
		return err
	}
	return table.Fits(int64(m.Taps()))
}
