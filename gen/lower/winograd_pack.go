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
	input   int64   // channels
	base    int64   // element of W's first one, and what one more adds:
	output  int64   // result channel
	channel int64   // input channel
	deep    []int64 // each point of the deep axes
	taps    []int64 // each point of the window
	from    *ir.Tensor
}

// packFilters is the constant that products read.
func (w *filtering) packFilters() *ir.Value {
	deep, channels := w.deepAxes()
	ks := append(append([]kAxis{}, deep...), kAxis{w.inReduce, channels, 1},
		kAxis{w.along[0].reduce, filterTaps, 1}, kAxis{w.along[1].reduce, filterTaps, 1})
	f := &filters{filtering: w, input: channels, from: w.wv.Const}
	var strides []int64
	f.output, strides, f.base = w.weightStrides(ks)
	n := len(ks)
	f.channel, f.deep = strides[n-3], deepOffsets(deep, strides)
	for i := range int64(filterTaps * filterTaps) {
		f.taps = append(f.taps, i/filterTaps*strides[n-2]+i%filterTaps*strides[n-1])
	}
	part := w.points * w.own() * w.k * w.perGroup
	t := ir.Computed(ir.F32, []int64{w.groups * w.points, w.k, w.perGroup}, part, func(b []byte, first int64) error {
		clear(b)
		for g := first / part * w.own(); len(b) > 0; g++ {
			if err := f.group(b[:4*part], g); err != nil {
				return err
			}
			if (g+1)%w.own() == 0 {
				b = b[4*part:]
			}
		}
		return nil
	})
	return ir.ConstValue(fmt.Sprintf("%s.winograd%d", w.wv.Name, w.f.Results), t)
}

// group computes a group of result channels, of the part whose bytes b are, from all that lies between
// its first and its last weight.
func (f *filters) group(b []byte, g int64) error {
	c0, c1 := g*f.perGroup, min((g+1)*f.perGroup, f.channels)
	low, high := f.base, f.base
	reach := func(offsets ...int64) {
		low, high = low+slices.Min(offsets), high+slices.Max(offsets)
	}
	reach(c0*f.output, (c1-1)*f.output)
	reach(0, (f.input-1)*f.channel)
	reach(f.deep...)
	reach(f.taps...)
	raw := make([]byte, 4*(high-low+1))
	if err := f.from.ReadBytes(raw, 4*low); err != nil {
		return err
	}
	filter := f.f.Filter()
	taps, point := make([]float32, len(f.taps)), make([]float32, f.points)
	for c := c0; c < c1; c++ {
		for d, offset := range f.deep {
			for ic := range f.input {
				from := f.base + c*f.output + offset + ic*f.channel - low
				for i, tap := range f.taps {
					taps[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(from+tap):]))
				}
				filter.Apply(point, taps)
				k := int64(d)*f.blocks*f.block + ic
				for p, v := range point {
					at := ((int64(p)*f.own()+g%f.own())*f.k+k)*f.perGroup + c - c0
					binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(v))
				}
			}
		}
	}
	return nil
}

func (w *filtering) deepAxes() (deep []kAxis, channels int64) {
	for _, r := range w.deep {
		n, _ := w.contraction.reduce[r].Extent.Const()
		deep = append(deep, kAxis{r, n, 1})
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
