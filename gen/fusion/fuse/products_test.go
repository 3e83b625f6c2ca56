package fuse

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
)

// TestProductInParts: a product of few results with long sums is cut into as many parts as are estimated to take the least, and what follows it joins
// them.
func TestProductInParts(t *testing.T) {
	const product = `
  input %x f32[4, 1024]
  input %w f32[1024, 8]
  input %z f32[4, 8]
  %s ?[*] = MatMul.13(%x, %w)
  %y ?[*] = Add.14(%s, %z)
  output %y
`
	const conv = `
  input %x f32[1, 192, 4, 4]
  input %w f32[8, 192, 3, 3]
  %y ?[*] = Conv.11(%x, %w) {pads = [1, 1, 1, 1]}
  output %y
`
	// by sums estimates what a kernel's longest sum takes, and launches another kernel in a time.
	by := func(launch float64) prices {
		took := func(b *block.Block) float64 {
			n, _ := points(b.Stage.Reduce).Const()
			return launch + float64(n)
		}
		return prices{alone: took, shared: took}
	}
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string
		parts      string // the shape of the first block's results
	}{
		{"launches that take nothing", product, Options{SumResults: 32, Estimator: by(0)}, []string{"MatMul+Add", "MatMul+Add"}, "[16 4 8]"},
		{"a launch that takes what is gained", product, Options{SumResults: 32, Estimator: by(950)}, []string{"MatMul+Add"}, "[4 8]"},
		{"many results", product, Options{SumResults: 31, Estimator: by(0)}, []string{"MatMul+Add"}, "[4 8]"},
		{"no device", product, Options{Estimator: by(0)}, []string{"MatMul+Add"}, "[4 8]"},
		{"as many parts as are asked for", product, Options{SumParts: 4}, []string{"MatMul+Add", "MatMul+Add"}, "[4 4 8]"},
		{"one part", product, Options{SumParts: 1, SumResults: 32, Estimator: by(0)}, []string{"MatMul+Add"}, "[4 8]"},
		{"parts that do not divide", product, Options{SumParts: 3}, []string{"MatMul+Add"}, "[4 8]"},
		{"parts of few points", product, Options{SumParts: 32}, []string{"MatMul+Add"}, "[4 8]"},
		{"channels of a convolution", conv, Options{SumParts: 12}, []string{"Conv", "Conv"}, "[12 1 8 4 4]"},
	} {
		g := blocks(t, c.text)
		Run(g, c.o)
		require.NoError(t, g.Verify(), c.name)
		assert.Equal(t, c.want, summary(g), c.name)
		assert.Equal(t, c.parts, fmt.Sprint(g.Blocks[0].Results[0].Shape), c.name)
	}
}
