package check

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// Input makes a tensor of numbers that look random and are the same on every
// machine. With h = mix(seed + i), modulo 2^32, element i is
//
//	h / 2^30 - 2, rounded down to 22 bits after the point (so in [-2, 2)), of a float
//	h % limit                                                            , of an integer
//	h % 2                                                                , of a bool
func Input(t ir.DType, shape []int64, seed uint32, limit int) *ir.Tensor {
	x := ir.NewTensor(t, shape...)
	size := t.Size()
	for i := range x.Len() {
		put(t, x.Data[int(i)*size:], mix(seed+uint32(i)), uint32(limit))
	}
	return x
}

// mix spreads each bit of a number over all bits.
func mix(x uint32) uint32 {
	x = (x + 1) * 0x9E3779B1
	x = (x ^ x>>15) * 0x85EBCA6B
	return x ^ x>>13
}

func put(t ir.DType, b []byte, h, limit uint32) {
	f := float64(h>>8)/(1<<22) - 2
	n := h % limit
	switch t {
	case ir.F64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(f))
	case ir.F32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(f)))
	case ir.F16:
		binary.LittleEndian.PutUint16(b, ir.F16Bits(f))
	case ir.BF16:
		binary.LittleEndian.PutUint16(b, ir.BF16Bits(f))
	case ir.Bool:
		b[0] = byte(h % 2)
	case ir.I8, ir.U8:
		b[0] = byte(n)
	case ir.I16, ir.U16:
		binary.LittleEndian.PutUint16(b, uint16(n))
	case ir.I32, ir.U32:
		binary.LittleEndian.PutUint32(b, n)
	case ir.I64, ir.U64:
		binary.LittleEndian.PutUint64(b, uint64(n))
	}
}
