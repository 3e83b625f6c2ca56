package weights

import (
	"encoding/binary"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// Magnitudes are the greatest finite ones of constants of 16 bits, each looked for once. A nil one looks every time.
type Magnitudes struct{ found map[*ir.Tensor]float32 }

// NewMagnitudes knows none.
func NewMagnitudes() *Magnitudes { return &Magnitudes{map[*ir.Tensor]float32{}} }

// Of is that of a constant.
func (m *Magnitudes) Of(t *ir.Tensor) (float32, error) {
	if m != nil {
		if most, known := m.found[t]; known {
			return most, nil
		}
	}
	most, err := greatestHalf(t)
	if m != nil && err == nil {
		m.found[t] = most
	}
	return most, err
}

// halfPiece is how many bytes of a constant are looked at at a time.
const halfPiece = 1 << 20

// greatestHalf is the greatest finite magnitude in a constant of f16: magnitudes are ordered as their bits are.
func greatestHalf(t *ir.Tensor) (float32, error) {
	var most uint16
	size := 2 * t.Len()
	b := make([]byte, min(size, halfPiece))
	for at := int64(0); at < size; at += halfPiece {
		piece := b[:min(halfPiece, size-at)]
		if err := t.ReadBytes(piece, at); err != nil {
			return 0, err
		}
		for i := 0; i < len(piece); i += 2 {
			if x := binary.LittleEndian.Uint16(piece[i:]) & 0x7fff; x < 0x7c00 && x > most {
				most = x
			}
		}
	}
	return scalar.F16ToF32(most), nil
}
