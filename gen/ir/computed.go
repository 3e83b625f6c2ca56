package ir

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// WriteTo and what reads constants piece by piece hold so many bytes of one at a time, or what is
// best computed together: of a small one few, next to what else a small model takes, and of a large one more, of which
// each part may have to be gathered from all over a file.
const (
	fewBytes  = 1 << 20
	partBytes = 4 << 20
	fewParts  = 3
)

// mostBytes bounds what is held of a constant that is best computed together: beyond it, what is gathered and
// transformed again for each part costs less than the memory. The filters that Winograd makes of the widest
// convolutions of diffusion networks are 200 MB.
const mostBytes = 64 << 20

// computedName is the name of files that are none; no location of external data can be so called.
const computedName = "//computed"

// Computed makes a constant whose elements are computed whenever they are read, so that they take no
// memory: fill sets b to those from the first on, which is, as their number, a multiple of unit (but at
// the constant's end). Of the same constant it must compute the same each time.
func Computed(t DType, shape []int64, unit int64, fill func(b []byte, first int64) error) *Tensor {
	return ComputedTogether(t, shape, unit, unit, fill)
}

// ComputedTogether makes a constant as Computed does, of which it is best to compute so many elements at a
// time, a multiple of unit, where all are wanted and so many fit into mostBytes.
func ComputedTogether(t DType, shape []int64, unit, together int64, fill func(b []byte, first int64) error) *Tensor {
	x := &Tensor{Type: t, Shape: append([]int64{}, shape...)}
	elem := int64(t.Size())
	size := x.Len() * elem
	c := &computation{elem: elem, unit: max(unit, 1) * elem, together: max(together, 1) * elem, size: size, fill: fill}
	x.Src = &Source{File: &File{Name: computedName, R: c, Size: size}, Length: size}
	return x
}

// computation is the file of a computed constant.
type computation struct {
	elem, unit, together, size int64 // bytes
	fill                       func(b []byte, first int64) error
}

// ReadAt computes the bytes at a position: whole units into b, of others a part.
func (c *computation) ReadAt(b []byte, at int64) (int, error) {
	if at < 0 || at > c.size-int64(len(b)) {
		return 0, fmt.Errorf("reading bytes %d to %d of %d computed ones", at, at+int64(len(b)), c.size)
	}
	done := 0
	for done < len(b) {
		n, err := c.some(b[done:], at+int64(done))
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// some computes one or more of the bytes.
func (c *computation) some(b []byte, at int64) (int, error) {
	start := at - at%c.unit
	end := at + int64(len(b))
	if whole := end - end%c.unit; end != c.size && whole > at {
		end = whole
	}
	if start == at && (end == c.size || end%c.unit == 0) {
		return int(end - at), c.fill(b[:end-at], at/c.elem)
	}
	part := make([]byte, min(c.unit, c.size-start))
	err := c.fill(part, start/c.elem)
	return copy(b, part[at-start:]), err
}

// part is how many bytes are best read at a time.
func (s *Source) part() int64 {
	n := max(fewBytes, min(partBytes, s.Length/fewParts))
	if c, ok := s.File.R.(*computation); ok {
		n = c.part(n)
	}
	return min(n, s.Length)
}

// part is how many bytes are best computed at a time, about n where what is computed together does not say more.
func (c *computation) part(n int64) int64 {
	if c.together <= mostBytes {
		return max(n-n%c.together, c.together)
	}
	pieces := (c.together + mostBytes - 1) / mostBytes
	units := c.together / c.unit
	return (units + pieces - 1) / pieces * c.unit
}

// next is how many bytes to read at a position if part are best: a part that is a piece of what is computed together ends with that.
func (s *Source) next(at, part int64) int64 {
	if c, ok := s.File.R.(*computation); ok && c.together > part {
		part = min(part, c.together-at%c.together)
	}
	return min(part, s.Length-at)
}

// parts are buffers of WriteTo, which the next constant uses again: some are of mostBytes.
var parts sync.Pool

func newPart(size int64) *[]byte {
	b, ok := parts.Get().(*[]byte)
	if !ok || int64(cap(*b)) < size {
		b = &[]byte{}
		*b = make([]byte, size)
	}
	*b = (*b)[:size]
	return b
}

// read fills b with the bytes of the range from at on.
func (s *Source) read(b []byte, at int64) error {
	n, err := s.File.R.ReadAt(b, s.Offset+at)
	_, isComputed := s.File.R.(*computation)
	switch {
	case n == len(b):
		return nil
	case isComputed:
		return err
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the file %s ends before byte %d", fileLabel(s.File.Name), s.Offset+at+int64(len(b)))
	}
	return fmt.Errorf("reading %d bytes at %d of the file %s: %w", len(b), s.Offset+at, fileLabel(s.File.Name), err)
}

// ReadBytes fills b with the bytes of the elements from byte at on.
func (t *Tensor) ReadBytes(b []byte, at int64) error {
	if t.Src != nil {
		return t.Src.read(b, at)
	}
	copy(b, t.Data[at:at+int64(len(b))])
	return nil
}

// WriteTo writes the elements, a part at a time where they are not in memory.
func (t *Tensor) WriteTo(w io.Writer) (int64, error) {
	if t.Src == nil {
		n, err := w.Write(t.Data)
		return int64(n), err
	}
	part := newPart(t.Src.part())
	defer parts.Put(part)
	for at := int64(0); at < t.Src.Length; {
		b := (*part)[:t.Src.next(at, int64(len(*part)))]
		if err := t.Src.read(b, at); err != nil {
			return at, err
		}
		n, err := w.Write(b)
		if at += int64(n); err != nil {
			return at, err
		}
	}
	return t.Src.Length, nil
}
