package interp

import (
	"slices"

	"rules_dnn/gen/scalar"
)

// pack evaluates the side for its points [from, from+n) and all points of the
// reduction, into panels of `panel` points: point i, reduction r at
// (i/panel)*panel*depth + r*panel + i%panel.
func (s *side) pack(dst *scalar.Vec, from, n, depth int64) error {
	if s.along {
		return s.packAlong(dst, from, n, depth)
	}
	p := s.p
	r := int64(0)
	return p.odometer(s.red, func() error {
		s.seek(from)
		for i := int64(0); i < n; {
			run := int64(1)
			if s.vec >= 0 {
				run = min(n-i, p.extent[s.vec]-p.v[s.vec], chunk)
			}
			p.n = int(run)
			scatter(dst, s.value.eval(p), i, r, depth)
			if p.err != nil {
				return p.err
			}
			i += run
			s.advance(run)
		}
		r++
		s.rewind()
		return nil
	})
}

// seek sets the side's loops to its point number i.
func (s *side) seek(i int64) {
	for _, a := range slices.Backward(s.axes) {
		s.p.v[a], i = i%s.p.extent[a], i/s.p.extent[a]
	}
}

func (s *side) advance(run int64) {
	if s.vec < 0 {
		return
	}
	s.p.v[s.vec] += run - 1
	s.p.next(s.axes)
}

func (s *side) rewind() {
	for _, a := range s.axes {
		s.p.v[a] = 0
	}
}

// packAlong packs with the vector along the reduction: point by point.
func (s *side) packAlong(dst *scalar.Vec, from, n, depth int64) error {
	p := s.p
	outer := without(s.red, s.vec)
	for i := range n {
		r := int64(0)
		err := p.odometer(outer, func() error {
			s.seek(from + i)
			return p.chunks(s.vec, func() error {
				interleave(dst, s.value.eval(p), i, r, depth)
				r += int64(p.n)
				return p.err
			})
		})
		if err != nil {
			return err
		}
	}
	s.rewind()
	return nil
}

// scatter puts consecutive points i, i+1... of one r into the panels.
func scatter(dst, v *scalar.Vec, i, r, depth int64) {
	switch {
	case v.F32 != nil:
		scatterAs(dst.F32, v.F32, i, r, depth)
	case v.F64 != nil:
		scatterAs(dst.F64, v.F64, i, r, depth)
	default:
		scatterAs(dst.I64, v.I64, i, r, depth)
	}
}

func scatterAs[T any](dst, v []T, i, r, depth int64) {
	at := i/panel*panel*depth + r*panel
	lane := i % panel
	for _, x := range v {
		dst[at+lane] = x
		if lane++; lane == panel {
			lane, at = 0, at+panel*depth
		}
	}
}

// interleave puts consecutive r, r+1... of one point into its panel.
func interleave(dst, v *scalar.Vec, i, r, depth int64) {
	switch {
	case v.F32 != nil:
		interleaveAs(dst.F32, v.F32, i, r, depth)
	case v.F64 != nil:
		interleaveAs(dst.F64, v.F64, i, r, depth)
	default:
		interleaveAs(dst.I64, v.I64, i, r, depth)
	}
}

func interleaveAs[T any](dst, v []T, i, r, depth int64) {
	at := i/panel*panel*depth + r*panel + i%panel
	for _, x := range v {
		dst[at] = x
		at += panel
	}
}
