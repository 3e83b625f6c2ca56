package winograd

import (
	"slices"

	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/weights"
)

// fill computes elements from the first on.
func (f *filters) fill(b []byte, first int64) error {
	clear(b)
	raw := weights.NewRaw()
	defer weights.Raws.Put(raw)
	r := &transformer{filters: f, raw: raw, filter: f.f.Filters().Filter(), weights: make([]float32, len(f.taps)),
		rows: make([]float32, f.points), runs: make([]float32, f.points*f.lanes)}
	size := int64(f.packed.Type.Size())
	for len(b) > 0 {
		part, at := first/f.partSize(), first%f.partSize()
		n := min(int64(len(b))/size, f.partSize()-at)
		for g := range f.own {
			if err := r.group(b[:size*n], part*f.own+g, at/f.lanes); err != nil {
				return err
			}
		}
		b, first = b[size*n:], first+n
	}
	return nil
}

// pointsOf are the points at which channel k of a part's group lies in a range of runs of the group's channels.
func (f *filters) pointsOf(group, k, run, runs int64) (first, end int64) {
	step := f.own * f.k
	before := func(run int64) int64 { return max(0, (run-group*f.k-k+step-1)/step) }
	return before(run), min(before(run+runs), f.points)
}

// wanted reports whether a range of runs has any of a part's group.
func (f *filters) wanted(group, run, runs int64) bool {
	for k := range f.k {
		if p0, p1 := f.pointsOf(group, k, run, runs); p0 < p1 {
			return true
		}
	}
	return false
}

// span is the first and the last weight of some result channels.
func (f *filters) span(c0, c1 int64) (low, high int64) {
	low, high = f.base, f.base
	reach := func(offsets ...int64) {
		low, high = low+slices.Min(offsets), high+slices.Max(offsets)
	}
	reach(c0*f.output, (c1-1)*f.output)
	reach(0, (f.input-1)*f.channel)
	reach(f.deep...)
	reach(f.taps...)
	return low, high
}

// transformer is what one call of fill works with.
type transformer struct {
	*filters
	filter  *wino.Filter
	raw     *[]byte
	weights []float32 // of one filter,
	rows    []float32 // and rows of its points
	runs    []float32 // of an input channel, by point and channel of the group
}

// group computes what b has of a group of result channels, from all that lies between its first and its last
// weight. b begins at a run of channels of the group's part.
func (r *transformer) group(b []byte, g, run int64) error {
	own, stored := g%r.own, int64(r.packed.Type.Size())
	runs := int64(len(b)) / stored / r.lanes
	c0, c1 := g*r.lanes, min((g+1)*r.lanes, r.Channels)
	if c0 >= c1 || !r.wanted(own, run, runs) {
		return nil
	}
	low, high := r.span(c0, c1)
	size := int64(r.from.Type.Size())
	*r.raw = slices.Grow((*r.raw)[:0], int(size*(high-low+1)))[:size*(high-low+1)]
	if err := r.from.ReadBytes(*r.raw, size*low); err != nil {
		return err
	}
	for d, offset := range r.deep {
		for ic := range r.input {
			k := int64(d)*r.blocks*r.ChannelBlock + ic
			p0, p1 := r.pointsOf(own, k, run, runs)
			if p0 >= p1 {
				continue
			}
			first := p0 / r.side * r.side
			r.transform(c0, c1, r.base-low+offset+ic*r.channel, first, p1)
			for p := p0; p < p1; p++ {
				r.store(b[stored*r.lanes*((p*r.own+own)*r.k+k-run):], (p-first)*r.lanes, c1-c0)
			}
		}
	}
	return nil
}

// transform computes runs of result channels at points from the first of a row on, of weights that are read from an element on.
func (r *transformer) transform(c0, c1, from, first, end int64) {
	i0, i1 := first/r.side, (end+r.side-1)/r.side
	raw, size := *r.raw, int64(r.from.Type.Size())
	for c := c0; c < c1; c++ {
		for i, tap := range r.taps {
			r.weights[i] = weights.ElementOf(r.from.Type, raw[size*(from+c*r.output+tap):])
		}
		r.filter.Apply(r.rows, r.weights, int(i0), int(i1))
		for i, x := range r.rows[:(i1-i0)*r.side] {
			r.runs[int64(i)*r.lanes+c-c0] = x
		}
	}
}

// store writes so many channels of a run.
func (r *transformer) store(b []byte, run, n int64) {
	for i, x := range r.runs[run : run+n] {
		putFilter(b, r.packed.Type, int64(i), x)
	}
}
