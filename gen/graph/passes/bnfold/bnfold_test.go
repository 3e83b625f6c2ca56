package bnfold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

const params = `
  const @s f32[2] = {2, 4}
  const @b f32[2] = {1, -1}
  const @m f32[2] = {3, 0}
  const @v f32[2] = {4, 1}
`

const norm = `BatchNormalization.15(%c, @s, @b, @m, @v) {epsilon = f32 0} "bn"`

func parse(t *testing.T, text string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(strings.NewReader(text), nil)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(g))
	return g
}

func print(t *testing.T, g *ir.Graph) string {
	t.Helper()
	require.NoError(t, ir.Verify(g))
	var b strings.Builder
	require.NoError(t, ir.Print(&b, g))
	return b.String()
}

// run computes the outputs for inputs of a fixed pattern, a batch of 3; none where
// the operator table lacks an operator.
func run(t *testing.T, g *ir.Graph) [][]float64 {
	t.Helper()
	for _, n := range g.Nodes {
		if ops.Lookup(n.Op) == nil {
			t.Logf("%s is not run: the operator is not defined", n.Label())
			return nil
		}
	}
	inputs := map[string]*ir.Tensor{}
	for _, v := range g.Inputs {
		dims := make([]int64, len(v.Shape))
		for i, d := range v.Shape {
			var err error
			dims[i], err = d.Eval(map[string]int64{"N": 3})
			require.NoError(t, err)
		}
		n, err := ir.Len(dims)
		require.NoError(t, err)
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i*7%13)/8 - 0.5
		}
		inputs[v.Name] = edit.FloatTensor(v.Type, xs, dims...)
	}
	results, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	out := make([][]float64, len(results))
	for i, r := range results {
		out[i], err = edit.Floats(r)
		require.NoError(t, err)
	}
	return out
}

// TestFold states graphs before and after, which must compute the same.
func TestFold(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"conv without bias", params + `
  const @w f32[2, 1, 1, 1] = {10, 20}
  input %x f32[N, 1, 8, 8]
  %c f32[N, 2, 8, 8] = Conv.11(%x, @w) {pads = [0, 0, 0, 0]} "conv"
  %y f32[N, 2, 8, 8] = ` + norm + `
  output %y
`, `
  const @c.weight f32[2, 1, 1, 1] = {10, 80}
  const @c.bias f32[2] = {-2, -1}
  input %x f32[N, 1, 8, 8]
  %y f32[N, 2, 8, 8] = Conv.11(%x, @c.weight, @c.bias) {pads = [0, 0, 0, 0]} "conv" from ["conv", "bn"]
  output %y
`},
		{"conv with bias, weights used twice", params + `
  const @w f32[2, 1, 1, 1] = {10, 20}
  const @wb f32[2] = {5, 7}
  input %x f32[N, 1, 8, 8]
  %c f32[N, 2, 8, 8] = Conv.11(%x, @w, @wb) "conv"
  %d f32[N, 2, 8, 8] = Conv.11(%x, @w) "other"
  %y f32[N, 2, 8, 8] = ` + norm + `
  output %y
  output %d
`, `
  const @w f32[2, 1, 1, 1] = {10, 20}
  const @c.weight f32[2, 1, 1, 1] = {10, 80}
  const @c.bias f32[2] = {3, 27}
  input %x f32[N, 1, 8, 8]
  %y f32[N, 2, 8, 8] = Conv.11(%x, @c.weight, @c.bias) "conv" from ["conv", "bn"]
  %d f32[N, 2, 8, 8] = Conv.11(%x, @w) "other"
  output %y
  output %d
`},
		{"transposed conv in groups", params + `
  const @w f32[4, 1, 1, 1] = {1, 2, 3, 4}
  input %x f32[N, 4, 8, 8]
  %c f32[N, 2, 8, 8] = ConvTranspose.11(%x, @w) {group = 2} "up"
  %y f32[N, 2, 8, 8] = ` + norm + `
  output %y
`, `
  const @c.weight f32[4, 1, 1, 1] = {1, 2, 12, 16}
  const @c.bias f32[2] = {-2, -1}
  input %x f32[N, 4, 8, 8]
  %y f32[N, 2, 8, 8] = ConvTranspose.11(%x, @c.weight, @c.bias) {group = 2} "up" from ["up", "bn"]
  output %y
`},
		{"convolution at offsets", params + `
  const @w f32[2, 1, 1, 1] = {1, 2}
  input %x f32[N, 1, 3, 3]
  input %o f32[N, 2, 3, 3]
  %c f32[N, 2, 3, 3] = DeformConv.19(%x, @w, %o) "deform"
  %y f32[N, 2, 3, 3] = ` + norm + `
  output %y
`, `
  const @c.weight f32[2, 1, 1, 1] = {1, 8}
  const @c.bias f32[2] = {-2, -1}
  input %x f32[N, 1, 3, 3]
  input %o f32[N, 2, 3, 3]
  %y f32[N, 2, 3, 3] = DeformConv.19(%x, @c.weight, %o, @c.bias) "deform" from ["deform", "bn"]
  output %y
`},
		{"gemm", params + `
  const @w f32[3, 2] = {1, 2, 3, 4, 5, 6}
  const @wb f32[] = {10}
  input %x f32[N, 3]
  %c f32[N, 2] = Gemm.13(%x, @w, @wb) {alpha = f32 2, beta = f32 0.5} "fc"
  %y f32[N, 2] = ` + norm + `
  output %y
`, `
  const @c.weight f32[3, 2] = {1, 8, 3, 16, 5, 24}
  const @c.bias f32[2] = {3, 19}
  input %x f32[N, 3]
  %y f32[N, 2] = Gemm.13(%x, @c.weight, @c.bias) {alpha = f32 2, beta = f32 1} "fc" from ["fc", "bn"]
  output %y
`},
		{"gemm with transposed weights", params + `
  const @w f32[2, 3] = {1, 2, 3, 4, 5, 6}
  input %x f32[N, 3]
  %c f32[N, 2] = Gemm.13(%x, @w) {transB = 1} "fc"
  %y f32[N, 2] = ` + norm + `
  output %y
`, `
  const @c.weight f32[2, 3] = {1, 2, 3, 16, 20, 24}
  const @c.bias f32[2] = {-2, -1}
  input %x f32[N, 3]
  %y f32[N, 2] = Gemm.13(%x, @c.weight, @c.bias) {transB = 1} "fc" from ["fc", "bn"]
  output %y
`},
		{"several uses", params + `
  const @w f32[2, 1, 1, 1] = {10, 20}
  input %x f32[N, 1, 8, 8]
  %c f32[N, 2, 8, 8] = Conv.11(%x, @w) "conv"
  %y f32[N, 2, 8, 8] = ` + norm + `
  output %c
  output %y
`, `
  const @w f32[2, 1, 1, 1] = {10, 20}
  const @y.scale f32[2, 1, 1] = {1, 4}
  const @y.shift f32[2, 1, 1] = {-2, -1}
  input %x f32[N, 1, 8, 8]
  %c f32[N, 2, 8, 8] = Conv.11(%x, @w) "conv"
  %y.scaled f32[N, 2, 8, 8] = Mul.14(%c, @y.scale) "bn"
  %y f32[N, 2, 8, 8] = Add.14(%y.scaled, @y.shift) "bn"
  output %c
  output %y
`},
		{"an input", params + `
  input %c f32[N, 2]
  %y f32[N, 2] = ` + norm + `
  output %y
`, `
  const @y.scale f32[2] = {1, 4}
  const @y.shift f32[2] = {-2, -1}
  input %c f32[N, 2]
  %y.scaled f32[N, 2] = Mul.14(%c, @y.scale) "bn"
  %y f32[N, 2] = Add.14(%y.scaled, @y.shift) "bn"
  output %y
`},
		{"weights that are no constants", params + `
  input %x f32[N, 1, 8, 8]
  input %w f32[2, 1, 1, 1]
  %c f32[N, 2, 8, 8] = Conv.11(%x, %w) "conv"
  %y f32[N, 2, 8, 8] = ` + norm + `
  output %y
`, `
  const @y.scale f32[2, 1, 1] = {1, 4}
  const @y.shift f32[2, 1, 1] = {-2, -1}
  input %x f32[N, 1, 8, 8]
  input %w f32[2, 1, 1, 1]
  %c f32[N, 2, 8, 8] = Conv.11(%x, %w) "conv"
  %y.scaled f32[N, 2, 8, 8] = Mul.14(%c, @y.scale) "bn"
  %y f32[N, 2, 8, 8] = Add.14(%y.scaled, @y.shift) "bn"
  output %y
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := parse(t, "graph \"g\" opset 17 {\n  symbol N 1..64"+c.before+"}\n")
			want := run(t, g)
			changed, err := Run(g)
			require.NoError(t, err)
			require.True(t, changed)
			require.Equal(t, print(t, parse(t, "graph \"g\" opset 17 {\n  symbol N 1..64"+c.after+"}\n")), print(t, g))
			got := run(t, g)
			for i := range want {
				require.InDeltaSlice(t, want[i], got[i], 1e-4)
			}
		})
	}
}

// TestLeave states graphs that stay as they are.
func TestLeave(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"statistics of a batch", params + `
  input %c f32[N, 2]
  %y f32[N, 2], _, _ = BatchNormalization.15(%c, @s, @b, @m, @v) {training_mode = 1} "bn"
  output %y
`},
		{"results of training that nothing uses, of an old definition", params + `
  input %c f32[N, 2]
  %y f32[N, 2], _, _, _, _ = BatchNormalization.9(%c, @s, @b, @m, @v) "bn"
  output %y
`},
		{"statistics that are operands", params + `
  input %c f32[N, 2]
  input %var f32[2]
  %y f32[N, 2] = BatchNormalization.15(%c, @s, @b, @m, %var) "bn"
  output %y
`},
		{"statistics by element", params + `
  input %c f32[N, 2]
  %y f32[N, 2] = BatchNormalization.7(%c, @s, @b, @m, @v) {spatial = 0} "bn"
  output %y
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "graph \"g\" opset 17 {\n  symbol N 1..64" + c.text + "}\n"
			g := parse(t, text)
			changed, err := Run(g)
			require.NoError(t, err)
			require.False(t, changed)
			require.Equal(t, print(t, parse(t, text)), print(t, g))
		})
	}
}
