package shape

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// constElems are the elements of a small constant, or nil.
func constElems(t *ir.Tensor) []value {
	if t.Len() > maxElems || !followed(t.Type) {
		return nil
	}
	if t.Type.IsFloat() {
		return floatElems(t)
	}
	xs, err := t.Ints()
	if err != nil {
		return nil // a file that cannot be read is reported by whoever needs its bytes
	}
	out := make([]value, len(xs))
	for i, x := range xs {
		if t.Type != ir.U64 || x >= 0 {
			out[i] = number(x)
		}
	}
	return out
}

func floatElems(t *ir.Tensor) []value {
	b, err := t.Bytes()
	if err != nil {
		return nil
	}
	out := make([]value, t.Len())
	for i := range out {
		if t.Type == ir.F32 {
			out[i] = float(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))))
		} else {
			out[i] = float(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}
	return out
}
