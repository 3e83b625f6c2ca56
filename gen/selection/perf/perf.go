// Package perf is performance models of kernels, learned from a tuning record: what of a kernel is known without making it, to how long it takes
// (PatDNN 2.5.5). They order the kernels of a block: a model is fitted to differences within blocks, and corrects the estimate. There are
// three: the estimate itself, least squares, and a small multilayer perceptron on what these leave. Cross-validation, of blocks that were left
// out, decides which one is used.
package perf

import (
	"fmt"
	"slices"
)

// Sample is a kernel that was measured.
type Sample struct {
	// Block is what it computes: samples of one block are compared.
	Block string
	// Features are those that all samples have, the logarithm of the estimate first.
	Features []float64
	// Time is the logarithm of what it took.
	Time float64
}

// Model predicts logarithms of times, up to what is the same for all kernels of a block.
type Model struct {
	predict func(features []float64) float64
	kind    kind
	// Samples and Blocks are how many it learned of.
	Samples, Blocks int
	// Correlations are Spearman's, of blocks that were left out, the mean of all blocks, by kind; nil where there were too few.
	Correlations []float64
}

// kind is which of the models is used.
type kind int

const (
	estimate kind = iota
	squares
	perceptron
)

var kinds = [...]string{"estimates", "least squares", "a perceptron"}

const (
	// Of fewer blocks or kernels nothing is learned.
	leastBlocks, leastSamples = 2, 12
	// folds are how many parts of the blocks are left out, one after the other.
	folds = 5
	// better is how much higher a correlation must be for a model of more parameters to be used.
	better = 0.01
)

// Fit learns from samples. Of too few it is the estimate.
func Fit(all []Sample) *Model {
	blocks := blocksOf(all)
	m := &Model{predict: fits[estimate](nil), Samples: len(all), Blocks: len(blocks)}
	if len(blocks) < leastBlocks || len(all) < leastSamples {
		return m
	}
	for k := range kinds {
		m.Correlations = append(m.Correlations, validated(all, blocks, fits[k]))
		if m.Correlations[k] > m.Correlations[m.kind]+better {
			m.kind = kind(k)
		}
	}
	m.predict = fits[m.kind](all)
	return m
}

// Predict is the logarithm of the time of a kernel of these features.
func (m *Model) Predict(features []float64) float64 { return m.predict(features) }

// String is what the model is, and how well it orders kernels.
func (m *Model) String() string {
	if m.Correlations == nil {
		return fmt.Sprintf("performance model: estimates, because %d measured kernels of %d blocks are too few to learn from", m.Samples, m.Blocks)
	}
	out := fmt.Sprintf("performance model: %s, from %d kernels of %d blocks; Spearman's correlation in held-out blocks", kinds[m.kind], m.Samples, m.Blocks)
	for k, c := range m.Correlations {
		if k > 0 {
			out += ","
		}
		out += fmt.Sprintf(" %.2f by %s", c, kinds[k])
	}
	return out
}

// fits are ways to make a prediction of samples, by kind.
var fits = [...]func([]Sample) func([]float64) float64{
	func([]Sample) func([]float64) float64 { return func(x []float64) float64 { return x[0] } },
	func(all []Sample) func([]float64) float64 { return fitSquares(all).predict },
	func(all []Sample) func([]float64) float64 {
		l := fitSquares(all)
		p := fitPerceptron(l, all)
		return func(x []float64) float64 { return l.predict(x) + p.predict(l.scaled(x)) }
	},
}

// blocksOf are the blocks that samples are of, in their order.
func blocksOf(all []Sample) []string {
	var out []string
	for _, x := range all {
		if !slices.Contains(out, x.Block) {
			out = append(out, x.Block)
		}
	}
	return out
}

// validated is the mean of the correlations in blocks that were left out of what was fitted.
func validated(all []Sample, blocks []string, fit func([]Sample) func([]float64) float64) float64 {
	sum, n := 0.0, 0.0
	for f := range min(folds, len(blocks)) {
		var in, out []Sample
		for _, x := range all {
			if slices.Index(blocks, x.Block)%min(folds, len(blocks)) == f {
				out = append(out, x)
			} else {
				in = append(in, x)
			}
		}
		predict := fit(in)
		for _, b := range blocksOf(out) {
			var predicted, took []float64
			for _, x := range out {
				if x.Block == b {
					predicted, took = append(predicted, predict(x.Features)), append(took, x.Time)
				}
			}
			if rho, known := Spearman(predicted, took); known {
				sum, n = sum+rho, n+1
			}
		}
	}
	return sum / max(n, 1)
}
