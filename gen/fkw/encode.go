package fkw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// Weights are the arrays of the format. Filter f of the order in which they are stored is filter Reorder[f], or that group of Share
// filters. Its kernels are those from Offset[f] to Offset[f+1]. In Stride it has a run for each block of channels and, within it, each
// pattern: from its first kernel on, those from Stride[f][run] to Stride[f][run+1]. Kernel k is of input channel Index[k], and its
// taps' weights are Values[k*entries*Share:], for each tap those of all filters of the group; zero of filters that are none.
type Weights struct {
	Encoding
	Offset          []int32
	Reorder         []uint16
	Index           []uint16
	Stride          []uint16 // of Ends elements for each filter
	Values          []byte   // elements of Type
	Type            ir.DType
	filters, inputs int
	taps            int64
}

// kernel is one that is kept.
type kernel struct{ channel, pattern int }

// Encode stores weights of the shape [filters, channels, taps...]; Kernels of the encoding is counted. Each kernel must be zero, or fit in a
// pattern: it is stored by the first one that has all its taps. Of filters that share what they keep, a kernel's taps are those of all.
func Encode(w *ir.Tensor, e Encoding) (*Weights, error) {
	e.Kernels = 0
	out := &Weights{Encoding: e, Type: w.Type}
	if err := out.Check(); err != nil {
		return nil, err
	}
	if err := out.shape(w); err != nil {
		return nil, err
	}
	if err := out.Fits(out.taps); err != nil {
		return nil, err
	}
	filters := make([][]kernel, out.Stored(int64(out.filters)))
	for f := range filters {
		var err error
		if filters[f], err = out.kernels(w, f); err != nil {
			return nil, err
		}
	}
	for _, f := range order(filters) {
		out.add(w, f, filters[f])
	}
	out.Offset = append(out.Offset, int32(out.Kernels))
	return out, nil
}

func (w *Weights) shape(t *ir.Tensor) error {
	if len(t.Shape) < 2 || t.Shape[0] > maxIndex || t.Shape[1] >= maxIndex {
		return fmt.Errorf("weights of shape %v; want filters (at most %d), channels (fewer than %d), and taps", t.Shape, maxIndex, maxIndex)
	}
	w.filters, w.inputs, w.taps = int(t.Shape[0]), int(t.Shape[1]), 1
	for _, n := range t.Shape[2:] {
		w.taps *= n
	}
	if w.taps < 1 || w.taps > MaxTaps {
		return fmt.Errorf("kernels of %d taps; want 1 to %d", w.taps, MaxTaps)
	}
	return nil
}

// support is the taps that any filter of a stored one keeps of a channel.
func (w *Weights) support(t *ir.Tensor, f, c int) Pattern {
	var used Pattern
	for x := f * int(w.Share); x < min((f+1)*int(w.Share), w.filters); x++ {
		for tap := range int(w.taps) {
			if !zero(w.element(t, x, c, tap)) {
				used |= 1 << tap
			}
		}
	}
	return used
}

// kernels are those of a filter that are kept, by block of channels, pattern, then channel (kernel reorder, 2.5.2).
func (w *Weights) kernels(t *ir.Tensor, f int) ([]kernel, error) {
	var out []kernel
	for c := range w.inputs {
		used := w.support(t, f, c)
		if used == 0 {
			continue
		}
		p := slices.IndexFunc(w.Patterns, func(p Pattern) bool { return used&^p == 0 })
		if p < 0 {
			return nil, fmt.Errorf("the kernel of filter %d and channel %d keeps the taps %v, which no pattern has", f*int(w.Share), c, used.Taps())
		}
		out = append(out, kernel{c, p})
	}
	slices.SortStableFunc(out, func(a, b kernel) int { return w.run(a) - w.run(b) })
	return out, nil
}

// run is the number of the block and pattern of a kernel.
func (w *Weights) run(k kernel) int {
	if w.Block > 0 {
		return k.channel/int(w.Block)*len(w.Patterns) + k.pattern
	}
	return k.pattern
}

// add stores a filter.
func (w *Weights) add(t *ir.Tensor, f int, kernels []kernel) {
	w.Offset = append(w.Offset, int32(w.Kernels))
	w.Reorder = append(w.Reorder, uint16(f))
	at := 0
	for run := range int(w.Ends(int64(w.inputs))) - 1 {
		w.Stride = append(w.Stride, uint16(at))
		for ; at < len(kernels) && w.run(kernels[at]) == run; at++ {
			w.Index = append(w.Index, uint16(kernels[at].channel))
			w.keep(t, f, kernels[at])
		}
	}
	w.Stride = append(w.Stride, uint16(at))
	w.Kernels += int64(len(kernels))
}

// keep stores the weights of a kernel.
func (w *Weights) keep(t *ir.Tensor, f int, k kernel) {
	for _, tap := range w.Patterns[k.pattern].Taps() {
		for x := f * int(w.Share); x < (f+1)*int(w.Share); x++ {
			if x < w.filters {
				w.Values = append(w.Values, w.element(t, x, k.channel, tap)...)
			} else {
				w.Values = append(w.Values, make([]byte, t.Type.Size())...)
			}
		}
	}
}

// element is the bytes of a weight.
func (w *Weights) element(t *ir.Tensor, f, c, tap int) []byte {
	size := int64(t.Type.Size())
	at := (int64(f*w.inputs+c)*w.taps + int64(tap)) * size
	return t.Data[at : at+size]
}

func zero(element []byte) bool {
	return !slices.ContainsFunc(element, func(b byte) bool { return b != 0 })
}

// order is that of filters (filter reorder, 2.5.2): those of equal length together, longest first, and of these each
// one next to that which it shares most kernels with, of equal channel and pattern.
func order(filters [][]kernel) []int {
	left := make([]int, len(filters))
	for i := range left {
		left[i] = i
	}
	slices.SortStableFunc(left, func(a, b int) int { return len(filters[b]) - len(filters[a]) })
	for i := 0; i+1 < len(left); i++ {
		best, most := i+1, -1
		for k := i + 1; k < len(left) && len(filters[left[k]]) == len(filters[left[i+1]]); k++ {
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
		tensor(w.Type, len(w.Values)/w.Type.Size(), w.Values),
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
func (w *Weights) Decode(shape []int64) *ir.Tensor {
	out := ir.NewTensor(w.Type, shape...)
	ends := int(w.Ends(int64(w.inputs)))
	for f := range w.Reorder {
		stride := w.Stride[f*ends:]
		for run := range ends - 1 {
			for k := w.Offset[f] + int32(stride[run]); k < w.Offset[f]+int32(stride[run+1]); k++ {
				w.decode(out, f, int(k), w.Patterns[run%len(w.Patterns)])
			}
		}
	}
	return out
}

// decode puts the weights of a kernel in their places.
func (w *Weights) decode(out *ir.Tensor, f, k int, p Pattern) {
	size, share := w.Type.Size(), int(w.Share)
	for i, tap := range p.Taps() {
		for x := range min(share, w.filters-int(w.Reorder[f])*share) {
			at := ((k*w.Entries()+i)*share + x) * size
			copy(w.element(out, int(w.Reorder[f])*share+x, int(w.Index[k]), tap), w.Values[at:at+size])
		}
	}
}
