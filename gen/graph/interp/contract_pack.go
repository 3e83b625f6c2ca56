package interp

import (
	"slices"

	"rules_dnn/gen/ir/scalar"
)

// pack evaluates the side for its points [from, from+n) and the points [first, first+depth) of the
// reduction, into panels of s.wide points: point i, reduction r at
// (i/wide)*wide*depth + r*wide + i%wide.
func (s *side) pack(dst *scalar.Vec, from, n, first, depth int64) error {
	switch {
	case s.grid != nil:
		s.grid.pack(s, dst, from, n, first, depth)
		return nil
	case s.along:
		return s.packAlong(dst, from, n, first, depth)
	}
	p := s.p
	defer s.rewind()
	p.seek(s.red, first)
	for r := range depth {
		p.seek(s.axes, from)
		for i := int64(0); i < n; {
			run := int64(1)
			if s.vec >= 0 {
				run = min(n-i, p.extent[s.vec]-p.v[s.vec], chunk)
			}
			p.n = int(run)
			s.scatter(dst, s.value.eval(p), i, r, depth)
			if p.err != nil {
				return p.err
			}
			i += run
			s.advance(run)
		}
		p.next(s.red)
	}
	return nil
}

// seek sets loops to their point number i, in row-major order.
func (p *program) seek(axes []int, i int64) {
	for _, a := range slices.Backward(axes) {
		p.v[a], i = i%p.extent[a], i/p.extent[a]
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
	for _, a := range s.red {
		s.p.v[a] = 0
	}
}

// packAlong packs with the vector along the reduction, which is its innermost loop: point by point.
func (s *side) packAlong(dst *scalar.Vec, from, n, first, depth int64) error {
	p := s.p
	defer s.rewind()
	for i := range n {
		p.seek(s.axes, from+i)
		for r := int64(0); r < depth; {
			p.seek(s.red, first+r)
			run := min(depth-r, p.extent[s.vec]-p.v[s.vec], chunk)
			p.n = int(run)
			s.interleave(dst, s.value.eval(p), i, r, depth)
			if p.err != nil {
				return p.err
			}
			r += run
		}
	}
	return nil
}

// scatter puts consecutive points i, i+1... of one r into the panels.
func (s *side) scatter(dst, v *scalar.Vec, i, r, depth int64) {
	switch {
	case v.F32 != nil:
		scatterAs(dst.F32, v.F32, i, r, depth, s.wide)
	case v.F64 != nil:
		scatterAs(dst.F64, v.F64, i, r, depth, s.wide)
	default:
		scatterAs(dst.I64, v.I64, i, r, depth, s.wide)
	}
}

func scatterAs[T any](dst, v []T, i, r, depth, wide int64) {
	at, lane := i/wide*wide*depth+r*wide, i%wide
	for len(v) > 0 {
		n := copy(dst[at+lane:at+wide], v)
		v, lane, at = v[n:], 0, at+wide*depth
	}
}

// interleave puts consecutive r, r+1... of one point into its panel.
func (s *side) interleave(dst, v *scalar.Vec, i, r, depth int64) {
	switch {
	case v.F32 != nil:
		interleaveAs(dst.F32, v.F32, i, r, depth, s.wide)
	case v.F64 != nil:
		interleaveAs(dst.F64, v.F64, i, r, depth, s.wide)
	default:
		interleaveAs(dst.I64, v.I64, i, r, depth, s.wide)
	}
}

func interleaveAs[T any](dst, v []T, i, r, depth, wide int64) {
	at := i/wide*wide*depth + r*wide + i%wide
	for _, x := range v {
		dst[at] = x
		at += wide
	}
}
