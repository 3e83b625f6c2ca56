package cpptest

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/scalar"
)

// requireAlike compares a run in which denormal numbers are zeros with one that keeps them.
func requireAlike(t testing.TB, name string, flushed, kept *Result) {
	t.Helper()
	require.Equal(t, kept.Status, flushed.Status, "%s: with denormal numbers kept, and without", name)
	for k, x := range flushed.Outputs {
		y := kept.Outputs[k]
		require.Equal(t, y.Shape, x.Shape, "%s: output %d, with denormal numbers kept, and without", name, k)
		if bytes.Equal(x.Data, y.Data) {
			continue
		}
		a, b := WithoutDenormals(x), WithoutDenormals(y)
		require.Equal(t, values(b), values(a), "%s: output %d, with denormal numbers kept, and without: a function relies on them, or the case has some (Denormals)", name, k)
	}
}

// values are elements in a form that equals itself: NaNs of one kind, and no signs of zeros.
func values(x *ir.Tensor) any {
	if !x.Type.IsFloat() {
		return x.Data
	}
	out := make([]uint64, x.Len())
	for i, v := range floats(x) {
		if out[i] = math.Float64bits(v + 0); v != v {
			out[i] = math.Float64bits(math.NaN())
		}
	}
	return out
}

func floats(x *ir.Tensor) []float64 {
	v := scalar.NewVec(x.Type, int(x.Len()))
	elems.View(x.Type, x.Data).Load(v, 0, 1)
	if v.F64 != nil {
		return v.F64
	}
	out := make([]float64, len(v.F32))
	for i, f := range v.F32 {
		out[i] = float64(f)
	}
	return out
}

// WithoutDenormals is a tensor as arithmetic sees it that takes denormal numbers for zeros: as f32, for
// the shorter types, so that f16's own are numbers like others.
func WithoutDenormals(x *ir.Tensor) *ir.Tensor {
	least := 0x1p-126
	switch {
	case !x.Type.IsFloat():
		return x
	case x.Type == ir.F64:
		least = 0x1p-1022
	}
	size := x.Type.Size()
	out := &ir.Tensor{Type: x.Type, Shape: x.Shape, Data: bytes.Clone(x.Data)}
	for i, v := range floats(x) {
		if math.Abs(v) <= least {
			clear(out.Data[i*size : (i+1)*size-1])
			out.Data[(i+1)*size-1] &= 0x80 // the sign
		}
	}
	return out
}
