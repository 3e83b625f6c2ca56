package trainer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestChosen: weights that a choice does not allow are refused, whichever axis is that of the filters.
func TestChosen(t *testing.T) {
	for _, c := range []struct {
		what    string
		choice  Choice
		shape   []int64
		weights []float32
		want    string
	}{
		{"one kernel of two, in the second pattern", Choice{Kernels: 1, Patterns: [][]int{{0}, {1, 2}}}, []int64{2, 1, 3}, []float32{0, 4, 5, 0, 0, 0}, ""},
		{"both kernels", Choice{Kernels: 1, Patterns: [][]int{{0}, {1, 2}}}, []int64{2, 1, 3}, []float32{0, 4, 5, 1, 0, 0}, "2 kernels are kept; the choice allows 1"},
		{"taps of no pattern", Choice{Kernels: 2, Patterns: [][]int{{0}, {1, 2}}}, []int64{2, 1, 3}, []float32{0, 4, 5, 1, 0, 7}, "the kernel of filter 1 and channel 0 has a pattern that the choice does not allow"},
		{"filters that share kernels", Choice{Kernels: 1, Share: 4, Patterns: [][]int{{1}}}, []int64{2, 1, 3}, []float32{0, 4, 0, 0, 3, 0}, ""},
		{"filters that share kernels, of other patterns", Choice{Kernels: 1, Share: 4, Patterns: [][]int{{0}, {1}}}, []int64{2, 1, 3}, []float32{0, 4, 0, 3, 0, 0}, "the kernel of filter 0 and channel 0 has a pattern that the choice does not allow"},
		{"filters of two groups share none", Choice{Kernels: 1, Share: 4, Groups: 2, Patterns: [][]int{{1}}}, []int64{2, 1, 3}, []float32{0, 4, 0, 0, 3, 0}, "2 kernels are kept; the choice allows 1"},
		{"the second axis is the filters'", Choice{Kernels: 2, Share: 4, FilterAxis: 1, Patterns: [][]int{{0}}}, []int64{3, 2}, []float32{1, 2, 0, 0, 3, 0}, ""},
		{"the second axis is the filters', by itself", Choice{Kernels: 2, FilterAxis: 1, Patterns: [][]int{{0}}}, []int64{3, 2}, []float32{1, 2, 0, 0, 3, 0}, "3 kernels are kept; the choice allows 2"},
		{"a choice for no kernels", Choice{Kernels: 1, Patterns: [][]int{{0}}}, []int64{3}, []float32{1, 2, 3}, "a choice with filter_axis 0, groups 1 and share 1 for the shape [3]"},
	} {
		c.choice.Weight, c.choice.Groups, c.choice.Share = "w", max(1, c.choice.Groups), max(1, c.choice.Share)
		j := &Job{Request: Request{Choices: &Choices{Weights: []Choice{c.choice}}}}
		err := j.chosen([]Tensor{{"w", c.shape, c.weights}})
		if c.want == "" {
			assert.NoError(t, err, c.what)
		} else {
			assert.ErrorContains(t, err, c.want, c.what)
		}
	}
	j := &Job{Request: Request{Choices: &Choices{Weights: []Choice{{Weight: "v"}}}}}
	assert.EqualError(t, j.chosen(nil), `choices of weights "v", which the network does not have`)
}
