package edit

import (
	"encoding/binary"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
)

// Floats are the elements of a float tensor, exactly.
func Floats(t *ir.Tensor) ([]float64, error) {
	if !t.Type.IsFloat() {
		return nil, fmt.Errorf("want floats, found %s", t.Type)
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(b)/t.Type.Size())
	le := binary.LittleEndian
	for i := range out {
		switch t.Type {
		case ir.F16:
			out[i] = ir.F16Float(le.Uint16(b[2*i:]))
		case ir.BF16:
			out[i] = ir.BF16Float(le.Uint16(b[2*i:]))
		case ir.F32:
			out[i] = float64(math.Float32frombits(le.Uint32(b[4*i:])))
		default:
			out[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	}
	return out, nil
}

// SettleNaNs makes every element that is not a number the same one: processors differ in what they
// give, in sign and in payload.
func SettleNaNs(t *ir.Tensor) {
	le := binary.LittleEndian
	for at := 0; at < len(t.Data); at += t.Type.Size() {
		b := t.Data[at:]
		switch t.Type {
		case ir.F16:
			if le.Uint16(b)&0x7fff > 0x7c00 {
				le.PutUint16(b, 0x7e00)
			}
		case ir.BF16:
			if le.Uint16(b)&0x7fff > 0x7f80 {
				le.PutUint16(b, 0x7fc0)
			}
		case ir.F32:
			if le.Uint32(b)&0x7fffffff > 0x7f800000 {
				le.PutUint32(b, 0x7fc00000)
			}
		case ir.F64:
			if le.Uint64(b)&(1<<63-1) > 0x7ff0<<48 {
				le.PutUint64(b, 0x7ff8<<48)
			}
		}
	}
}

// FloatTensor rounds elements to a float type, once, and settles those that are not numbers.
func FloatTensor(t ir.DType, xs []float64, shape ...int64) *ir.Tensor {
	out := ir.NewTensor(t, shape...)
	le := binary.LittleEndian
	for i, x := range xs {
		switch t {
		case ir.F16:
			le.PutUint16(out.Data[2*i:], ir.F16Bits(x))
		case ir.BF16:
			le.PutUint16(out.Data[2*i:], ir.BF16Bits(x))
		case ir.F32:
			le.PutUint32(out.Data[4*i:], math.Float32bits(float32(x)))
		default:
			le.PutUint64(out.Data[8*i:], math.Float64bits(x))
		}
	}
	SettleNaNs(out)
	return out
}

// IntTensor makes an integer or bool tensor of numbers that fit its type.
func IntTensor(t ir.DType, xs []int64, shape ...int64) *ir.Tensor {
	out := ir.NewTensor(t, shape...)
	size := t.Size()
	for i, x := range xs {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(x))
		copy(out.Data[i*size:(i+1)*size], b[:])
	}
	return out
}
