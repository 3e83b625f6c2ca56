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
		return nil, fmt.Errorf("floats wanted, found %s", t.Type)
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

// FloatTensor rounds elements to a float type, once.
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
