package sel

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/selection/perf"
)

// learner gathers what was measured of a graph's blocks.
type learner struct {
	*selector
	seen    map[string]bool // keys
	samples []perf.Sample
}

// learn makes the performance model of a search, of what was measured of the blocks that it is given.
func (s *selector) learn(blocks func(add func(*block.Block, lower.Layouts) error) error) error {
	if s.o.History == nil {
		return nil
	}
	l := &learner{selector: s, seen: map[string]bool{}}
	err := blocks(l.add)
	s.model = perf.Fit(l.samples)
	return err
}

// add notes what was measured of a block of the host.
func (l *learner) add(b *block.Block, lay lower.Layouts) error {
	if b.Call != nil || lay(b.Results[0]).Space != layout.Host {
		return nil
	}
	key := tuning.Key(b, lay, l.g.Facts, l.host().t)
	if l.seen[key] {
		return nil
	}
	l.seen[key] = true
	for _, t := range l.o.History[key] {
		k, _, err := l.recorded(b, lay, t)
		if err != nil {
			return err
		}
		if k.Lowered != nil {
			l.samples = append(l.samples, perf.Sample{Block: key, Features: l.features(k), Time: scalar.Log(t.Micros)})
		}
	}
	return nil
}

// features are a kernel's.
func (s *selector) features(k Kernel) []float64 {
	return cost.FeaturesOf(k.Cycles, k.Work, k.Schedule, k.Tiles, s.host().t, s.usual)
}

// score is how long a kernel takes by the model, which is the host's, or by its estimate, as a logarithm.
func (s *selector) score(k Kernel) float64 {
	if s.model == nil || k.Space != layout.Host {
		return scalar.Log(k.Cycles)
	}
	return s.model.Predict(s.features(k))
}

// learned is what the model is, a line or none.
func (s *selector) learned() []string {
	if s.model == nil {
		return nil
	}
	return []string{s.model.String()}
}
