package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
)

// Difference is how far a result is from the reference.
type Difference struct {
	Abs   float64 // the largest difference of two elements; infinite where only one is finite
	Range float64 // between the smallest and the largest element of the reference
	At    int     // the element that differs most
	Got   float64 // what it is
	Want  float64 // what it is in the reference
	// Differ is how many elements differ at all.
	Differ int
}

// Rel returns the largest difference relative to the range.
func (d Difference) Rel() float64 {
	if d.Abs == 0 {
		return 0
	}
	return d.Abs / d.Range
}

// Compare reports how got differs from want. Infinities and NaN are only like
// themselves. It is an error if types or shapes differ.
func Compare(got, want *ir.Tensor) (Difference, error) {
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return Difference{}, fmt.Errorf("it is %s%v; the reference is %s%v", got.Type, got.Shape, want.Type, want.Shape)
	}
	a, err := numbers(got)
	if err != nil {
		return Difference{}, err
	}
	b, err := numbers(want)
	if err != nil {
		return Difference{}, err
	}
	d := Difference{Range: spread(b)}
	for i := range b {
		e := distance(a[i], b[i])
		if e > 0 {
			d.Differ++
		}
		if e > d.Abs {
			d.Abs, d.At, d.Got, d.Want = e, i, a[i], b[i]
		}
	}
	return d, nil
}

func distance(a, b float64) float64 {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	if d := math.Abs(a - b); !math.IsNaN(d) {
		return d
	}
	return math.Inf(1)
}

// spread returns the range of the finite elements, or their magnitude if all are equal.
func spread(list []float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range list {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	switch {
	case hi > lo:
		return hi - lo
	case hi == lo && hi != 0:
		return math.Abs(hi)
	}
	return 1
}

func numbers(t *ir.Tensor) ([]float64, error) {
	out := make([]float64, t.Len())
	if !t.Type.IsFloat() {
		ints, err := t.Ints()
		for i, x := range ints {
			out[i] = float64(x)
		}
		return out, err
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = float(t.Type, b[i*t.Type.Size():])
	}
	return out, nil
}

func float(t ir.DType, b []byte) float64 {
	switch t {
	case ir.F16:
		return ir.F16Float(binary.LittleEndian.Uint16(b))
	case ir.BF16:
		return ir.BF16Float(binary.LittleEndian.Uint16(b))
	case ir.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
