package scalar

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// library are package math's functions: near enough, and fast.
var library = map[string]func(float64) float64{
	"exp": math.Exp, "expm1": math.Expm1, "log": math.Log, "log1p": math.Log1p, "erf": math.Erf,
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
}

// near reports whether two float64s differ by little more than package math's errors, and are alike in sign and kind.
func near(a, b float64) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return a == b && math.Signbit(a) == math.Signbit(b) || math.Abs(a-b) <= 1e-12*math.Abs(b) || math.Abs(a-b) < 0x1p-1073
}

// doubles are numbers of all magnitudes, and those where functions change; not where package math is wrong,
// which are the rests of multiples of pi, and what is near the largest float64.
func doubles() []float64 {
	out := []float64{0, 1, 2, 0.5, 0.7, math.Sqrt2 / 2, math.Pi / 4, 6, 5.9999, 40, 709.7, 745.1332191019411, 745.1332191019412, 750, 751, tiny, tiny * 0.99, least, least * 0.99, 1 + 0x1p-52, 1 - 0x1p-53, 0x1p-1022, 1e300, math.MaxFloat64, math.Inf(1), math.NaN()}
	seed := uint64(1)
	for range 400 {
		seed = seed*6364136223846793005 + 1442695040888963407
		out = append(out, math.Float64frombits(seed&^(1<<63)), float64(seed>>11)/0x1p50, float64(seed>>11)/0x1p53)
	}
	for _, x := range out {
		out = append(out, -x)
	}
	return out
}

func TestFloat64(t *testing.T) {
	for name, f := range library {
		in := doubles()
		out := make([]float64, len(in))
		Lookup(name).float.f64(&Vec{F64: out}, []*Vec{{F64: in}})
		for i, x := range in {
			assert.True(t, near(out[i], f(x)), "%s(%v) = %v, package math has %v", name, x, out[i], f(x))
		}
	}
}

func TestFloat64Pow(t *testing.T) {
	in := append([]float64{3, 1.5, 4, 10, 1023, 1024, 1074, 0.3333333333333333}, doubles()[:70]...)
	for _, a := range in {
		for _, x := range []float64{a, -a} {
			for _, b := range in {
				for _, y := range []float64{b, -b} {
					require.True(t, near(pow64(x, y), math.Pow(x, y)), "pow(%v, %v) = %v, package math has %v", x, y, pow64(x, y), math.Pow(x, y))
				}
			}
		}
	}
}

// TestFloat64Rounding has values that are known to more digits than a float64 has.
func TestFloat64Rounding(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"exp(1)", exp64(1), math.E}, {"log(2)", log64(2), math.Ln2}, {"log(10)", log64(10), math.Ln10}, {"acos(-1)", acos64(-1), math.Pi},
		{"4 atan(1)", 4 * atan64(1), math.Pi}, {"2^0.5", pow64(2, 0.5), math.Sqrt2}, {"10^22", pow64(10, 22), 1e22}, {"10^-5", pow64(10, -5), 1e-5},
		{"3^33", pow64(3, 33), 5559060566555523}, {"2^-1074", pow64(2, -1074), 0x1p-1074}, {"(1+2^-52)^(2^53)", pow64(1+0x1p-52, 0x1p53), 7.389056098930649}, {"(-1)^(2^53-1)", pow64(-1, 0x1p53-1), -1}, {"sin(pi)", sin64(math.Pi), 1.2246467991473532e-16},
		{"cos(1e22)", cos64(1e22), 0.523214785395139}, {"tanh(0.5)", tanh64(0.5), 0.46211715726000975}, {"erf(0.5)", erf64(0.5), 0.5204998778130465},
	} {
		assert.Equal(t, c.want, c.got, c.name)
	}
}
