package winograd

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// filters are the transformed weights in the order in which the products read them: part of the result
// channels, point, group, the deep axes, input channels, the group's channels. What lies beyond the channels is zero.
// They are computed when they are written, a piece at a time.
type filters struct {
	*filtering
	points     int64   // of the whole transform
	side       int64   // of them along an axis
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
	ks := append(slices.Clone(deep), walk{w.InReduce, channels}, walk{w.along[0].reduce, filterTaps}, walk{w.along[1].reduce, filterTaps})
	whole := w.f.Filters()
	side := int64(whole.Points())
	f := &filters{filtering: w, points: side * side, side: side, lanes: w.packed.Lanes, own: w.packed.Groups / w.packed.Parts, input: channels, from: v.Const}
	step, base := w.WeightSteps()
	var strides []int64
	for _, k := range ks {
		strides = append(strides, step(w.Contraction.Reduce[k.reduce].Var))
	}
	f.output, f.base = step(w.Block.Stage.Axes[w.Contraction.Channel].Var), base
	n := len(ks)
	f.channel, f.deep = strides[n-3], deepOffsets(deep, strides)
	for i := range int64(filterTaps * filterTaps) {
		f.taps = append(f.taps, i/filterTaps*strides[n-2]+i%filterTaps*strides[n-1])
	}
	t := ir.ComputedTogether(w.packed.Type, []int64{w.packed.Groups * f.points, w.k, f.lanes}, f.lanes, f.piece(), f.fill)
	return ir.ConstValue(fmt.Sprintf("%s.winograd%d", v.Name, whole.Results), t)
}

// partSize is the elements of a part: each weight of it is in all of its points.
func (f *filters) partSize() int64 { return f.points * f.own * f.k * f.lanes }

// mostPiece is the most bytes that are computed together where a part can be cut. Each piece reads all weights of its part, which takes less
// than the transform does.
const mostPiece = 8 << 20

// piece is the elements that are best computed together: the rows of a part's points that have few enough bytes, or one. A row is transformed
// without the others.
func (f *filters) piece() int64 {
	rows, row := f.side, f.partSize()/f.side
	for rows > 1 && (f.side%rows != 0 || int64(f.packed.Type.Size())*rows*row > mostPiece) {
		rows--
	}
	return rows * row
}

// walk is over all points of a reduction axis.
type walk struct {
	reduce int
	extent int64
}

func (w *filtering) deepAxes() (deep []walk, channels int64) {
	for _, r := range w.deep {
		n, _ := w.Contraction.Reduce[r].Extent.Const()
		deep = append(deep, walk{r, n})
	}
	channels, _ = w.Contraction.Reduce[w.InReduce].Extent.Const()
	return deep, channels
}

// deepOffsets are where the weights of each point of the deep axes begin, in the axes' order.
func deepOffsets(deep []walk, strides []int64) []int64 {
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
