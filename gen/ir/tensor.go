package ir

import (
	"fmt"
	"io"
	"math"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir/sym"
)

// Tensor is a constant: row-major little-endian elements, in memory, in a
// part of a file that is read when asked for, or computed then (Computed), so that a model of many
// gigabytes is never held as a whole.
type Tensor struct {
	Type  DType
	Shape []int64
	Data  []byte  // elements, when Src is nil
	Src   *Source // where the elements are, when not in memory
}

// Source is a range of a file.
type Source struct {
	File   *File
	Offset int64 // bytes
	Length int64 // bytes
}

// File is something constants are read from: the model, or a file of external
// data. Name is the location that the model uses for it (the model itself is
// ""): never an absolute path. One that begins with two slashes is no file: its bytes are computed.
type File struct {
	Name string
	R    io.ReaderAt
	Size int64
}

// Len is the number of elements of a shape; an error on overflow or a negative dimension.
func Len(shape []int64) (int64, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("negative dimension in shape %v", shape)
		}
		if d != 0 && n > math.MaxInt64/d {
			return 0, fmt.Errorf("shape %v has more than 2^63 elements", shape)
		}
		n *= d
	}
	return n, nil
}

// Fits refuses a shape whose tensor of type t would be absurdly large, as far as its dimensions are
// known. One of 0 counts as 1: the others must still make sense in strides and loops.
func (s Shape) Fits(t DType) error {
	if len(s) > limit.Rank {
		return fmt.Errorf("%d dimensions; supported are at most %d", len(s), limit.Rank)
	}
	most := limit.Tensor / int64(max(t.Size(), 1))
	size := sym.Const(1)
	for _, d := range s {
		if x, ok := d.Const(); !ok || x >= 1 {
			size = sym.Mul(size, d)
		}
		if size.Overflow() {
			return fmt.Errorf("the shape %v, whose size overflows 64 bits or is an expression of more than %d characters", s, limit.Expression)
		}
		if greatest(size) > most {
			return fmt.Errorf("the shape %v, of more than %d bytes, which is the limit of a tensor", s, int64(limit.Tensor))
		}
	}
	return nil
}

// greatest is the largest of an expression's constants: of one without symbols its value.
func greatest(e sym.Expr) int64 {
	terms, most := e.Terms()
	for _, t := range terms {
		most = max(most, t.Coef, -t.Coef)
	}
	return most
}

// Len is the number of elements. Shapes of tensors are checked when they are made.
func (t *Tensor) Len() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Bytes are the elements, read from the file if they are there. The caller must not change them.
func (t *Tensor) Bytes() ([]byte, error) {
	if t.Src == nil {
		return t.Data, nil
	}
	if t.Src.Length == 0 {
		return nil, nil
	}
	b := make([]byte, t.Src.Length)
	if err := t.Src.read(b, 0); err != nil {
		return nil, err
	}
	return b, nil
}

// NewTensor makes a tensor of zeros.
func NewTensor(t DType, shape ...int64) *Tensor {
	x := &Tensor{Type: t, Shape: append([]int64{}, shape...)}
	x.Data = make([]byte, x.Len()*int64(t.Size()))
	return x
}

// Ints are the elements of an integer or bool tensor as int64.
func (t *Tensor) Ints() ([]int64, error) {
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	if t.Type.IsFloat() {
		return nil, fmt.Errorf("want integers, found %s", t.Type)
	}
	size := t.Type.Size()
	out := make([]int64, len(b)/size)
	for i := range out {
		var u uint64
		for k := size - 1; k >= 0; k-- {
			u = u<<8 | uint64(b[i*size+k])
		}
		if t.Type.Kind() == KindInt {
			shift := 64 - 8*size
			out[i] = int64(u<<shift) >> shift
		} else {
			out[i] = int64(u)
		}
	}
	return out, nil
}
