// Package elems views bytes as elements of a type, which vectors of package scalar load and
// store. The interpreters of stages and of loops share it.
package elems

import (
	"encoding/binary"
	"unsafe"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// Buffer is memory as a slice of elements.
type Buffer struct {
	Type ir.DType
	N    int64
	// F32, F64 and I64 are the elements where vectors of their class can alias them.
	F32 []float32
	F64 []float64
	I64 []int64

	elems any // []float32, []float64, []int8 ... ; halves are []uint16, bool is []uint8
}

// element are the types in memory.
type element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// View is a view of bytes, little-endian elements of type t. On a little-endian host the elements
// are the bytes themselves, if aligned; a buffer to store to must be, as what the allocator gives is.
func View(t ir.DType, raw []byte) *Buffer {
	b := &Buffer{Type: t, N: int64(len(raw) / t.Size())}
	switch t {
	case ir.F32:
		b.F32 = elements[float32](raw)
		b.elems = b.F32
	case ir.F64:
		b.F64 = elements[float64](raw)
		b.elems = b.F64
	case ir.I64, ir.U64:
		b.I64 = elements[int64](raw)
		b.elems = b.I64
	case ir.I8:
		b.elems = elements[int8](raw)
	case ir.U8, ir.Bool:
		b.elems = elements[uint8](raw)
	case ir.I16:
		b.elems = elements[int16](raw)
	case ir.U16, ir.F16, ir.BF16:
		b.elems = elements[uint16](raw)
	case ir.I32:
		b.elems = elements[int32](raw)
	case ir.U32:
		b.elems = elements[uint32](raw)
	}
	return b
}

func elements[T element](raw []byte) []T {
	if len(raw) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(*new(T)))
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if littleEndian && uintptr(p)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(p), len(raw)/size)
	}
	out := make([]T, len(raw)/size)
	_, _ = binary.Decode(raw, binary.LittleEndian, out) // the sizes agree
	return out
}

// Load fills dst from elements at off, off+stride...
func (b *Buffer) Load(dst *scalar.Vec, off, stride int64) {
	switch e := b.elems.(type) {
	case []float32:
		loadAs(dst.F32, e, off, stride)
	case []float64:
		loadAs(dst.F64, e, off, stride)
	case []int64:
		loadAs(dst.I64, e, off, stride)
	case []int32:
		loadAs(dst.I64, e, off, stride)
	case []uint32:
		loadAs(dst.I64, e, off, stride)
	case []int16:
		loadAs(dst.I64, e, off, stride)
	case []int8:
		loadAs(dst.I64, e, off, stride)
	case []uint8:
		loadAs(dst.I64, e, off, stride)
	case []uint16:
		if widen := widener(b.Type); widen != nil {
			for i := range dst.F32 {
				dst.F32[i] = widen(e[off+int64(i)*stride])
			}
			return
		}
		loadAs(dst.I64, e, off, stride)
	}
}

func loadAs[D, S element](dst []D, src []S, off, stride int64) {
	switch stride {
	case 0:
		scalar.Fill(dst, D(src[off]))
	case 1:
		if same, ok := any(src).([]D); ok {
			copy(dst, same[off:])
			return
		}
		for i, x := range src[off : off+int64(len(dst))] {
			dst[i] = D(x)
		}
	default:
		for i := range dst {
			dst[i] = D(src[off])
			off += stride
		}
	}
}

// Gather fills dst from the elements at the offsets; a negative one leaves zero.
func (b *Buffer) Gather(dst *scalar.Vec, at []int64) {
	switch e := b.elems.(type) {
	case []float32:
		gatherAs(dst.F32, e, at)
	case []float64:
		gatherAs(dst.F64, e, at)
	case []int64:
		gatherAs(dst.I64, e, at)
	case []int32:
		gatherAs(dst.I64, e, at)
	case []uint32:
		gatherAs(dst.I64, e, at)
	case []int16:
		gatherAs(dst.I64, e, at)
	case []int8:
		gatherAs(dst.I64, e, at)
	case []uint8:
		gatherAs(dst.I64, e, at)
	case []uint16:
		if widen := widener(b.Type); widen != nil {
			for i, k := range at {
				if dst.F32[i] = 0; k >= 0 {
					dst.F32[i] = widen(e[k])
				}
			}
			return
		}
		gatherAs(dst.I64, e, at)
	}
}

func gatherAs[D, S element](dst []D, src []S, at []int64) {
	for i, k := range at {
		if dst[i] = 0; k >= 0 {
			dst[i] = D(src[k])
		}
	}
}

// widener converts half types, and is nil for u16.
func widener(t ir.DType) func(uint16) float32 {
	switch t {
	case ir.F16:
		return scalar.F16ToF32
	case ir.BF16:
		return scalar.BF16ToF32
	}
	return nil
}

// Store writes a vector to the elements at off, off+stride...
func (b *Buffer) Store(v *scalar.Vec, off, stride int64) {
	switch e := b.elems.(type) {
	case []float32:
		storeAs(e, v.F32, off, stride)
	case []float64:
		storeAs(e, v.F64, off, stride)
	case []int64:
		storeAs(e, v.I64, off, stride)
	case []int32:
		storeAs(e, v.I64, off, stride)
	case []uint32:
		storeAs(e, v.I64, off, stride)
	case []int16:
		storeAs(e, v.I64, off, stride)
	case []int8:
		storeAs(e, v.I64, off, stride)
	case []uint8:
		storeAs(e, v.I64, off, stride)
	case []uint16:
		b.storeShort(e, v, off, stride)
	}
}

func (b *Buffer) storeShort(e []uint16, v *scalar.Vec, off, stride int64) {
	narrow := scalar.F32ToF16
	switch b.Type {
	case ir.U16:
		storeAs(e, v.I64, off, stride)
		return
	case ir.BF16:
		narrow = scalar.F32ToBF16
	}
	for i, x := range v.F32 {
		e[off+int64(i)*stride] = narrow(x)
	}
}

func storeAs[D, S element](dst []D, src []S, off, stride int64) {
	if stride == 1 {
		if same, ok := any(dst).([]S); ok {
			copy(same[off:off+int64(len(src))], src)
			return
		}
		for i, x := range src {
			dst[off+int64(i)] = D(x)
		}
		return
	}
	for _, x := range src {
		dst[off] = D(x)
		off += stride
	}
}

// Alias makes v the elements [off, off+n) themselves, if they are as in a vector.
func (b *Buffer) Alias(v *scalar.Vec, off, n int64) bool {
	switch {
	case b.F32 != nil:
		v.F32 = b.F32[off : off+n]
	case b.F64 != nil:
		v.F64 = b.F64[off : off+n]
	case b.I64 != nil:
		v.I64 = b.I64[off : off+n]
	default:
		return false
	}
	return true
}
