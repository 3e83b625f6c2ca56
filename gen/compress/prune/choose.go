package prune

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
)

// Plan is the settings of each layer, in the layers' order; nil: the layer is exempt.
type Plan struct{ Layers []*Settings }

// Wish is what is asked of a layer before the pattern sets are known: the options say it, and a policy may say otherwise.
type Wish struct {
	Patterns, Entries int // 0: kernels are kept whole
	Connectivity      float64
	Share             int
	Packed            bool
}

// Facts are what a policy knows of a layer.
type Facts struct {
	*Layer
	Count       int      // of layers
	MACsShare   float64  // of the multiply-adds of all layers
	Sensitivity *float64 // nil: not known
	Uniform     Wish     // what the options ask of it
}

// Policy decides for a layer that is not exempt; nil leaves it dense.
type Policy func(Facts) (*Wish, error)

// Choose gives each layer its settings, of the weights as they are. A nil policy leaves all to the options.
func Choose(layers []*Layer, o Options, policy Policy) (*Plan, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := o.known(layers); err != nil {
		return nil, err
	}
	macs := int64(0)
	for _, l := range layers {
		macs += l.MACs
	}
	wishes := make([]*Wish, len(layers))
	for i, l := range layers {
		f := Facts{Layer: l, Count: len(layers)}
		if macs > 0 {
			f.MACsShare = float64(l.MACs) / float64(macs)
		}
		var err error
		if wishes[i], err = o.decide(f, policy); err != nil {
			return nil, err
		}
	}
	sets, err := chooseSets(layers, wishes, o.Set)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Layers: make([]*Settings, len(layers))}
	for i, w := range wishes {
		if w != nil {
			plan.Layers[i] = &Settings{Patterns: sets.of(layers[i], *w), Connectivity: w.Connectivity, Share: w.Share, Packed: w.Packed}
		}
	}
	return plan, nil
}

// known refuses names of layers that the network does not have.
func (o *Options) known(layers []*Layer) error {
	for _, name := range o.Exempt {
		if !slices.ContainsFunc(layers, func(l *Layer) bool { return l.is(name) }) {
			return fmt.Errorf("exempt names %s, which is not a layer; want the name of a layer's weights or node", ir.Show(name))
		}
	}
	return nil
}

func (l *Layer) is(name string) bool { return name != "" && (l.Name == name || l.Node == name) }

// decide is what is asked of a layer; nil: it stays dense.
func (o *Options) decide(f Facts, policy Policy) (*Wish, error) {
	if o.ExemptFirst && f.Position == 0 || slices.ContainsFunc(o.Exempt, f.is) {
		return nil, nil
	}
	f.Uniform = o.uniform(f.Layer)
	if policy == nil {
		return &f.Uniform, nil
	}
	if x, ok := o.Sensitivity[f.Name]; ok {
		f.Sensitivity = &x
	}
	w, err := policy(f)
	if err != nil || w == nil {
		return nil, err
	}
	if err := w.Check(f.Layer); err != nil {
		return nil, f.errorf("the policy's settings: %w", err)
	}
	return w, nil
}

// uniform is what the options ask of a layer.
func (o *Options) uniform(l *Layer) Wish {
	w := Wish{Patterns: o.Patterns, Entries: o.Entries[KernelSize(l)], Connectivity: o.Connectivity, Share: o.Share, Packed: o.Packed}
	if w.Patterns == 0 || w.Entries == 0 {
		w.Patterns, w.Entries = 0, 0
	}
	switch {
	case len(l.Shape) == 2:
		w.Connectivity = o.FullyConnected
	case l.Depthwise():
		w.Connectivity = 1
	}
	return w
}

// Depthwise reports whether each filter has one kernel: to drop it would drop the channel.
func (l *Layer) Depthwise() bool { return len(l.Shape) > 2 && l.Shape[1] == 1 && l.Groups > 1 }

// Check refuses what a layer cannot have.
func (w *Wish) Check(l *Layer) error {
	if (w.Patterns == 0) != (w.Entries == 0) {
		return errors.New("want both patterns and entries, or neither")
	}
	if w.Patterns != 0 {
		if err := checkPatterns(w.Patterns); err != nil {
			return err
		}
		if w.Entries < 1 || w.Entries > l.Taps() {
			return fmt.Errorf("entries = %d; want 1 to %d, the kernel's taps", w.Entries, l.Taps())
		}
	}
	if err := checkRate("connectivity", w.Connectivity); err != nil {
		return err
	}
	return checkShare(w.Share)
}

// sets are the ranked natural patterns of layers that choose together.
type sets struct {
	set    string
	counts map[string]Counts
}

// key is what layers have in common that choose together.
func (s *sets) key(l *Layer, w Wish) string {
	if s.set == SetOfLayer {
		return strconv.Itoa(l.Position)
	}
	return fmt.Sprintf("%s %d %d", KernelSize(l), w.Entries, w.Share)
}

// of is the pattern set of a layer; nil: its kernels are kept whole.
func (s *sets) of(l *Layer, w Wish) []fkw.Pattern {
	if w.Patterns == 0 {
		return nil
	}
	return s.counts[s.key(l, w)].Top(w.Patterns)
}

// chooseSets counts the natural patterns of layers.
func chooseSets(layers []*Layer, wishes []*Wish, set string) (*sets, error) {
	s := &sets{set: set, counts: map[string]Counts{}}
	for i, w := range wishes {
		if w == nil || w.Patterns == 0 {
			continue
		}
		weights, err := layers[i].Floats()
		if err != nil {
			return nil, err
		}
		key := s.key(layers[i], *w)
		if s.counts[key] == nil {
			s.counts[key] = Counts{}
		}
		if err := s.counts[key].Count(layers[i], weights, w.Entries, w.Share); err != nil {
			return nil, err
		}
	}
	return s, nil
}
