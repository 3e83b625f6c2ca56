package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
)

// filters are the transformed weights in the order in which the products read them: part of the result
// channels, point, group, the deep axes, input channels, the group's channels. What lies beyond the channels is zero.
// They are computed when they are written, a part at a time.
type filters struct {
	*filtering
	points     int64   // of the whole transform
	lanes, own int64   // channels of a group, and groups of a part
	input      int64   // channels
	base       int64   // element of W's first one, and what one more adds:
	output     int64   // result channel
	channel    int64   // input channel
	deep       []int64 // each point of the deep axes
	taps       []int64 // each point of the window
	from       *ir.Tensor
}

// packFilters is the constant that products read, of weights.
func (w *filtering) packFilters(v *ir.Value) *ir.Value {
	deep, channels := w.deepAxes()
	ks := append(append([]kAxis{}, deep...), kAxis{w.inReduce, channels, 1, false},
		kAxis{w.along[0].reduce, filterTaps, 1, false}, kAxis{w.along[1].reduce, filterTaps, 1, false})
	whole := w.f.Filters()
	f := &filters{filtering: w, points: int64(whole.Points() * whole.Points()), lanes: w.packed.Lanes, own: w.packed.Groups / w.packed.Parts, input: channels, from: v.Const}
	step, base := w.weightSteps()
	var strides []int64
	for _, k := range ks {
		strides = append(strides, step(w.contraction.reduce[k.reduce].Var))
	}
	f.output, f.base = step(w.b.Stage.Axes[w.contraction.channel].Var), base
	n := len(ks)
	f.channel, f.deep = strides[n-3], deepOffsets(deep, strides)
	for i := range int64(filterTaps * filterTaps) {
		f.taps = append(f.taps, i/filterTaps*strides[n-2]+i%filterTaps*strides[n-1])
	}
	t := ir.ComputedTogether(ir.F32, []int64{w.packed.Groups * f.points, w.k, f.lanes}, f.lanes, f.partSize(), f.fill)
	return ir.ConstValue(fmt.Sprintf("%s.winograd%d", v.Name, whole.Results), t)
}

// partSize is the elements of a part: each weight of it is in all of its points.
func (f *filters) partSize() int64 { return f.points * f.own * f.k * f.lanes }

// fill computes elements from the first on.
func (f *filters) fill(b []byte, first int64) error {
	clear(b)
	var raw []byte
	for len(b) > 0 {
		part, at := first/f.partSize(), first%f.partSize()
		n := min(int64(len(b))/4, f.partSize()-at)
		for g := range f.own {
			if err := f.group(b[:4*n], part*f.own+g, at/f.lanes, &raw); err != nil {
				return err
			}
		}
		b, first = b[4*n:], first+n
	}
	return nil
}

// pointsOf are the points at which channel k of a part's group lies in a range of runs of the group's channels.
func (f *filters) pointsOf(group, k, run, runs int64) (first, end int64) {
	step := f.own * f.k
	before := func(run int64) int64 { return max(0, (run-group*f.k-k+step-1)/step) }
	return before(run), min(before(run+runs), f.points)
}

// group computes what b has of a group of result channels, from all that lies between its first and its last
// weight, which it reads into buffer. b begins at a run of channels of the group's part.
func (f *filters) group(b []byte, g, run int64, buffer *[]byte) error {
	own, runs := g%f.own, int64(len(b))/4/f.lanes
	wanted := func(k int64) bool {
		p0, p1 := f.pointsOf(own, k, run, runs)
		return p0 < p1
	}
	some := false
	for k := int64(0); k < f.k && !some; k++ {
		some = wanted(k)
	}
	c0, c1 := g*f.lanes, min((g+1)*f.lanes, f.channels)
	if !some || c0 >= c1 {
		return nil
	}
	low, high := f.base, f.base
	reach := func(offsets ...int64) {
		low, high = low+slices.Min(offsets), high+slices.Max(offsets)
	}
	reach(c0*f.output, (c1-1)*f.output)
	reach(0, (f.input-1)*f.channel)
	reach(f.deep...)
	reach(f.taps...)
	size := int64(f.from.Type.Size())
	*buffer = slices.Grow((*buffer)[:0], int(size*(high-low+1)))
	raw := (*buffer)[:size*(high-low+1)]
	if err := f.from.ReadBytes(raw, size*low); err != nil {
		return err
	}
	filter := f.f.Filters().Filter()
	taps, point := make([]float32, len(f.taps)), make([]float32, f.points)
	for c := c0; c < c1; c++ {
		for d, offset := range f.deep {
			for ic := range f.input {
				k := int64(d)*f.blocks*f.block + ic
				p0, p1 := f.pointsOf(own, k, run, runs)
				if p0 >= p1 {
					continue
				}
				from := f.base + c*f.output + offset + ic*f.channel - low
				for i, tap := range f.taps {
					taps[i] = elementOf(f.from.Type, raw[size*(from+tap):])
				}
				filter.Apply(point, taps)
				for p := p0; p < p1; p++ {
					at := ((p*f.own+own)*f.k+k-run)*f.lanes + c - c0
					binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(point[p]))
				}
			}
		}
	}
	return nil
}

func (w *filtering) deepAxes() (deep []kAxis, channels int64) {
	for _, r := range w.deep {
		n, _ := w.contraction.reduce[r].Extent.Const()
		deep = append(deep, kAxis{r, n, 1, false})
	}
	channels, _ = w.contraction.reduce[w.inReduce].Extent.Const()
	return deep, channels
}

// deepOffsets are where the weights of each point of the deep axes begin, in the axes' order.
func deepOffsets(deep []kAxis, strides []int64) []int64 {
	offsets := []int64{0}
	for i, a := range deep {
		var next []int64
		for _, o := range offsets {
			for k := range a.extent {
				next = append(next, o+k*strides[i])
			}
		}
		offsets = next
	}
	return offsets
}
