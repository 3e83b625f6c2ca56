package fkw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// Weights are the arrays of the format. Filter f of the order in which they are stored is filter Reorder[f], its
// kernels are those from Offset[f] to Offset[f+1], and of these, from its first one on, those from Stride[f][p] to
// Stride[f][p+1] have pattern p. Kernel k is of input channel Index[k], and its taps' weights are Values[k*entries:].
type Weights struct {
	Encoding
	Offset          []int32
	Reorder         []uint16
	Index           []uint16
	Stride          []uint16 // of len(Patterns)+1 for each filter
	Values          []byte   // elements of Type
	Type            ir.DType
	filters, inputs int
	taps            int64
}

// kernel is one that is kept.
type kernel struct{ channel, pattern int }

// Encode stores weights of the shape [filters, channels, taps...]. Each kernel must be zero, or fit in a pattern: it is stored by the first one
// that has all its taps.
func Encode(w *ir.Tensor, patterns []Pattern) (*Weights, error) {
	out := &Weights{Encoding: Encoding{Patterns: patterns}, Type: w.Type, taps: 1}
	if err := out.Check(); err != nil {
		return nil, err
	}
	if len(w.Shape) < 3 || w.Shape[0] > maxIndex || w.Shape[1] >= maxIndex {
		return nil, fmt.Errorf("weights of shape %v; want filters (at most %d), channels (fewer than %d), and taps", w.Shape, maxIndex, maxIndex)
	}
	for _, n := range w.Shape[2:] {
		out.taps *= n
	}
	if err := out.Fits(out.taps); err != nil {
		return nil, err
	}
	out.filters, out.inputs = int(w.Shape[0]), int(w.Shape[1])
	filters := make([][]kernel, out.filters)
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

// kernels are those of a filter that are kept, by pattern, then channel (kernel reorder, 2.5.2).
func (w *Weights) kernels(t *ir.Tensor, f int) ([]kernel, error) {
	var out []kernel
	for c := range w.inputs {
		var used Pattern
		for tap := range int(w.taps) {
			if !zero(w.element(t, f, c, tap)) {
				used |= 1 << tap
			}
		}
		if used == 0 {
			continue
		}
		p := slices.IndexFunc(w.Patterns, func(p Pattern) bool { return used&^p == 0 })
		if p < 0 {
			return nil, fmt.Errorf("the kernel of filter %d and channel %d keeps the taps %v, which no pattern has", f, c, used.Taps())
		}
		out = append(out, kernel{c, p})
	}
	slices.SortStableFunc(out, func(a, b kernel) int { return a.pattern - b.pattern })
	return out, nil
}

// add stores a filter.
func (w *Weights) add(t *ir.Tensor, f int, kernels []kernel) {
	w.Offset = append(w.Offset, int32(w.Kernels))
	w.Reorder = append(w.Reorder, uint16(f))
	at := 0
	for p, pattern := range w.Patterns {
		w.Stride = append(w.Stride, uint16(at))
		for ; at < len(kernels) && kernels[at].pattern == p; at++ {
			w.Index = append(w.Index, uint16(kernels[at].channel))
			for _, tap := range pattern.Taps() {
				w.Values = append(w.Values, w.element(t, f, kernels[at].channel, tap)...)
			}
		}
	}
	w.Stride = append(w.Stride, uint16(at))
	w.Kernels += int64(len(kernels))
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
	size := w.Type.Size()
	for f := range w.Reorder {
		stride := w.Stride[f*(len(w.Patterns)+1):]
		for p, pattern := range w.Patterns {
			for k := w.Offset[f] + int32(stride[p]); k < w.Offset[f]+int32(stride[p+1]); k++ {
				for i, tap := range pattern.Taps() {
					at := (int(k)*w.Entries() + i) * size
					copy(w.element(out, int(w.Reorder[f]), int(w.Index[k]), tap), w.Values[at:at+size])
				}
			}
		}
	}
	return out
}
