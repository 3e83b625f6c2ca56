package run

import (
	"math"
	"math/big"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestFMAF16 compares products and sums of f16 with exact ones that are rounded once.
func TestFMAF16(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name          string
		x, y, z, want float32
	}{
		{"exact", 1.5, -2, 4, 1},
		{"a tie, to even", 1, 1, 2048, 2048},
		{"a tie, to even above", 1, 1, 2050, 2052},
		{"more than a tie", 1 + 0x1p-10, 1, 2048, 2050},
		{"hardly more than a tie", 0x1p-12, 0x1p-12, 1 + 0x1p-10, 1 + 0x1p-10},
		{"a tie before a tiny number", 1.5, 0x1p-10, 1, 1 + 0x1p-9},
		{"the least", 0x1p-12, 0x1p-12, 0, 0x1p-24},
		{"half of the least", 0x1p-12, 0x1p-13, 0, 0},
		{"more than half of the least", 0x1.8p-12, 0x1p-13, 0, 0x1p-24},
		{"overflow", 256, 256, 0, inf},
		{"the greatest", 65504, 1, 15, 65504},
		{"half a unit beyond the greatest", 65504, 1, 16, inf},
		{"infinities", inf, 1, -inf, float32(math.NaN())},
	} {
		got := fmaF16(c.x, c.y, c.z)
		if c.want != c.want {
			assert.True(t, got != got, c.name)
			continue
		}
		assert.Equal(t, c.want, got, c.name)
	}
	r := rand.New(rand.NewSource(1))
	number := func() float64 { return ir.F16Float(uint16(r.Intn(1<<15)&^(1<<14) | r.Intn(2)<<15)) }
	for range 200000 {
		x, y, z := number(), number(), number()
		exact := new(big.Float).SetPrec(200).Mul(big.NewFloat(x), big.NewFloat(y))
		exact.Add(exact, big.NewFloat(z))
		if exact.Sign() == 0 {
			continue
		}
		// In units of the last place: of a normal number, or 2^-24.
		unit := max(exact.MantExp(nil)-11, -24)
		units := new(big.Float).SetMantExp(exact, -unit)
		low, _ := units.Int64()
		frac, _ := new(big.Float).Sub(units, big.NewFloat(float64(low))).Float64()
		if math.Abs(frac) > 0.5 || math.Abs(frac) == 0.5 && low%2 != 0 {
			low += int64(exact.Sign())
		}
		require.Equal(t, float32(math.Ldexp(float64(low), unit)), fmaF16(float32(x), float32(y), float32(z)), "%g * %g + %g", x, y, z)
	}
}
