package lower

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/scalar"
	wino "rules_dnn/gen/winograd"
)

// Transformed weights are of 16 bits where the network's are, so that products read half the bytes as elsewhere: of F(2,3), by whose
// transforms roundings of weights grow to 1.4 times those of results in 16 bits. By F(4,3)'s they grow to 8 times these (standard deviations of sums
// over 64 and 512 channels): its filters are f32.

// halfResults is the most results along an axis of a transform whose filters are of 16 bits.
const halfResults = 2

// mostGrowth bounds how many times as large as weights the filters of such a transform are, along both axes.
const mostGrowth = 2.25

// filterType is the type of a transform's filters, of weights in a constant.
func (c *contraction) filterType(f *wino.Transform, weights *ir.Value, known *Magnitudes) (ir.DType, error) {
	t := weights.Type
	if t == ir.F32 || f.Filters().Results > halfResults || !c.t.LoadsConvert(t) {
		return ir.F32, nil
	}
	if t == ir.BF16 {
		return t, nil
	}
	most, err := known.of(weights.Const)
	if err != nil || float64(most)*mostGrowth > float64(scalar.F16ToF32(0x7bff)) {
		return ir.F32, err
	}
	return t, nil
}

// Magnitudes are the greatest finite ones of constants of 16 bits, each looked for once. A nil one looks every time.
type Magnitudes struct{ found map[*ir.Tensor]float32 }

// NewMagnitudes knows none.
func NewMagnitudes() *Magnitudes { return &Magnitudes{map[*ir.Tensor]float32{}} }

func (m *Magnitudes) of(t *ir.Tensor) (float32, error) {
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

// putFilter stores an element of filters.
func putFilter(b []byte, t ir.DType, at int64, x float32) {
	switch t {
	case ir.F16:
		binary.LittleEndian.PutUint16(b[2*at:], scalar.F32ToF16(x))
	case ir.BF16:
		binary.LittleEndian.PutUint16(b[2*at:], scalar.F32ToBF16(x))
	default:
		binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(x))
	}
}
