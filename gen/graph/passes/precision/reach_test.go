package precision

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
)

// TestFar: what is known to leave the range stays f32, by samples or by bounds, and what reads it, up to where numbers are of moderate size
// again; contractions, too, which would else read it in 16 bits.
func TestFar(t *testing.T) {
	const product = `
  const @v f32[2, 2] = {1e-3, 0, 0, 1e-3}
  const @w f32[4, 2] = {100, 1, 100, 2, 100, 3, 100, 4}
  input %x f32[1, 4]
  %a ?[*] = MatMul.13(%x, @w) "product"
  %b ?[*] = MatMul.13(%a, @v) "second"
  %y ?[*] = Tanh.13(%b) "bounded"
  output %y`
	reaches := func(most string) string {
		return `"a" reaches ` + most + ` on the calibration's inputs; the maximum of f16 is 65504`
	}
	for _, c := range []struct {
		name, graph string
		x           []float64 // of the sample; nil: there is none
		kept, far   []string
		half        []string // values of 16 bits that there are
	}{
		{"samples leave the range", product, []float64{1000, 1000, 1000, 1000},
			[]string{`MatMul "product": ` + reaches("4e+05"), `MatMul "second": it reads "a", which stays f32: ` + reaches("4e+05")},
			[]string{`MatMul "product": ` + reaches("4e+05")}, []string{"b.f16", "y.f16"}},
		{"samples come near its end", product, []float64{100, 100, 100, 100},
			[]string{`MatMul "product": ` + reaches("4e+04") + `, and other inputs may have numbers 2 times as large`,
				`MatMul "second": it reads "a", which stays f32: ` + reaches("4e+04") + `, and other inputs may have numbers 2 times as large`},
			[]string{`MatMul "product": ` + reaches("4e+04") + `, and other inputs may have numbers 2 times as large`}, []string{"b.f16", "y.f16"}},
		{"samples stay within", product, []float64{10, 10, 10, 10}, nil, nil, []string{"a.f16", "b.f16", "y.f16"}},
		{"no samples", product, nil, nil, nil, []string{"a.f16", "b.f16", "y.f16"}},
		{"an input", `
  const @w f32[4, 2] = {1e-3, 0, 0, 0, 0, 0, 0, 1e-3}
  input %x f32[1, 4]
  %a ?[*] = MatMul.13(%x, @w) "product"
  %y ?[*] = Relu.14(%a) "relu"
  output %y`, []float64{100000, 1, 2, 3},
			[]string{`input "x": "x" reaches 1e+05 on the calibration's inputs; the maximum of f16 is 65504`, `MatMul "product": it reads "x", which stays f32: "x" reaches 1e+05 on the calibration's inputs; the maximum of f16 is 65504`},
			[]string{`input "x": "x" reaches 1e+05 on the calibration's inputs; the maximum of f16 is 65504`}, []string{"a.f16", "y.f16"}},
		{"bounds", `
  const @lo f32[] = {-40000}
  const @hi f32[] = {40000}
  const @w f32[4, 2] = {1, 0, 0, 0, 0, 0, 0, 1}
  input %x f32[1, 4]
  %c ?[*] = Clip.13(%x, @lo, @hi) "clip"
  %a ?[*] = Add.14(%c, %c) "sum"
  %b ?[*] = MatMul.13(%a, @w) "product"
  %y ?[*] = Tanh.13(%b) "bounded"
  output %y`, nil,
			[]string{`Add "sum": "a" may have numbers from -8e+04 to 8e+04; the maximum of f16 is 65504`,
				`MatMul "product": it reads "a", which stays f32: "a" may have numbers from -8e+04 to 8e+04; the maximum of f16 is 65504`,
				`Tanh "bounded": it is computed with "b", which stays f32`},
			[]string{`Add "sum": "a" may have numbers from -8e+04 to 8e+04; the maximum of f16 is 65504`}, []string{"c.f16"}},
		{"a spectrum", `
  const @w f32[4, 2] = {1, 0, 0, 0, 0, 0, 0, 1}
  const @eps f32[] = {1e-3}
  const @v f32[2, 2] = {1, 0, 0, 1}
  input %x f32[1, 4]
  %q ?[*] = Mul.14(%x, %x) "power"
  %a ?[*] = MatMul.13(%q, @w) "mel"
  %e ?[*] = Add.14(%a, @eps) "eps"
  %l ?[*] = Log.13(%e) "log"
  %y ?[*] = MatMul.13(%l, @v) "next"
  output %y`, nil,
			[]string{`Mul "power": squares may leave the range of 16 bits even if the operand does not`,
				`MatMul "mel": it reads "q", which stays f32: squares of numbers of unknown size`,
				`Add "eps": it is computed with "a", which stays f32`, `Log "log": it is computed with "e", which stays f32`}, nil, []string{"y.f16"}},
		{"a variance that divides", `
  input %x f32[1, 4]
  input %z f32[1, 4]
  %q ?[*] = Mul.14(%x, %x) "power"
  %m ?[*] = ReduceMean.13(%q) {axes = [1]} "mean"
  %d ?[*] = Div.14(%x, %m) "divide"
  %s ?[*] = Add.14(%d, %z) "sum"
  %t ?[*] = Sigmoid.13(%s) "bounded"
  %y ?[*] = Neg.13(%t) "negative"
  output %y`, nil,
			[]string{`Mul "power": squares may leave the range of 16 bits even if the operand does not`, `ReduceMean "mean": it is computed with "q", which stays f32`,
				`Div "divide": it reads "m", which stays f32: squares of numbers of unknown size`, `Add "sum": it is computed with "d", which stays f32`,
				`Sigmoid "bounded": it is computed with "s", which stays f32`}, nil, []string{"y.f16"}},
		{"sums in place", `
  const @i i64[1, 4] = {0, 0, 1, 1}
  input %x f32[1, 4]
  %r ?[*] = Relu.14(%x) "relu"
  %y ?[*] = ScatterElements.18(%r, @i, %r) {axis = 1, reduction = "add"} "scatter"
  output %y`, nil,
			[]string{`ScatterElements "scatter": it adds to stored results, and sums in 16 bits would lose digits or leave the range`}, nil, []string{"r.f16"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := parse(t, c.graph)
			var inputs []samples.Input
			if c.x != nil {
				inputs = []samples.Input{{"x": edit.FloatTensor(ir.F32, c.x, 1, 4)}}
			}
			r, err := Run(g, ir.F16, inputs)
			require.NoError(t, err)
			assert.Equal(t, c.kept, why(r))
			assert.Equal(t, c.far, why(&Report{Kept: r.Far}))
			all := text(t, g)
			for _, v := range c.half {
				assert.Contains(t, all, "%"+v+" f16[")
			}
		})
	}
	// bf16 ends where f32 does.
	r, err := Run(parse(t, product), ir.BF16, []samples.Input{{"x": edit.FloatTensor(ir.F32, []float64{1e10, 1, 1, 1}, 1, 4)}})
	require.NoError(t, err)
	assert.Empty(t, r.Far)
	assert.Empty(t, r.Kept)
}
