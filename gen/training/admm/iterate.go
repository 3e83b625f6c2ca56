package admm

import (
	"fmt"
	"slices"

	"rules_dnn/gen/training/trainer"
)

// state is an iteration's variables.
type state struct {
	weights []trainer.Tensor
	layers  []*variables
	rho     float64 // of the last iteration
}

// variables are a layer's.
type variables struct {
	*Layer
	sides []*side
}

// side is one constraint of a layer: Z and U, or Y and V.
type side struct {
	name    string // of the terms' targets
	project Project
	near    []float32 // Z or Y
	missed  []float32 // U or V
}

func (s *state) weight(name string) []float32 {
	return s.weights[slices.IndexFunc(s.weights, func(t trainer.Tensor) bool { return t.Name == name })].Data
}

// start projects the weights as they are: Z = P(W), Y = P'(W), U = V = 0.
func (r *Run) start(weights []trainer.Tensor) (*state, error) {
	s := &state{rho: r.Rho}
	for _, t := range weights {
		t.Data = slices.Clone(t.Data)
		s.weights = append(s.weights, t)
	}
	for _, l := range r.Layers {
		v := &variables{Layer: l}
		for _, c := range []struct {
			suffix  string
			project Project
		}{{"/Z", l.Patterns}, {"/Y", l.Connectivity}} {
			if c.project == nil {
				continue
			}
			w := s.weight(l.Name)
			near, _, err := c.project(w)
			if err != nil {
				return nil, err
			}
			v.sides = append(v.sides, &side{l.Name + c.suffix, c.project, near, make([]float32, len(w))})
		}
		s.layers = append(s.layers, v)
	}
	return s, nil
}

// iterate is one iteration. All that it computes follows from the trainer's answer, which its folder keeps: a run that goes on
// computes it again.
func (r *Run) iterate(s *state, i int) ([]Residual, error) {
	rho := r.rho(i)
	s.rescale(rho)
	settings := r.Train
	settings.Seed += uint64(i)
	j := r.job(s.weights, settings, r.Epochs)
	for _, l := range s.layers {
		w := s.weights[slices.IndexFunc(s.weights, func(t trainer.Tensor) bool { return t.Name == l.Name })]
		for _, c := range l.sides {
			target := make([]float32, len(c.near))
			for k := range target {
				target[k] = c.near[k] - c.missed[k]
			}
			j.Terms = append(j.Terms, trainer.Term{Weight: l.Name, Rho: rho, Target: c.name})
			j.Targets = append(j.Targets, trainer.Tensor{Name: c.name, Shape: w.Shape, Data: target})
		}
	}
	a, err := r.train(fmt.Sprintf("iteration%03d", i+1), j)
	if err != nil {
		return nil, err
	}
	s.weights = a.Weights
	var out []Residual
	for _, l := range s.layers {
		residual, err := l.update(s.weight(l.Name))
		if err != nil {
			return nil, err
		}
		residual.Iteration, residual.Rho = i+1, rho
		out = append(out, *residual)
		if r.Log != nil {
			fmt.Fprintf(r.Log, "  %s: |W-Z|/|W| %.4f, |W-Y|/|W| %.4f, moved %.4f\n", l.Name, residual.Patterns, residual.Connectivity, residual.Moved)
		}
	}
	return out, nil
}

// rescale keeps rho*U and rho*V, which are the dual variables themselves.
func (s *state) rescale(rho float64) {
	by := float32(s.rho / rho)
	for _, l := range s.layers {
		for _, c := range l.sides {
			for k := range c.missed {
				c.missed[k] *= by
			}
		}
	}
	s.rho = rho
}

// update projects, and updates the dual variables.
func (v *variables) update(w []float32) (*Residual, error) {
	out := &Residual{Layer: v.Name}
	for _, c := range v.sides {
		sum := make([]float32, len(w))
		for k, x := range w {
			sum[k] = x + c.missed[k]
		}
		near, _, err := c.project(sum)
		if err != nil {
			return nil, err
		}
		for k, x := range w {
			c.missed[k] += x - near[k]
		}
		d := difference(w, near)
		if c.name == v.Name+"/Z" {
			out.Patterns = d
		} else {
			out.Connectivity = d
		}
		out.Moved = max(out.Moved, difference(near, c.near))
		c.near = near
	}
	return out, nil
}
