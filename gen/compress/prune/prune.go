// Package prune makes weights sparse as PatDNN does (2.4): each kernel of a convolution keeps the taps of one of a few patterns, and
// the weakest kernels go altogether (connectivity). It knows nothing of training: Project is the Euclidean projection that training
// calls again and again (equation 2.2), and that is done once where nothing is trained.
//
//	layers, skipped := prune.Layers(g)              // what can be pruned, in the network's order
//	plan, err := prune.Choose(layers, options)      // settings of each layer: exempt ones, the pattern set, a policy
//	mask, projected, err := prune.Project(layer, weights, plan.Layers[i])
//
// For ADMM, settings.OnlyPatterns() gives Z's projection (onto S), settings.OnlyConnectivity() Y's (onto S'), and settings itself
// the mask of both for the retraining at the end. All are deterministic: of equals the first is taken.
package prune

import (
	"fmt"
	"math"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
)

// Layer is a weight tensor that can be pruned, and what is known of it.
type Layer struct {
	Name       string   // of the weights: the initializer's, or the Constant's result
	Node       string   // of the first node that reads them
	Label      string   // of that node, as messages have it
	Also       []string // the labels of other nodes that read them
	Op         string   // of that node: Conv, Gemm or MatMul
	Shape      []int64  // of the weights
	FilterAxis int      // 0 or 1; the other one of the first two axes is that of the channels
	Groups     int      // ONNX's, of a convolution: filters of one share no inputs with those of another
	Position   int      // among the layers, from 0
	MACs       int64    // multiply-adds of a run on one image, with which symbols are 1; 0: not known
	Weights    *ir.Tensor
}

// Settings are what becomes of a layer.
type Settings struct {
	// Patterns are the table that kernels choose from, all of as many taps; without any, kernels are kept whole.
	Patterns []fkw.Pattern
	// Connectivity is how many times fewer kernels are kept, 3.6 for instance; 1 keeps all.
	Connectivity float64
	// Share is how many filters in a row (of one group) have the same kernels: 1, 4, 8 or 16.
	Share int
	// Packed is the mask's.
	Packed bool
}

// OnlyPatterns are settings that drop no kernel: the constraint S of PatDNN.
func (s Settings) OnlyPatterns() Settings {
	s.Connectivity = 1
	return s
}

// OnlyConnectivity are settings that keep kernels whole: the constraint S'.
func (s Settings) OnlyConnectivity() Settings {
	s.Patterns = nil
	return s
}

// Dense reports whether all weights are kept.
func (s Settings) Dense() bool { return len(s.Patterns) == 0 && s.Connectivity == 1 }

// Shares are the numbers of filters that may share kernels.
var Shares = []int{1, 4, 8, 16}

// Project is the nearest weights, by the L2 norm, that the settings allow, and their mask. Weights are in the tensor's order, and stay as
// they are; those that are not numbers, or infinite, are refused.
func Project(l *Layer, weights []float32, s Settings) (*masks.Layer, []float32, error) {
	if err := l.check(weights); err != nil {
		return nil, nil, l.errorf("%w", err)
	}
	if err := s.check(l); err != nil {
		return nil, nil, l.errorf("%w", err)
	}
	mask := l.mask(s)
	p := newProjection(mask, l, weights)
	p.choosePatterns()
	p.dropKernels(s.Connectivity)
	return mask, Apply(mask, weights), nil
}

// Apply is the weights with zeros where the mask keeps none.
func Apply(mask *masks.Layer, weights []float32) []float32 {
	out := make([]float32, len(weights))
	for i, kept := range mask.Weights() {
		if kept {
			out[i] = weights[i]
		}
	}
	return out
}

// mask is one of the layer that keeps nothing yet.
func (l *Layer) mask(s Settings) *masks.Layer {
	m := &masks.Layer{Name: l.Name, Shape: l.Shape, FilterAxis: l.FilterAxis, Groups: max(l.Groups, 1), Patterns: s.Patterns, Share: s.Share, Packed: s.Packed}
	if len(m.Patterns) == 0 {
		m.Patterns = []fkw.Pattern{fkw.Whole(m.Taps())}
	}
	m.Kernels = make([]uint8, m.Filters()*m.Channels())
	return m
}

// check refuses weights that cannot be projected.
func (l *Layer) check(weights []float32) error {
	n, err := ir.Len(l.Shape)
	if err != nil {
		return err
	}
	if n != int64(len(weights)) {
		return fmt.Errorf("%d weights for the shape %v, which has %d", len(weights), l.Shape, n)
	}
	for i, w := range weights {
		if x := float64(w); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("element %d of the weights is %v; want finite numbers", i, x)
		}
	}
	return nil
}

// errorf is an error that names the layer.
func (l *Layer) errorf(format string, args ...any) error {
	return fmt.Errorf("layer %s (weights of %s %s): %w", ir.Show(l.Name), l.Op, ir.Show(l.Node), fmt.Errorf(format, args...))
}
