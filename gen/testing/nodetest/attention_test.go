package nodetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// wave fills a tensor with numbers of no order.
func wave(step float64, shape ...int64) *ir.Tensor {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	xs := make([]float32, n)
	for i := range xs {
		xs[i] = float32(math.Sin(step * float64(i+1)))
	}
	return of(ir.F32, xs, shape...)
}

// allowed is a mask of queries and keys.
func allowed(queries, keys int64, f func(query, key int64) bool) *ir.Tensor {
	bits := make([]bool, 0, queries*keys)
	for i := range queries {
		for j := range keys {
			bits = append(bits, f(i, j))
		}
	}
	return of(ir.Bool, bits, queries, keys)
}

// TestAttentionMasks: bounds of positions are masks.
func TestAttentionMasks(t *testing.T) {
	q, k, v := wave(0.7, 1, 2, 4, 3), wave(1.3, 1, 1, 6, 3), wave(2.1, 1, 1, 6, 5)
	pastK, pastV := wave(0.9, 1, 1, 2, 3), wave(1.9, 1, 1, 2, 5)
	valid := of(ir.I64, []int64{5}, 1)
	left, right := ir.Attrs{"left_window_size": int64(1)}, ir.Attrs{"left_window_size": int64(0), "right_window_size": int64(2)}
	causal := ir.Attrs{"is_causal": int64(1), "right_window_size": int64(3)}
	for _, c := range []struct {
		name    string
		attrs   ir.Attrs
		past    bool
		valid   *ir.Tensor
		allowed func(i, j int64) bool
	}{
		{"nothing", nil, false, nil, func(_, _ int64) bool { return true }},
		{"left", left, false, nil, func(i, j int64) bool { return j >= i-1 }},
		{"right", right, false, nil, func(i, j int64) bool { return j >= i && j <= i+2 }},
		{"causal", causal, false, nil, func(i, j int64) bool { return j <= i }},
		{"left, behind a cache", left, true, nil, func(i, j int64) bool { return j >= i+1 }},
		{"causal, behind a cache", causal, true, nil, func(i, j int64) bool { return j <= i+2 }},
		{"padding", nil, false, valid, func(_, j int64) bool { return j < 5 }},
		{"left, before padding", left, false, valid, func(i, j int64) bool { return j < 5 && j >= i }},
		{"right, before padding", right, false, valid, func(i, j int64) bool { return j < 5 && j >= i+1 && j <= i+3 }},
		{"causal, before padding", causal, false, valid, func(i, j int64) bool { return j <= i+1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, keys := []*ir.Tensor{q, k, v, nil}, int64(6)
			if c.past {
				in, keys = append(in, pastK, pastV), 8
			}
			masked := append([]*ir.Tensor{}, in...)
			masked[3] = allowed(4, keys, c.allowed)
			want := evaluate(t, "Attention", nil, masked...)[0]
			if c.valid != nil {
				in = append(in, nil, nil, c.valid)
			}
			got := evaluate(t, "Attention", c.attrs, in...)[0]
			require.Equal(t, decoded[float32](t, want), decoded[float32](t, got))
		})
	}
}

// TestAttentionToNothing: a query that attends to no key gives zeros, by masks of bools, of
// numbers, by a short mask and by padding.
func TestAttentionToNothing(t *testing.T) {
	q, k := wave(0.7, 1, 1, 2, 4), wave(1.3, 1, 1, 3, 4)
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		name string
		in   []*ir.Tensor
	}{
		{"bools", []*ir.Tensor{q, k, k, of(ir.Bool, []bool{false, false, false, true, false, true}, 2, 3)}},
		{"numbers", []*ir.Tensor{q, k, k, of(ir.F32, []float32{inf, inf, inf, 0, 1, 2}, 2, 3)}},
		{"short", []*ir.Tensor{q, k, k, of(ir.Bool, []bool{false, true}, 2, 1)}},
		{"padding", []*ir.Tensor{q, k, k, allowed(2, 3, func(i, j int64) bool { return i == 1 || j == 2 }), nil, nil, of(ir.I64, []int64{2}, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := decoded[float32](t, evaluate(t, "Attention", nil, c.in...)[0])
			require.Equal(t, []float32{0, 0, 0, 0}, y[:4])
			for _, x := range y[4:] {
				require.NotZero(t, x)
				require.False(t, math.IsNaN(float64(x)))
			}
		})
	}
}
