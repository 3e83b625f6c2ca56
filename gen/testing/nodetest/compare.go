package nodetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// Tolerances of ONNX's own runner; bf16 has a coarser grid than its rtol. Where the
// greatest element is above 1, sums that cancel out keep errors of its size (ofRange).
const (
	rtol     = 1e-3
	rtolBF16 = 1.0 / 128
	atol     = 1e-7
	ofRange  = 1e-7
)

// Compare reports how got differs from want: exactly for integers and bools, by
// ONNX's tolerances for floats.
func Compare(got, want *ir.Tensor) error {
	if got.Type != want.Type {
		return fmt.Errorf("type is %s, want %s", got.Type, want.Type)
	}
	if !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("shape is %v, want %v", got.Shape, want.Shape)
	}
	a, err := got.Bytes()
	if err != nil {
		return err
	}
	b, err := want.Bytes()
	if err != nil {
		return err
	}
	size := want.Type.Size()
	if len(a) != len(b) {
		return fmt.Errorf("%d bytes, want %d", len(a), len(b))
	}
	wrong, first := 0, ""
	slack := atol
	if want.Type.IsFloat() {
		slack = max(atol, ofRange*greatest(want.Type, b))
	}
	for i := 0; i < len(b); i += size {
		x, y := a[i:i+size], b[i:i+size]
		if slices.Equal(x, y) || (want.Type.IsFloat() && near(want.Type, x, y, slack)) {
			continue
		}
		if wrong++; wrong == 1 {
			first = fmt.Sprintf("element %d is %s, want %s", i/size, show(want.Type, x), show(want.Type, y))
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d elements differ: %s", wrong, len(b)/size, first)
	}
	return nil
}

// greatest is the greatest finite magnitude.
func greatest(t ir.DType, b []byte) float64 {
	most := 0.0
	for i := 0; i < len(b); i += t.Size() {
		if x := math.Abs(floatOf(t, b[i:i+t.Size()])); x > most && !math.IsInf(x, 0) {
			most = x
		}
	}
	return most
}

func near(t ir.DType, a, b []byte, slack float64) bool {
	x, y := floatOf(t, a), floatOf(t, b)
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.IsNaN(x) && math.IsNaN(y)
	}
	if math.IsInf(x, 0) || math.IsInf(y, 0) {
		return x == y
	}
	r := rtol
	if t == ir.BF16 {
		r = rtolBF16
	}
	return math.Abs(x-y) <= slack+r*math.Abs(y)
}

func floatOf(t ir.DType, b []byte) float64 {
	switch t {
	case ir.F16:
		return float64(scalar.F16ToF32(binary.LittleEndian.Uint16(b)))
	case ir.BF16:
		return float64(scalar.BF16ToF32(binary.LittleEndian.Uint16(b)))
	case ir.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func show(t ir.DType, b []byte) string {
	if t.IsFloat() {
		return fmt.Sprint(floatOf(t, b))
	}
	x, err := (&ir.Tensor{Type: t, Shape: []int64{1}, Data: b}).Ints()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(x[0])
}
