package trainer

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// Choices say of weights what can be kept of them. In the first epochs the trainer chooses anew every few steps, among all of the weights, which it goes on training; then what
// is kept stays the same. The weights that it gives are the kept ones.
type Choices struct {
	// Epochs in which it chooses: before a step whose number is a multiple of Every.
	Epochs int `json:"epochs"`
	Every  int `json:"every"`
	// Grow are the first epochs, in which more and more kernels go; 0: all at once.
	Grow int `json:"grow"`
	// Fade is the rho of a quadratic term that pulls what is dropped to 0.
	Fade    float64  `json:"fade"`
	Weights []Choice `json:"weights"`
}

// Choice is what can be kept of a tensor: of its units so many. A unit is the kernels of a channel of Share filters in a row, of one group, and has one pattern.
type Choice struct {
	Weight     string  `json:"weight"`
	FilterAxis int     `json:"filter_axis"` // 0 or 1; the other one of the first two axes is that of the channels
	Groups     int     `json:"groups"`
	Share      int     `json:"share"`
	Patterns   [][]int `json:"patterns"` // taps
	Kernels    int     `json:"kernels"`  // how many units are kept
}

// chosen refuses weights that the job's choices do not allow.
func (j *Job) chosen(weights []Tensor) error {
	if j.Choices == nil {
		return nil
	}
	for _, c := range j.Choices.Weights {
		k := slices.IndexFunc(weights, func(t Tensor) bool { return t.Name == c.Weight })
		if k < 0 {
			return fmt.Errorf("choices of weights %s, which the network does not have", ir.Show(c.Weight))
		}
		if err := c.allows(weights[k]); err != nil {
			return fmt.Errorf("%s: weights %q: %w", OutputFile, c.Weight, err)
		}
	}
	return nil
}

// allows refuses a tensor that has more than the choice can keep.
func (c *Choice) allows(t Tensor) error {
	if len(t.Shape) < 2 || c.FilterAxis < 0 || c.FilterAxis > 1 || c.Groups < 1 || c.Share < 1 {
		return fmt.Errorf("a choice with filter_axis %d, groups %d and share %d for the shape %v", c.FilterAxis, c.Groups, c.Share, t.Shape)
	}
	filters, channels := int(t.Shape[c.FilterAxis]), int(t.Shape[1-c.FilterAxis])
	taps := len(t.Data) / max(1, filters*channels)
	each, units := max(1, filters/c.Groups), 0
	for first := 0; first < filters; first += each {
		for f := first; f < first+each; f += c.Share {
			for channel := range channels {
				used := make([]bool, taps)
				for g := f; g < min(f+c.Share, first+each, filters); g++ {
					at := (g*channels + channel) * taps
					if c.FilterAxis == 1 {
						at = (channel*filters + g) * taps
					}
					for tap, x := range t.Data[at : at+taps] {
						used[tap] = used[tap] || x != 0
					}
				}
				if !slices.Contains(used, true) {
					continue
				}
				units++
				if !slices.ContainsFunc(c.Patterns, func(p []int) bool { return within(used, p) }) {
					return fmt.Errorf("the kernel of filter %d and channel %d has a pattern that the choice does not allow", f, channel)
				}
			}
		}
	}
	if units > c.Kernels {
		return fmt.Errorf("%d kernels are kept; the choice allows %d", units, c.Kernels)
	}
	return nil
}

// within reports whether only taps of the pattern are used.
func within(used []bool, pattern []int) bool {
	for tap, u := range used {
		if u && !slices.Contains(pattern, tap) {
			return false
		}
	}
	return true
}
