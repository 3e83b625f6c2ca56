package weights

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// ElementOf is the first element of bytes, of f32 or of 16 bits.
func ElementOf(t ir.DType, b []byte) float32 {
	if t.Size() == 2 {
		return widened(t, binary.LittleEndian.Uint16(b))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}

func widened(t ir.DType, x uint16) float32 {
	if t == ir.BF16 {
		return scalar.BF16ToF32(x)
	}
	return scalar.F16ToF32(x)
}
