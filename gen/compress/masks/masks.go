// Package masks is what pruning leaves of a network's weights, as data: of each weight tensor the patterns that its kernels may
// have, and of each kernel which of them it has, or that it is dropped.
//
// A kernel is the taps of one filter and one input channel; of a fully connected layer, and of a 1x1 convolution, it is one weight.
// Connectivity alone is a table of one pattern that has all taps.
//
// The file is in the safetensors format, so that other programs read it in a few lines: of each weight tensor a tensor of the same
// name, of type U8 and the shape [filters, channels], whose elements are 0 for a dropped kernel and p for one that keeps the taps of
// pattern p of the layer, counted from 1. Its metadata are
//
//	"format": "rules_dnn masks 1"
//	"layers": a JSON list, in the tensors' order, of objects
//	    {"name": "conv1.weight", "shape": [64, 3, 3, 3], "filter_axis": 0, "groups": 1, "patterns": ["1b", "33"], "share": 1}
//
// where shape is that of the weight tensor, filter_axis (0 or 1) the axis of the filters, the other one of the first two that of the
// channels, and a pattern's taps are bits, in hexadecimal: bit t is tap t, row by row. Within each of the
// convolution's groups, share filters in a row have the same kernels. "packed": true, which is left out otherwise, asks for kernels that store what is kept and
// nothing else, where there are such, even if others are faster.
package masks

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
)

// Set is the masks of a network, in the order in which it uses the weights.
type Set struct{ Layers []*Layer }

// Layer is the mask of a weight tensor.
type Layer struct {
	Name       string  // of the weights: the initializer's, or the Constant's result
	Shape      []int64 // of the weights
	FilterAxis int     // 0 or 1; the other one of the first two axes is that of the channels
	// Patterns are the table, all of as many taps.
	Patterns []fkw.Pattern
	// Kernels are rows of filters: 0 is a dropped kernel, p one that keeps the taps of Patterns[p-1].
	Kernels []uint8
	// Groups are ONNX's, of a convolution; 1 of other layers. Within each, Share filters in a row have the same kernels, and
	// the last ones, which may be fewer.
	Groups, Share int
	// Packed asks for kernels that store what is kept and nothing else, where there are such, even if others are faster.
	Packed bool
}

// MaxPatterns of a layer: numbers of patterns have 8 bits, and 0 is a dropped kernel.
const MaxPatterns = 255

// Filters is how many filters there are.
func (l *Layer) Filters() int { return int(l.Shape[l.FilterAxis]) }

// Channels is how many kernels a filter has.
func (l *Layer) Channels() int { return int(l.Shape[1-l.FilterAxis]) }

// Taps is how many weights a kernel has.
func (l *Layer) Taps() int {
	n := 1
	for _, d := range l.Shape[2:] {
		n *= int(d)
	}
	return n
}

// Kernel is the taps that a kernel keeps; 0: none.
func (l *Layer) Kernel(filter, channel int) fkw.Pattern {
	if p := l.Kernels[filter*l.Channels()+channel]; p > 0 {
		return l.Patterns[p-1]
	}
	return 0
}

// At is where the kernel's weights begin in the weight tensor, as a number of elements.
func (l *Layer) At(filter, channel int) int {
	if l.FilterAxis == 1 {
		filter, channel = channel, filter
	}
	return (filter*int(l.Shape[1]) + channel) * l.Taps()
}

// Kept is how many kernels and how many weights are kept.
func (l *Layer) Kept() (kernels, weights int64) {
	for _, p := range l.Kernels {
		if p > 0 {
			kernels++
			weights += int64(len(l.Patterns[p-1].Taps()))
		}
	}
	return kernels, weights
}

// Total is how many kernels and how many weights there are.
func (l *Layer) Total() (kernels, weights int64) {
	n := int64(len(l.Kernels))
	return n, n * int64(l.Taps())
}

// Weights are which elements of the weight tensor are kept, in its order.
func (l *Layer) Weights() []bool {
	taps := l.Taps()
	out := make([]bool, len(l.Kernels)*taps)
	for f := range l.Filters() {
		for c := range l.Channels() {
			at := l.At(f, c)
			for _, t := range l.Kernel(f, c).Taps() {
				out[at+t] = true
			}
		}
	}
	return out
}

// Layer is the mask of a weight tensor, or nil.
func (s *Set) Layer(name string) *Layer {
	for _, l := range s.Layers {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// errorf is an error that names the layer.
func (l *Layer) errorf(format string, args ...any) error {
	return fmt.Errorf("mask of %s: %w", ir.Show(l.Name), fmt.Errorf(format, args...))
}
