package admm

import (
	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/training/trainer"
)

// Layers are the constraints of a plan: patterns, connectivity, and both.
func Layers(layers []*prune.Layer, plan *prune.Plan) []*Layer {
	var out []*Layer
	for i, l := range layers {
		s := plan.Layers[i]
		if s == nil || s.Dense() {
			continue
		}
		c := &Layer{Name: l.Name, Joint: project(l, *s), Partial: partial(l, *s), Choice: choice(l, *s)}
		if one := s.OnlyPatterns(); !one.Dense() {
			c.Patterns = project(l, one)
		}
		if one := s.OnlyConnectivity(); !one.Dense() {
			c.Connectivity = project(l, one)
		}
		out = append(out, c)
	}
	return out
}

// partial is in proportion to the kernels that are dropped, not to the rate.
func partial(l *prune.Layer, s prune.Settings) func(share float64) Project {
	dropped := 1 - 1/s.Connectivity
	return func(share float64) Project {
		s.Connectivity = 1 / (1 - float64(dropped*share))
		return project(l, s)
	}
}

// choice tells a trainer of the constraints.
func choice(l *prune.Layer, s prune.Settings) trainer.Choice {
	c := trainer.Choice{Weight: l.Name, FilterAxis: l.FilterAxis, Groups: max(l.Groups, 1), Share: s.Share, Kernels: prune.Kernels(l, s)}
	for _, p := range s.Patterns {
		c.Patterns = append(c.Patterns, p.Taps())
	}
	if len(c.Patterns) == 0 {
		c.Patterns = [][]int{fkw.Whole(l.Taps()).Taps()}
	}
	return c
}

func project(l *prune.Layer, s prune.Settings) Project {
	return func(weights []float32) ([]float32, *masks.Layer, error) {
		mask, projected, err := prune.Project(l, weights, s)
		return projected, mask, err
	}
}
