package perf

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples are of blocks of eight kernels each, which take what a function of their features says, besides what their block does.
func samples(blocks int, noise float64, takes func(x []float64) float64) []Sample {
	r := rand.New(rand.NewSource(7))
	var out []Sample
	for b := range blocks {
		common := 5 * r.NormFloat64()
		for range 8 {
			x := []float64{10 + common + 0.2*r.NormFloat64(), r.NormFloat64(), float64(r.Intn(8)), r.Float64()}
			out = append(out, Sample{fmt.Sprint(b), x, takes(x) + common + noise*r.NormFloat64()})
		}
	}
	return out
}

func TestEstimate(t *testing.T) {
	all := samples(12, 0.01, func(x []float64) float64 { return 2*x[0] - 20 })
	m := Fit(all)
	assert.Equal(t, estimate, m.kind, m)
	assert.Equal(t, 3.5, m.Predict([]float64{3.5, 1, 2, 3}))
	assert.Equal(t, "performance model: estimates, because 8 measured kernels of 1 blocks are too few to learn from", Fit(all[:8]).String())
	assert.Equal(t, 3.5, Fit(nil).Predict([]float64{3.5}))
}

// TestSquares: what estimates leave out is learned, and what a block's kernels have in common is not.
func TestSquares(t *testing.T) {
	m := Fit(samples(12, 0.02, func(x []float64) float64 { return x[0] + 0.3*x[1] - 0.2*x[2] }))
	require.Len(t, m.Correlations, 3)
	assert.Equal(t, squares, m.kind, m)
	assert.Less(t, m.Correlations[estimate], 0.7)
	assert.Greater(t, m.Correlations[squares], 0.95)
	assert.InDelta(t, 0.3, m.Predict([]float64{10, 1, 3, 0})-m.Predict([]float64{10, 0, 3, 0}), 0.05)
	assert.Contains(t, m.String(), "performance model: least squares, from 96 kernels of 12 blocks; Spearman's correlation in held-out blocks 0.")
}

// TestPerceptron: what is no sum of features, as a best number of rows is, the perceptron learns; twice the same.
func TestPerceptron(t *testing.T) {
	takes := func(x []float64) float64 { return x[0] + 0.6*math.Abs(x[2]-4) }
	m := Fit(samples(20, 0.02, takes))
	assert.Equal(t, perceptron, m.kind, m)
	assert.Greater(t, m.Correlations[perceptron], m.Correlations[squares]+0.1)
	assert.Greater(t, m.Predict([]float64{10, 0, 0, 0}), m.Predict([]float64{10, 0, 4, 0}))
	assert.Greater(t, m.Predict([]float64{10, 0, 7, 0}), m.Predict([]float64{10, 0, 4, 0}))
	again := Fit(samples(20, 0.02, takes))
	assert.Equal(t, m.Correlations, again.Correlations)
	assert.Equal(t, m.Predict([]float64{10, 0, 4, 0}), again.Predict([]float64{10, 0, 4, 0}))
}

func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		x, y  []float64
		want  float64
		known bool
	}{
		{[]float64{1, 2, 3}, []float64{10, 20, 30}, 1, true},
		{[]float64{1, 2, 3}, []float64{30, 20, 10}, -1, true},
		{[]float64{1, 1, 3}, []float64{10, 20, 30}, 0.866, true},
		{[]float64{1, 1}, []float64{10, 20}, 0, false},
	} {
		got, known := Spearman(c.x, c.y)
		assert.InDelta(t, c.want, got, 1e-3)
		assert.Equal(t, c.known, known)
	}
}

// TestDegenerate: features that are alike, and times that are, leave no numbers that are none.
func TestDegenerate(t *testing.T) {
	var all []Sample
	for b := range 4 {
		for range 4 {
			all = append(all, Sample{fmt.Sprint(b), []float64{1, 2, 3}, 4})
		}
	}
	m := Fit(all)
	assert.False(t, math.IsNaN(m.Predict([]float64{1, 2, 3})), m)
	assert.False(t, math.IsNaN(fits[perceptron](all)([]float64{1, 2, 3})))
}
