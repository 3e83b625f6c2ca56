package scalar

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// value evaluates a formula in double precision.
func (f *Formula) value(t *testing.T, args []float64, y float64) float64 {
	switch {
	case f.Fn == "" && f.Arg == Number:
		return f.Num
	case f.Fn == "" && f.Arg == Result:
		return y
	case f.Fn == "":
		return args[f.Arg]
	}
	in := make([]float64, len(f.Args))
	for i, a := range f.Args {
		in[i] = a.value(t, args, y)
	}
	return apply64(t, f.Fn, in)
}

// apply64 is a function of doubles; a bool is 0 or 1.
func apply64(t *testing.T, name string, args []float64) float64 {
	row, result := Lookup(name), ir.F64
	if row.Result == Predicate {
		result = ir.Bool
	}
	types, vecs := make([]ir.DType, len(args)), make([]*Vec, len(args))
	for i, x := range args {
		types[i], vecs[i] = ir.F64, &Vec{F64: []float64{x}}
		if row.Result == Choice && i == 0 {
			types[i], vecs[i] = ir.Bool, &Vec{I64: []int64{int64(x)}}
		}
	}
	fn, err := Bind(name, result, types)
	require.NoError(t, err)
	out := NewVec(result, 1)
	fn(out, vecs)
	if result == ir.Bool {
		return float64(out.I64[0])
	}
	return out.F64[0]
}

// TestSlopes compares every slope with central differences: all functions of floats have one.
func TestSlopes(t *testing.T) {
	points := map[string][]float64{"acosh": {1.3, 2.7, 5}, "pow": {0.4, 1.7, 2.5}}
	for _, row := range Table() {
		if row.Kinds&Floats == 0 || row.Result == Predicate || row.Result == Reinterpret {
			_, err := Slopes(row.Name)
			require.ErrorContains(t, err, "has no derivative", row.Name)
			continue
		}
		formulas, err := Slopes(row.Name)
		require.NoError(t, err)
		require.Len(t, formulas, row.Arity, row.Name)
		xs := points[row.Name]
		if xs == nil {
			xs = []float64{0.31, 0.77, -0.43}
			if row.Name == "log" || row.Name == "sqrt" || row.Name == "rsqrt" {
				xs = []float64{0.31, 0.77, 3.1}
			}
		}
		for k := range xs {
			args := make([]float64, row.Arity)
			for i := range args {
				args[i] = xs[(k+i)%len(xs)]
			}
			if row.Result == Choice {
				args[0] = float64(k % 2)
			}
			checkSlopes(t, row, formulas, args)
		}
	}
}

func checkSlopes(t *testing.T, row *Row, formulas []*Formula, args []float64) {
	y := apply64(t, row.Name, args)
	const h = 1e-5
	for i, f := range formulas {
		if row.Result == Choice && i == 0 {
			continue
		}
		at := func(d float64) float64 {
			moved := append([]float64{}, args...)
			moved[i] += d
			return apply64(t, row.Name, moved)
		}
		want := (at(h) - at(-h)) / (2 * h)
		got := f.value(t, args, y)
		assert.InDelta(t, want, got, 1e-6*max(1, math.Abs(want)), "%s, slope %d at %v", row.Name, i, args)
	}
}

func TestSlopeText(t *testing.T) {
	for _, s := range []string{"", "q", "add(a", "add(a)", "nothing(a)", "add(a, b"} {
		_, _, err := parseFormula(s)
		assert.Error(t, err, s)
	}
}
