package fkw

import (
	"encoding/binary"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// batchBytes is about how many bytes of dense weights are in memory at once: those of fully connected layers may have hundreds of megabytes.
const batchBytes = 16 << 20

// rows are dense weights of the shape [filters, channels, taps...], which are read some filters at a time.
type rows struct {
	from            *ir.Tensor
	share           int64
	filters, inputs int64
	taps, size      int64 // size: bytes of an element
}

func rowsOf(t *ir.Tensor, share int64) (rows, error) {
	if len(t.Shape) < 2 || t.Shape[0] > maxIndex || t.Shape[1] >= maxIndex {
		return rows{}, fmt.Errorf("weights of shape %v; want filters (at most %d), channels (fewer than %d), and taps", t.Shape, maxIndex, maxIndex)
	}
	r := rows{from: t, share: share, filters: t.Shape[0], inputs: t.Shape[1], taps: 1, size: int64(t.Type.Size())}
	for _, n := range t.Shape[2:] {
		r.taps *= n
	}
	if r.taps < 1 || r.taps > MaxTaps {
		return rows{}, fmt.Errorf("kernels of %d taps; want 1 to %d", r.taps, MaxTaps)
	}
	return r, nil
}

// rowBytes is how many bytes a filter has.
func (r *rows) rowBytes() int64 { return r.inputs * r.taps * r.size }

// stored is how many filters are stored: groups, where filters share what they keep.
func (r *rows) stored() int { return int((r.filters + r.share - 1) / r.share) }

// all are the numbers of stored filters.
func (r *rows) all() []int {
	out := make([]int, r.stored())
	for f := range out {
		out[f] = f
	}
	return out
}

// each calls f for some stored filters, which are sorted, with their weights.
func (r *rows) each(stored []int, f func(f int, data []byte) error) error {
	group, end := r.rowBytes()*r.share, r.rowBytes()*r.filters
	most := max(1, batchBytes/max(group, 1))
	var buffer []byte
	for len(stored) > 0 {
		n := 1
		for n < len(stored) && int64(n) < most && stored[n] == stored[0]+n {
			n++
		}
		from := int64(stored[0]) * group
		data, err := r.read(from, min(from+int64(n)*group, end), &buffer)
		if err != nil {
			return err
		}
		for i, x := range stored[:n] {
			at := int64(i) * group
			if err := f(x, data[at:min(at+group, int64(len(data)))]); err != nil {
				return err
			}
		}
		stored = stored[n:]
	}
	return nil
}

// read is the bytes from one to another, in a buffer where they are not in memory.
func (r *rows) read(from, to int64, buffer *[]byte) ([]byte, error) {
	if r.from.Src == nil {
		return r.from.Data[from:to], nil
	}
	*buffer = slices.Grow((*buffer)[:0], int(to-from))[:to-from]
	return *buffer, r.from.ReadBytes(*buffer, from)
}

// supports are the taps that any filter of a stored one keeps, of each channel.
func (r *rows) supports(data []byte) []Pattern {
	out := make([]Pattern, r.inputs)
	for len(data) > 0 {
		for c := range out {
			for tap := range r.taps {
				if !Zero(data[:r.size]) {
					out[c] |= 1 << tap
				}
				data = data[r.size:]
			}
		}
	}
	return out
}

// Zero reports whether a float is zero, of either sign: a negative weight times a mask's 0 is -0.
func Zero(element []byte) bool {
	switch len(element) {
	case 4:
		return binary.LittleEndian.Uint32(element)<<1 == 0
	case 2:
		return binary.LittleEndian.Uint16(element)<<1 == 0
	}
	last := len(element) - 1
	return element[last]<<1 == 0 && !slices.ContainsFunc(element[:last], func(b byte) bool { return b != 0 })
}
