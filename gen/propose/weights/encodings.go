package weights

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/loop"
)

// Encodings are those of constants that were pruned, each found once for all layouts and chips.
type Encodings struct {
	zeros map[*ir.Tensor]bool
	found map[string]*fkw.Encoding
	kept  map[string][][]int32 // points, by weights and how many filters share them
	// Alone: kernels load what they read of values for each tap, to measure what sharing loads gains.
	Alone bool
	// Given: kernels stay in the order in which they were given, to measure what the reorder gains.
	Given bool
}

// NewEncodings looks for pruned weights. A nil one does not.
func NewEncodings() *Encodings {
	return &Encodings{zeros: map[*ir.Tensor]bool{}, found: map[string]*fkw.Encoding{}, kept: map[string][][]int32{}}
}

// On reports whether any are looked for.
func (e *Encodings) On() bool { return e != nil }

// leastZeros is the part of weights that must be zero before anything is looked for, and sampled how many are looked at of weights that are
// dense.
const (
	leastZeros = 0.4
	sampled    = 1 << 14
)

// Sparse reports whether so many elements of a constant are zero that kernels may leave them out.
func (e *Encodings) Sparse(v *ir.Value) (bool, error) {
	if e == nil || v.Const == nil || !slices.Contains(loop.Floats, v.Type) || v.Const.Len() < 2 {
		return false, nil
	}
	if known, ok := e.zeros[v.Const]; ok {
		return known, nil
	}
	sparse, err := zeros(v.Const)
	if err != nil {
		return false, fmt.Errorf("constant %q: %w", v.Name, err)
	}
	e.zeros[v.Const] = sparse
	return sparse, nil
}

// zeros reports whether many elements are zero: of the first ones, then of all. Where all are, nothing is left to compute with.
func zeros(t *ir.Tensor) (bool, error) {
	size := int64(t.Type.Size())
	first := make([]byte, size*min(sampled, t.Len()))
	if err := t.ReadBytes(first, 0); err != nil {
		return false, err
	}
	c := &zeroCounter{size: size}
	if c.count(first); float64(c.zeros) < leastZeros*float64(c.all)/2 {
		return false, nil
	}
	c = &zeroCounter{size: size}
	if _, err := t.WriteTo(c); err != nil {
		return false, err
	}
	return c.zeros < c.all && float64(c.zeros) >= leastZeros*float64(c.all), nil
}

// zeroCounter counts floats of a size that are written to it.
type zeroCounter struct {
	size       int64
	zeros, all int64
	rest       []byte // of an element
}

func (c *zeroCounter) Write(b []byte) (int, error) {
	c.rest = append([]byte{}, c.count(append(c.rest, b...))...)
	return len(b), nil
}

// count counts whole elements, and gives the bytes that are left.
func (c *zeroCounter) count(b []byte) []byte {
	for ; int64(len(b)) >= c.size; b = b[c.size:] {
		if c.all++; fkw.Zero(b[:c.size]) {
			c.zeros++
		}
	}
	return b
}

// Find is the encoding of weights in which so many filters share what they keep, in blocks of channels, or nil.
func (e *Encodings) Find(o *Ordered, share, block int64) (*fkw.Encoding, error) {
	key := fmt.Sprintf("%p %v %v %d %d", o.From, o.Dims, o.Steps, o.Base, share)
	enc, ok := e.found[key]
	if !ok {
		var err error
		if enc, err = fkw.Find(o.Tensor(), share, 0); err != nil {
			return nil, err
		}
		e.found[key] = enc
	}
	if enc == nil {
		return nil, nil
	}
	in := *enc // what is stored is the same in blocks of any size
	in.Block, in.Given = block, e.Given
	if channels := o.Dims[1]; in.Given && int64(len(in.Patterns))*channels > math.MaxUint16 {
		return nil, nil // which would have no numbers
	}
	return &in, nil
}

// Points are those that groups of so many filters keep (fkw.Points).
func (e *Encodings) Points(t *ir.Tensor, share int64) ([][]int32, error) {
	src := fmt.Sprintf("%p", t.Src)
	if t.Src == nil {
		src = fmt.Sprintf("%p", t.Data)
	}
	key := fmt.Sprintf("%s %v %d", src, t.Shape, share)
	points, ok := e.kept[key]
	if !ok {
		var err error
		if points, err = fkw.Points(t, share); err != nil {
			return nil, err
		}
		e.kept[key] = points
	}
	return points, nil
}

// Ordered is weights with the filters first, then the axes of the sum: their extents, and where they lie in the constant.
type Ordered struct {
	From        *ir.Tensor
	Dims, Steps []int64
	Base        int64
}

// Tensor is the weights in that order, computed from parts of the constant where that has another one.
func (o *Ordered) Tensor() *ir.Tensor {
	if o.Base == 0 && InOrder(o.Dims, o.Steps) {
		return &ir.Tensor{Type: o.From.Type, Shape: o.Dims, Data: o.From.Data, Src: o.From.Src}
	}
	points := []int64{0}
	for d, n := range o.Dims[1:] {
		next := make([]int64, 0, n*int64(len(points)))
		for _, p := range points {
			for i := range n {
				next = append(next, p+i*o.Steps[d+1])
			}
		}
		points = next
	}
	p := &Packed{From: o.From, Channels: o.Dims[0], Lanes: 1, Offset: o.Base, Stride: o.Steps[0], Points: points}
	return p.Tensor(o.From.Type, o.Dims...)
}

// InOrder reports whether steps are those of elements that lie one after the other.
func InOrder(dims, steps []int64) bool {
	n := int64(1)
	for d := len(dims) - 1; d >= 0; d-- {
		if dims[d] > 1 && steps[d] != n {
			return false
		}
		n *= dims[d]
	}
	return true
}
