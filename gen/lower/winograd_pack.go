package lower

import (
	"encoding/binary"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
)

// packFilters transforms the weights and orders them as the products read them: group of result
// channels, point, the deep axes, input channels, the group's channels. What lies beyond the channels is zero.
func (w *filtering) packFilters() (*ir.Value, error) {
	raw, err := w.wv.Const.Bytes()
	if err != nil {
		return nil, err
	}
	deep, channels := w.deepAxes()
	ks := append(append([]kAxis{}, deep...), kAxis{w.inReduce, channels, 1},
		kAxis{w.along[0].reduce, filterTaps, 1}, kAxis{w.along[1].reduce, filterTaps, 1})
	perChannel, strides, base := w.weightStrides(ks)
	n := len(ks)
	offsets := deepOffsets(deep, strides)
	filter, points := w.f.Filter(), w.points
	out := ir.NewTensor(ir.F32, w.groups*points, w.k, w.perGroup)
	taps, point := make([]float32, filterTaps*filterTaps), make([]float32, points)
	for oc := range w.channels {
		group, lane := oc/w.perGroup, oc%w.perGroup
		for d, offset := range offsets {
			for ic := range channels {
				from := base + oc*perChannel + offset + ic*strides[n-3]
				for i := range taps {
					at := from + int64(i/filterTaps)*strides[n-2] + int64(i%filterTaps)*strides[n-1]
					taps[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[at*4:]))
				}
				filter.Apply(point, taps)
				k := int64(d)*w.blocks*w.block + ic
				for p, v := range point {
					at := ((group*points+int64(p))*w.k+k)*w.perGroup + lane
					binary.LittleEndian.PutUint32(out.Data[at*4:], math.Float32bits(v))
				}
			}
		}
	}
	return ir.ConstValue(fmt.Sprintf("%s.winograd%d", w.wv.Name, w.f.Results), out), nil
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
