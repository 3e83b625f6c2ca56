package pipeline

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/selection/sel"
)

// Compare is the choice of kernels and layouts for the blocks, or the first of them, as a problem of its own: what select solves.
func (s *State) Compare(first int) (*sel.Comparison, error) {
	return sel.Compare(s.Blocks, s.Target, s.selectOptions(), first)
}

func (s *State) selectOptions() sel.Options {
	kernels := lower.Options{Contractions: s.anchor("contractions"), Windows: s.anchor("windows"), Winograd: s.anchor("winograd"),
		Vectors: s.Enabled("vectors"), Pruned: s.encodings(), Magnitudes: s.magnitudes()}
	o := sel.Options{Options: kernels, Pooled: s.anchor("pooled"), Layouts: s.anchor("layouts"), Packed: s.Packed,
		Candidate: s.Candidate, EveryVersion: s.EveryVersion, EveryPool: s.EveryPool, Others: s.Others, Device: s.Device, Price: s.price(), Stored: s.Stored, Images: s.images()}
	o.Times, o.History = s.recorded(s.Times)
	o.DeviceTimes, o.DeviceHistory = s.recorded(s.DeviceTimes)
	return o
}

// elsewhere is what a block costs where it is not to run, in cycles: more than any network takes.
const elsewhere = 1e12

// price lets the device compute all that it can, where the processor's part is off.
func (s *State) price() func(*block.Block, layout.Space) float64 {
	if s.Device == nil || s.Price != nil || s.Enabled("processor") {
		return s.Price
	}
	return func(b *block.Block, space layout.Space) float64 {
		if space == layout.Host && b.Call == nil { // operators that are calls are the processor's
			return elsewhere
		}
		return 0
	}
}

// images says which values are in texture memory.
func (s *State) images() sel.ImageUse {
	switch {
	case !s.Enabled("images"):
		return sel.NoImages
	case !s.Enabled("buffers"):
		return sel.OnlyImages
	}
	return sel.ChosenImages
}

// recorded is what a record's times are for: they decide between kernels or, where candidates are to be measured, lead to these.
func (s *State) recorded(t tuning.Times) (times, history tuning.Times) {
	if s.Candidate > 0 {
		return nil, t
	}
	return t, nil
}

// magnitudes are those of weights of 16 bits, each looked for once in a run.
func (s *State) magnitudes() *weights.Magnitudes {
	if s.sizes == nil {
		s.sizes = weights.NewMagnitudes()
	}
	return s.sizes
}

// encodings are those of weights that were pruned, each looked for once in a run; nil where the part is off.
func (s *State) encodings() *weights.Encodings {
	if s.pruned == nil && s.anchor("pruned") {
		s.pruned = weights.NewEncodings()
		s.pruned.Alone, s.pruned.Given = !s.anchor("reuse"), !s.anchor("reorder")
	}
	return s.pruned
}

func selectKernels(s *State) (err error) {
	if s.Choice, err = sel.Run(s.Blocks, s.Target, s.selectOptions()); err != nil {
		return err
	}
	// Candidates are measured as they are.
	if s.Enabled("versions") && s.Candidate == 0 && s.Device == nil && s.Target.Versions() {
		if err := s.Choice.AddVersions(s.Blocks, s.Target, s.selectOptions()); err != nil {
			return err
		}
	}
	for i, t := range s.Others {
		o := s.selectOptions()
		if o.Times, o.History = nil, nil; i < len(s.OtherTimes) {
			o.Times, o.History = s.recorded(s.OtherTimes[i])
		}
		// The first is what few machines have nothing better than: it takes no memory of theirs.
		if err := s.Choice.Variant(s.Blocks, t, o, i == 0); err != nil {
			return err
		}
	}
	return nil
}
