package run

import (
	"math"
	"math/big"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestMultiplyAdd: a product and an accumulator are rounded once, to the nearest number and to even ones, and denormal numbers are zeros.
func TestMultiplyAdd(t *testing.T) {
	const least, ulp = 0x1p-126, 0x1p-149
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name            string
		x, w, acc, want float32
	}{
		{"exact", 1.5, -2, 4, 1},
		{"a tie, to even", 1, 1, 0x1p24, 0x1p24},
		{"a tie, to even above", 1, 1, 0x1p24 + 2, 0x1p24 + 4},
		{"more than a tie", 1 + 0x1p-7, 1 + 0x1p-7, 0x1p24, 0x1p24 + 2},
		{"a denormal operand", ulp, 0x1p100, 1, 1},
		{"a denormal accumulator", 0, 1, least / 2, 0},
		{"a denormal result", 0x1p-64, 0x1p-63, 0, 0},
		{"a negative denormal result", 0x1p-64, -0x1p-63, 0, float32(math.Copysign(0, -1))},
		{"the least result", 0x1p-63, 0x1p-63, 0, least},
		{"rounded to the least", 0x1p-76, -0x1p-76, least, least},
		{"not rounded to the least", 0x1p-75, -0x1.8p-76, least, 0},
		{"overflow", 0x1p64, 0x1p64, 0, inf},
		{"infinities", inf, 1, -inf, float32(math.NaN())},
		{"zeros", 0, float32(math.Copysign(1, -1)), 0, 0},
		{"negative zeros", 0, -1, float32(math.Copysign(0, -1)), float32(math.Copysign(0, -1))},
	} {
		got := multiplyAdd(c.x, c.w, c.acc, rounded)
		if math.IsNaN(float64(c.want)) {
			assert.True(t, math.IsNaN(float64(got)), c.name)
			continue
		}
		assert.Equal(t, math.Float32bits(c.want), math.Float32bits(got), "%s: %g, want %g", c.name, got, c.want)
	}
}

// TestRounded: sums of numbers of 24 digits are rounded once, wherever these lie.
func TestRounded(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	number := func() float64 {
		return math.Ldexp(float64((1+r.Intn(1<<24-1))*(2*r.Intn(2)-1)), r.Intn(80)-60)
	}
	ties := 0
	for range 200000 {
		x, y := number(), number()
		if r.Intn(2) == 0 { // about half of a unit in the last place
			y = math.Ldexp(float64((1<<23+r.Intn(3))*(2*r.Intn(2)-1)), int(math.Logb(x))-24-23)
		}
		exact := new(big.Float).SetPrec(500).Add(big.NewFloat(x), big.NewFloat(y))
		want, accuracy := exact.Float32()
		if d, _ := new(big.Float).Sub(exact, big.NewFloat(float64(want))).Float64(); accuracy != big.Exact && math.Abs(d) == math.Ldexp(1, int(math.Logb(float64(want)))-24) {
			ties++
		}
		assert.Equal(t, want, rounded(x, y), "%g + %g", x, y)
	}
	assert.Greater(t, ties, 1000)
}

// TestOdd: sums that are not exact become the neighbour towards 0 with the last bit set.
func TestOdd(t *testing.T) {
	const least = 0x1p-126
	for _, c := range []struct {
		name       string
		x, y, want float64
	}{
		{"exact", 1.5, 2, 3.5},
		{"exact, even", 1, 1, 2},
		{"more", 1, 0x1p-40, 1 + 0x1p-23},
		{"less", 1, -0x1p-40, 1 - 0x1p-24},
		{"more than double has", 1, 0x1p-80, 1 + 0x1p-23},
		{"less than double has", 1, -0x1p-80, 1 - 0x1p-24},
		{"negative", -1, -0x1p-80, -1 - 0x1p-23},
		{"odd already", 1 + 0x1p-23, 0x1p-40, 1 + 0x1p-23},
		{"denormal", least / 2, least / 4, 0},
		{"below the least", least, -0x1p-160, 0},
		{"the greatest", math.MaxFloat32, 0x1p100, math.MaxFloat32},
		{"overflow", math.MaxFloat32, 0x1p104, math.Inf(1)},
		{"infinity", math.Inf(-1), 1, math.Inf(-1)},
	} {
		assert.Equal(t, float32(c.want), odd(c.x, c.y), c.name)
	}
	assert.True(t, math.IsNaN(float64(odd(math.Inf(1), math.Inf(-1)))))
	r := rand.New(rand.NewSource(1))
	for range 100000 {
		x, y := float64(float32(r.NormFloat64())), math.Ldexp(r.NormFloat64(), r.Intn(90)-70)
		y = float64(float32(y))
		exact := new(big.Float).SetPrec(500).Add(big.NewFloat(x), big.NewFloat(y))
		short := new(big.Float).SetPrec(24).SetMode(big.ToZero).Set(exact)
		want, _ := short.Float32()
		if short.Cmp(exact) != 0 {
			want = math.Float32frombits(math.Float32bits(want) | 1)
		}
		assert.Equal(t, want, odd(x, y), "%g + %g", x, y)
	}
}
