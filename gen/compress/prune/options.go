package prune

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/kernel/fkw"
)

// Options control how a network is pruned; they are the rule's attributes.
type Options struct {
	// The number of patterns in a set; 0: no patterns, a kernel is kept or dropped as a whole.
	Patterns int `json:"patterns"`
	// The number of taps that kernels of a size keep, for example {"3x3": 4}. Kernels of other
	// sizes keep all taps.
	Entries map[string]int `json:"entries"`
	// What shares a set of patterns: the "model" (all layers with the same kernel size and number
	// of entries), or each "layer" has its own.
	Set string `json:"set"`
	// The factor by which the number of kernels of convolutions is reduced; 1 keeps all. Depthwise
	// convolutions keep all kernels, since each of them is a channel.
	Connectivity float64 `json:"connectivity"`
	// The same factor for Gemm and MatMul, whose kernels are single weights.
	FullyConnected float64 `json:"fully_connected"`
	// The number of consecutive filters that have the same kernels.
	Share int `json:"share"`
	// Whether kept weights are stored packed wherever kernels support it, even if other kernels are
	// faster.
	Packed bool `json:"packed,omitempty"`
	// Whether the first layer stays dense.
	ExemptFirst bool `json:"exempt_first"`
	// Further layers that stay dense, by the name of their weights or of their node.
	Exempt []string `json:"exempt,omitempty"`
	// The sensitivity of layers, any numbers for the policy, by the name of their weights.
	Sensitivity map[string]float64 `json:"sensitivity,omitempty"`
}

// Sensitive are the options with what was measured of layers that they say nothing of.
func (o Options) Sensitive(s *Sensitivity) Options {
	known := maps.Clone(o.Sensitivity)
	if known == nil {
		known = map[string]float64{}
	}
	for _, a := range s.Layers {
		if _, given := known[a.Name]; !given {
			known[a.Name] = a.Lost
		}
	}
	o.Sensitivity = known
	return o
}

// Values of Options.Set.
const (
	SetOfModel = "model"
	SetOfLayer = "layer"
)

// Defaults are PatDNN's: 8 patterns of 4 entries for kernels of 3x3, no kernels dropped, the first
// layer exempt.
func Defaults() Options {
	return Options{Patterns: 8, Entries: map[string]int{"3x3": 4}, Set: SetOfModel, Connectivity: 1, FullyConnected: 1, Share: 1, ExemptFirst: true}
}

// ParseOptions reads options; what is left out has the defaults.
func ParseOptions(text []byte) (Options, error) {
	o := Defaults()
	o.Entries = nil // JSON would add to the defaults
	if err := jsonfile.Parse(text, &o); err != nil {
		return o, err
	}
	if o.Entries == nil {
		o.Entries = Defaults().Entries
	}
	return o, o.Check()
}

// kernelSize is a size of kernels, as KernelSize gives it.
var kernelSize = regexp.MustCompile(`^[1-9][0-9]*(x[1-9][0-9]*)*$`)

// KernelSize is how options and policies write a layer's kernels: "3x3"; "1" is a weight of a fully
// connected layer.
func KernelSize(l *Layer) string {
	if len(l.Shape) < 3 {
		return "1"
	}
	var parts []string
	for _, d := range l.Shape[2:] {
		parts = append(parts, strconv.FormatInt(d, 10))
	}
	return strings.Join(parts, "x")
}

// Check refuses options that make no sense.
func (o *Options) Check() error {
	if o.Patterns != 0 {
		if err := checkPatterns(o.Patterns); err != nil {
			return fmt.Errorf("%w, or 0 for none", err)
		}
	}
	for _, size := range slices.Sorted(maps.Keys(o.Entries)) {
		if err := checkEntries(size, o.Entries[size]); err != nil {
			return err
		}
	}
	if o.Set != SetOfModel && o.Set != SetOfLayer {
		return fmt.Errorf("set = %q; want %q or %q", o.Set, SetOfModel, SetOfLayer)
	}
	if err := checkRate("connectivity", o.Connectivity); err != nil {
		return err
	}
	if err := checkRate("fully_connected", o.FullyConnected); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sensitivity)) {
		if x := o.Sensitivity[name]; math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("sensitivity of %q is %v; want a finite number", name, x)
		}
	}
	return checkShare(o.Share)
}

func checkEntries(size string, entries int) error {
	if !kernelSize.MatchString(size) {
		return fmt.Errorf("entries of %q; want a kernel size, such as 3x3", size)
	}
	taps := 1
	for _, d := range strings.Split(size, "x") {
		n, err := strconv.Atoi(d)
		if err != nil || n > fkw.MaxTaps || taps*n > fkw.MaxTaps {
			return fmt.Errorf("entries of %q; want kernels of at most %d taps", size, fkw.MaxTaps)
		}
		taps *= n
	}
	if entries < 1 || entries > taps {
		return fmt.Errorf("entries of %q are %d; want 1 to %d", size, entries, taps)
	}
	return nil
}

func checkRate(name string, rate float64) error {
	if !(rate >= 1) || math.IsInf(rate, 0) {
		return fmt.Errorf("%s = %v; want a number N of 1 or more: 1 of N kernels is kept", name, rate)
	}
	return nil
}

func checkShare(share int) error {
	if !slices.Contains(Shares, share) {
		return fmt.Errorf("share = %d; want one of %v", share, Shares)
	}
	return nil
}
