package scalar

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rules_dnn/gen/ir"
)

// samples are floats of all magnitudes: every stride-th of all bit patterns,
// and the neighbours of points where functions switch their method.
func samples(stride uint32) []float32 {
	var out []float32
	for b := uint64(0); b < 1<<32; b += uint64(stride) {
		out = append(out, math.Float32frombits(uint32(b)))
	}
	edges := []float64{0, 0.4142135624, 0.5, 0.625, math.Ln2 / 2, 0.9375, 1, 1.5, 2, 2.414213562, 3.95, 10, 17, 87.3, 88.72284,
		89.415985, 103.97208, 150, 256, 1600, 4096, 1 << 22, 1 << 23, 1 << 24, 1 << 31, 1 << 32, 1 << 63, math.MaxFloat32,
		0x1p-126, 0x1p-149, 0x1p-25, 0x1p-13, math.Pi / 4, math.Pi / 2, math.Pi, 355, 16367173 * 0x1p72, 65504, 65519, 65520}
	for _, e := range edges {
		b := math.Float32bits(float32(e))
		for d := uint32(0); d < 8; d++ {
			out = append(out, math.Float32frombits(b+d), -math.Float32frombits(b+d))
			if b > d {
				out = append(out, math.Float32frombits(b-d), -math.Float32frombits(b-d))
			}
		}
	}
	for x := float32(-120); x < 120; x += 0.0173 {
		out = append(out, x, x/16, x/256, 1+x/4096, x*1000)
	}
	return append(out, inf32, -inf32, qnan)
}

// ulps is the distance of got from want in units of want's last place as a float32.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case w != w:
		if got != got {
			return 0
		}
		return math.Inf(1)
	case got == w:
		if got == 0 && math.Signbit(float64(got)) != math.Signbit(want) {
			return math.Inf(1)
		}
		if math.IsInf(want, 0) || math.IsInf(float64(w), 0) {
			return 0
		}
	case math.IsInf(float64(w), 0):
		w = float32(math.Copysign(math.MaxFloat32, want))
		if math.IsInf(float64(got), 0) {
			return math.Inf(1)
		}
	}
	if math.IsInf(float64(got), 0) {
		got, want = float32(math.Copysign(math.MaxFloat32, float64(got))), want-math.Copysign(0x1p104, want)
	}
	_, exp := math.Frexp(math.Abs(float64(w)))
	unit := math.Ldexp(1, max(exp-24, -149))
	return math.Abs(float64(got)-want) / unit
}

func TestFloat32WithinStatedULP(t *testing.T) {
	xs := samples(4001)
	if testing.Short() {
		xs = samples(400009)
	}
	for _, row := range Table() {
		if row.ULP == 0 || row.Arity != 1 {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			got := make([]float32, len(xs))
			row.float.f32(&Vec{F32: got}, []*Vec{{F32: xs}})
			checkULP(t, row, xs, got)
		})
	}
}

// checkULP compares float32 results with package math's, or where it has none with the row's float64 evaluation.
func checkULP(t *testing.T, row *Row, xs, got []float32) {
	t.Helper()
	in, want := make([]float64, len(xs)), make([]float64, len(xs))
	for i, x := range xs {
		in[i] = float64(x)
	}
	if f := library[row.Name]; f != nil {
		map1(f)(&Vec{F64: want}, []*Vec{{F64: in}})
	} else {
		row.float.f64(&Vec{F64: want}, []*Vec{{F64: in}})
	}
	worst, at := 0.0, 0
	for i := range xs {
		if e := ulps(got[i], want[i]); e > worst {
			worst, at = e, i
		}
	}
	t.Logf("%.3f ULP at %x (%g): %g, not %g", worst, xs[at], xs[at], got[at], want[at])
	assert.LessOrEqual(t, worst, row.ULP, "at %x (%g): %g, not %g", xs[at], xs[at], got[at], want[at])
}

// powPairs are bases and exponents, those of IEEE's special cases included.
func powPairs() (xs, ys []float32) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -2.5, 1e-40, -1e-40, 1e38, -1e38,
		1 << 24, 1<<24 - 1, 1 << 25, inf32, -inf32, qnan, 0.99999994, 1.0000001, 100, 149, -149, 126.7}
	for _, x := range special {
		for _, y := range special {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	seed := uint32(1)
	next := func() float32 { seed = seed*1664525 + 1013904223; return float32(seed>>8) / (1 << 24) }
	for range 100000 {
		xs, ys = append(xs, float32(math.Exp(float64(next()*20-10)))), append(ys, next()*40-20)
	}
	return xs, ys
}

func TestPowWithinStatedULP(t *testing.T) {
	xs, ys := powPairs()
	worst := 0.0
	for i := range xs {
		want := math.Pow(float64(xs[i]), float64(ys[i]))
		e := ulps(pow32(xs[i], ys[i]), want)
		require.LessOrEqual(t, e, Lookup("pow").ULP, "pow(%g, %g) = %g, not %g", xs[i], ys[i], pow32(xs[i], ys[i]), want)
		worst = max(worst, e)
	}
	t.Logf("%.3f ULP", worst)
}

func TestExactFunctionsAgreeWithPackageMath(t *testing.T) {
	for _, name := range []string{"floor", "ceil", "round", "trunc", "sqrt", "abs", "sign", "neg", "reciprocal"} {
		row := Lookup(name)
		for _, x := range samples(100003) {
			got, want := Vec{F32: make([]float32, 1)}, Vec{F64: make([]float64, 1)}
			row.float.f32(&got, []*Vec{{F32: []float32{x}}})
			row.float.f64(&want, []*Vec{{F64: []float64{float64(x)}}})
			w := float32(want.F64[0])
			if w == w || got.F32[0] == got.F32[0] {
				require.Equal(t, math.Float32bits(w), math.Float32bits(got.F32[0]), "%s(%g)", name, x)
			}
		}
	}
}

func TestEveryRowIsComplete(t *testing.T) {
	all := []ir.DType{ir.Bool, ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.BF16, ir.F32, ir.F64}
	for _, row := range Table() {
		for _, of := range all {
			if !row.Kinds.Has(of) || (row.Result == Reinterpret && half(of)) {
				continue
			}
			args := make([]ir.DType, row.Arity)
			for i := range args {
				args[i] = of
			}
			result := of
			switch row.Result {
			case Predicate:
				result = ir.Bool
			case Choice:
				args[0] = ir.Bool
			}
			f, err := Bind(row.Name, result, args)
			require.NoError(t, err)
			require.NotNil(t, f, "%s of %s", row.Name, of)
			vs := make([]*Vec, row.Arity)
			for i := range vs {
				vs[i] = NewVec(args[i], 3)
			}
			f(NewVec(result, 3), vs)
			assert.NotEmpty(t, row.C(result, []string{"a", "b", "c"}[:row.Arity]))
		}
	}
}
