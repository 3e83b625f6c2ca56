package fkw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"

	"rules_dnn/gen/ir"
)

// Weights are the arrays of the format. Filter f of the order in which they are stored is filter Reorder[f], or that group of Share
// filters. Its kernels are those from Offset[f] to Offset[f+1]. In Stride it has a run for each block of channels and, within it, each
// pattern: from its first kernel on, those from Stride[f][run] to Stride[f][run+1]. Kernel k is of input channel Index[k] or, where a run has
// kernels of all patterns (Given), of channel Index[k] % channels and pattern Index[k] / channels. Its taps' weights are Values[k*entries*Share:], for each tap those of all filters of the group; zero of filters that are none.
type Weights struct {
	Encoding
	Offset  []int32
	Reorder []uint16
	Index   []uint16
	Stride  []uint16 // of Ends elements for each filter
	// Values are computed where they are written, of the dense weights, which need not be in memory.
	Values *ir.Tensor
	rows
}

// kernel is one that is kept.
type kernel struct{ channel, pattern int32 }

// Encode stores weights of the shape [filters, channels, taps...]; Kernels of the encoding is counted. Each kernel must be zero, or fit in a
// pattern: it is stored by the first one that has all its taps. Of filters that share what they keep, a kernel's taps are those of all.
func Encode(t *ir.Tensor, e Encoding) (*Weights, error) {
	e.Kernels = 0
	if e.Planes > 0 {
		return nil, fmt.Errorf("the weights have %d planes; want 1", e.Planes)
	}
	out := &Weights{Encoding: e}
	if err := out.Check(); err != nil {
		return nil, err
	}
	var err error
	if out.rows, err = rowsOf(t, e.Share); err != nil {
		return nil, err
	}
	if err := out.Fits(out.taps); err != nil {
		return nil, err
	}
	filters := make([][]kernel, out.stored())
	if err := out.each(out.all(), func(f int, data []byte) error {
		filters[f], err = out.kernels(f, out.supports(data))
		return err
	}); err != nil {
		return nil, err
	}
	if out.Given && int64(len(out.Patterns))*out.inputs > maxIndex {
		return nil, fmt.Errorf("%d patterns of %d channels: their kernels cannot be numbered in 16 bits; use fewer patterns", len(out.Patterns), out.inputs)
	}
	all := out.all()
	if !out.Given {
		all = order(filters, shared)
	}
	for _, f := range all {
		out.add(f, filters[f])
	}
	out.Offset = append(out.Offset, int32(out.Kernels))
	out.Values = ir.ComputedTogether(t.Type, []int64{out.Kernels * out.kernelSize()}, out.kernelSize(), out.Kernels*out.kernelSize(), out.fill)
	return out, nil
}

// kernelSize is how many elements of Values a kernel has.
func (w *Weights) kernelSize() int64 { return int64(w.Entries()) * w.Share }

// kernels are those of stored filter f that are kept, by block of channels, pattern, then channel (kernel reorder, 2.5.2).
func (w *Weights) kernels(f int, supports []Pattern) ([]kernel, error) {
	var out []kernel
	for c, used := range supports {
		if used == 0 {
			continue
		}
		p := slices.IndexFunc(w.Patterns, func(p Pattern) bool { return used&^p == 0 })
		if p < 0 {
			return nil, fmt.Errorf("the kernel of filter %d and channel %d keeps the taps %v; no pattern has these taps", f*int(w.Share), c, used.Taps())
		}
		out = append(out, kernel{int32(c), int32(p)})
	}
	slices.SortStableFunc(out, func(a, b kernel) int { return w.run(a) - w.run(b) })
	return out, nil
}

// run is the number of the block and pattern of a kernel.
func (w *Weights) run(k kernel) int {
	run := 0
	if w.Block > 0 {
		run = int(k.channel) / int(w.Block) * int(w.Runs())
	}
	if w.Given {
		return run
	}
	return run + int(k.pattern)
}

// index is what Index has of a kernel, and channel and pattern what it tells of kernel k of a run.
func (w *Weights) index(k kernel) uint16 {
	if w.Given {
		return uint16(int64(k.pattern)*w.inputs + int64(k.channel))
	}
	return uint16(k.channel)
}

func (w *Weights) channel(k int64) int64 { return int64(w.Index[k]) % w.inputs }

func (w *Weights) pattern(k int64, run int) Pattern {
	if w.Given {
		return w.Patterns[int64(w.Index[k])/w.inputs]
	}
	return w.Patterns[run%len(w.Patterns)]
}

// add stores a filter.
func (w *Weights) add(f int, kernels []kernel) {
	w.Offset = append(w.Offset, int32(w.Kernels))
	w.Reorder = append(w.Reorder, uint16(f))
	at := 0
	for run := range w.runs() {
		w.Stride = append(w.Stride, uint16(at))
		for ; at < len(kernels) && w.run(kernels[at]) == run; at++ {
			w.Index = append(w.Index, w.index(kernels[at]))
		}
	}
	w.Stride = append(w.Stride, uint16(at))
	w.Kernels += int64(len(kernels))
}

// runs is how many a filter has.
func (w *Weights) runs() int { return int(w.Ends(int64(w.inputs))) - 1 }

// eachKernel calls f for the kernels of stored filter number at, with their patterns.
func (w *Weights) eachKernel(at int, f func(k int64, p Pattern)) {
	first, ends := int64(w.Offset[at]), w.Stride[at*(w.runs()+1):]
	for run := range w.runs() {
		for k := first + int64(ends[run]); k < first+int64(ends[run+1]); k++ {
			f(k, w.pattern(k, run))
		}
	}
}

// fill computes values from element first on, of whole kernels. Filters are read in the order of the dense weights.
func (w *Weights) fill(b []byte, first int64) error {
	size := w.kernelSize() * w.size
	from := first / w.kernelSize()
	to := from + int64(len(b))/size
	at := sort.Search(len(w.Reorder), func(f int) bool { return int64(w.Offset[f+1]) > from })
	stored := map[int]int{} // where a filter is stored
	for ; at < len(w.Reorder) && int64(w.Offset[at]) < to; at++ {
		stored[int(w.Reorder[at])] = at
	}
	return w.each(slices.Sorted(maps.Keys(stored)), func(f int, data []byte) error {
		w.eachKernel(stored[f], func(k int64, p Pattern) {
			if k >= from && k < to {
				w.keep(b[(k-from)*size:][:size], data, int(w.channel(k)), p)
			}
		})
		return nil
	})
}

// keep stores the weights of a kernel, of the dense ones of its filters.
func (w *Weights) keep(b, data []byte, channel int, p Pattern) {
	filters := int64(len(data)) / w.rowBytes()
	for _, tap := range p.Taps() {
		for x := range w.Share {
			if x < filters {
				copy(b[:w.size], data[x*w.rowBytes()+(int64(channel)*w.taps+int64(tap))*w.size:])
			} else {
				clear(b[:w.size])
			}
			b = b[w.size:]
		}
	}
}

// order is that of filters (filter reorder, 2.5.2): those of equal length together, longest first, and of these each
// one next to that which it shares most kernels with, of equal channel and pattern, as `shared` counts; of many, of those that are looked at.
func order(filters [][]kernel, shared func(a, b []kernel) int) []int {
	left := make([]int, len(filters))
	for i := range left {
		left[i] = i
	}
	slices.SortStableFunc(left, func(a, b int) int { return len(filters[b]) - len(filters[a]) })
	for i := 0; i+1 < len(left); i++ {
		best, most, end := i+1, -1, min(len(left), i+1+looked(len(filters[left[i+1]])))
		for k := i + 1; k < end && len(filters[left[k]]) == len(filters[left[i+1]]); k++ {
			if n := shared(filters[left[i]], filters[left[k]]); n > most {
				best, most = k, n
			}
		}
		next := left[best]
		copy(left[i+2:best+1], left[i+1:best])
		left[i+1] = next
	}
	return left
}

// compared is how many kernels the search for a filter's neighbour compares, more or less, and fewestLooked how many filters it looks at, at least:
// a layer may have as many filters as there are indices of 16 bits.
const compared, fewestLooked = 1 << 14, 16

// looked is at how many filters of so many kernels it looks at most.
func looked(kernels int) int { return max(fewestLooked, min(compared/128, compared/max(kernels, 1))) }

// shared is how many kernels two filters have at the same place with the same pattern; both are sorted by patterns.
func shared(a, b []kernel) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

// StructureBytes is what the arrays take besides the kept weights.
func StructureBytes(filters, kernels, patterns int64) int64 {
	const offset, index = 4, 2 // bytes of the elements of Offset, and of the others
	return offset*(filters+1) + index*(filters+kernels+filters*(patterns+1))
}

// Arrays are the format's arrays, in the order Offset, Reorder, Index, Stride, Values.
func (w *Weights) Arrays() []*ir.Tensor {
	return []*ir.Tensor{
		tensor(ir.I32, len(w.Offset), bytesOf(w.Offset)),
		tensor(ir.U16, len(w.Reorder), bytesOf(w.Reorder)),
		tensor(ir.U16, len(w.Index), bytesOf(w.Index)),
		tensor(ir.U16, len(w.Stride), bytesOf(w.Stride)),
		w.Values,
	}
}

func bytesOf(data any) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, data) // a buffer takes slices of integers
	return b.Bytes()
}

func tensor(t ir.DType, n int, data []byte) *ir.Tensor {
	return &ir.Tensor{Type: t, Shape: []int64{int64(n)}, Data: data}
}

// Decode is the dense weights, of the shape that they had.
func (w *Weights) Decode(shape []int64) (*ir.Tensor, error) {
	values, err := w.Values.Bytes()
	if err != nil {
		return nil, err
	}
	out := ir.NewTensor(w.Values.Type, shape...)
	for at, f := range w.Reorder {
		w.eachKernel(at, func(k int64, p Pattern) { w.decode(out.Data, values, int64(f), k, p) })
	}
	return out, nil
}

// decode puts the weights of a kernel in their places.
func (w *Weights) decode(out, values []byte, f, k int64, p Pattern) {
	for i, tap := range p.Taps() {
		for x := range min(w.Share, w.filters-f*w.Share) {
			at := (k*w.kernelSize() + int64(i)*w.Share + x) * w.size
			to := (f*w.Share+x)*w.rowBytes() + (w.channel(k)*w.taps+int64(tap))*w.size
			copy(out[to:to+w.size], values[at:])
		}
	}
}
