// Package admm finds weights that satisfy constraints of patterns and of connectivity while the loss stays small: PatDNN's
// extended ADMM (2.4.2, equations 2.1 and 2.2).
//
// For each layer, W are the weights, Z and Y their nearest neighbours that satisfy one constraint each, and U and V what W has missed
// these by so far, the scaled dual variables. An iteration
//
//  1. trains W with the terms rho/2 |W - Z + U|^2 and rho/2 |W - Y + V|^2 added to the loss (subproblem 1; any trainer),
//  2. projects: Z = P(W + U) onto patterns, Y = P'(W + V) onto connectivity (subproblems 2 and 3),
//  3. updates U += W - Z and V += W - Y.
//
// After the last one W is projected onto both, and what is kept of it is trained again, masked. Between may lie steps, masked trainings in which kernels are dropped
// a few at a time: each chooses among what the one before has trained.
package admm

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/training/train"
	"rules_dnn/gen/training/trainer"
)

// Project is the nearest weights that satisfy a constraint, and which of them are kept.
type Project func(weights []float32) (projected []float32, mask *masks.Layer, err error)

// Layer is a weight tensor under constraints. A nil constraint is none.
type Layer struct {
	Name                          string
	Patterns, Connectivity, Joint Project
	// Partial projects onto both, but drops only such a share of the kernels that Joint drops.
	Partial func(share float64) Project
	// Choice tells a trainer what Joint allows.
	Choice trainer.Choice
}

// Options are the schedule.
type Options struct {
	// Iterations of ADMM, of Epochs each; 0: what is kept is decided by the weights as they are.
	Iterations, Epochs int
	// Steps of Epochs each come after the iterations: masked, with a connectivity that grows from step to step.
	Steps int
	// Rho is that of the first iteration; each further one has it Growth times as large, and at most Most.
	Rho, Growth, Most float64
	// Retrain are the epochs at the end, masked.
	Retrain int
	// Choose are the first of these, in which the trainer chooses the masks anew before every so many steps; in the first half of them kernels are dropped a few at a time. 0: the
	// masks are those of the weights before them.
	Choose, Every int
	Fade          float64 // the weight of a quadratic term of what is dropped meanwhile
	// Train and Tune are the other settings of the two kinds of training.
	Train, Tune train.Settings
}

// Defaults are PatDNN's kind of schedule: 120 epochs at most, rho from 1e-4 times ten to 1e-1.
func Defaults() Options {
	o := Options{Iterations: 4, Epochs: 10, Rho: 1e-3, Growth: 10, Most: 0.1, Retrain: 40, Every: 16, Fade: 0.02, Train: train.Defaults(), Tune: train.Defaults()}
	o.Train.Schedule = "constant"
	return o
}

// Residual measures the distance of a layer's weights W from the constraints in an iteration.
type Residual struct {
	Iteration int     `json:"iteration"` // the iteration, from 1 on
	Layer     string  `json:"layer"`     // the name of the layer's weights
	Rho       float64 `json:"rho"`       // the weight of the quadratic terms in this iteration
	// The primal residual of the patterns, |W - Z| / |W|.
	Patterns float64 `json:"patterns"`
	// The primal residual of the connectivity, |W - Y| / |W|.
	Connectivity float64 `json:"connectivity"`
	// The change of Z and Y in this iteration over |W|: the dual residual without rho.
	Moved float64 `json:"moved"`
}

// Outcome is what pruning gives.
type Outcome struct {
	Weights   []trainer.Tensor // of the network, in its order
	Masks     *masks.Set
	Before    train.Metrics // of the network that was given
	Projected train.Metrics // before training again
	After     train.Metrics
	Residuals []Residual
	Trained   []Trained
}

// Trained lists the metrics of a training job, epoch by epoch if the trainer reports them.
type Trained struct {
	Name   string          `json:"name"`   // the name of the job's folder
	Epochs []train.Metrics `json:"epochs"` // the metrics after each epoch
}

// Run is a pruning in a folder: run again there it goes on.
type Run struct {
	Options
	Trainer trainer.Trainer
	Folder  string
	Layers  []*Layer
	// Request is what all jobs share: model, data, number of workers.
	Request trainer.Request
	Log     io.Writer
	trained []Trained
}

// Prune prunes a network with these weights.
func (r *Run) Prune(weights []trainer.Tensor) (*Outcome, error) {
	if err := r.check(weights); err != nil {
		return nil, err
	}
	out := &Outcome{}
	r.trained = nil
	var err error
	if out.Before, err = r.evaluate("before", weights); err != nil {
		return nil, err
	}
	s, err := r.start(weights)
	if err != nil {
		return nil, err
	}
	for i := range r.Iterations {
		residuals, err := r.iterate(s, i)
		if err != nil {
			return nil, fmt.Errorf("iteration %d of ADMM: %w", i+1, err)
		}
		out.Residuals = append(out.Residuals, residuals...)
	}
	for i := range r.Steps {
		if err := r.step(s, i); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return out, r.finish(s, out)
}

// check refuses layers that the network does not have.
func (r *Run) check(weights []trainer.Tensor) error {
	for _, l := range r.Layers {
		if !slices.ContainsFunc(weights, func(t trainer.Tensor) bool { return t.Name == l.Name }) {
			return fmt.Errorf("the network has no weights %q to prune", l.Name)
		}
	}
	if r.Iterations < 0 || r.Steps < 0 {
		return fmt.Errorf("%d iterations and %d steps; want 0 or more of each", r.Iterations, r.Steps)
	}
	if r.Choose < 0 || r.Choose > r.Retrain || r.Choose > 0 && r.Every < 1 {
		return fmt.Errorf("the masks are chosen every %d steps in %d of the %d final epochs; want 1 step or more, and at most all final epochs", r.Every, r.Choose, r.Retrain)
	}
	if r.Choose > 0 && r.Steps > 0 {
		return fmt.Errorf("%d steps, and masks chosen again in %d epochs; want only one of them, because a weight dropped by a step stays 0", r.Steps, r.Choose)
	}
	if r.Choose > 0 && r.Choose == r.Retrain && r.Tune.Average > 0 {
		return fmt.Errorf("weights are averaged, and the masks are chosen again in all of the %d final epochs; choose them in fewer epochs, because averaging needs fixed masks", r.Retrain)
	}
	if !(r.Rho > 0 && r.Growth >= 1 && r.Most >= r.Rho) {
		return fmt.Errorf("rho is %v, its growth %v and its maximum %v; want rho > 0, growth >= 1 and maximum >= rho", r.Rho, r.Growth, r.Most)
	}
	return nil
}

// job is one with settings of a number of epochs.
func (r *Run) job(weights []trainer.Tensor, s train.Settings, epochs int) *trainer.Job {
	j := &trainer.Job{Request: r.Request, Weights: weights}
	j.Settings, j.Settings.Epochs = s, epochs
	return j
}

func (r *Run) train(name string, j *trainer.Job) (*trainer.Answer, error) {
	a, err := r.Trainer.Train(filepath.Join(r.Folder, name), j)
	if err == nil && r.Log != nil {
		fmt.Fprintf(r.Log, "%s: loss %.4f, accuracy %.4f\n", name, a.Metrics.Loss, a.Metrics.Accuracy)
	}
	if err == nil && j.Settings.Epochs > 0 {
		epochs := a.Epochs
		if len(epochs) == 0 {
			epochs = []train.Metrics{a.Metrics}
		}
		r.trained = append(r.trained, Trained{name, epochs})
	}
	return a, err
}

func (r *Run) evaluate(name string, weights []trainer.Tensor) (train.Metrics, error) {
	a, err := r.train(name, r.job(weights, r.Tune, 0))
	if err != nil {
		return train.Metrics{}, err
	}
	return a.Metrics, nil
}

// rho is that of an iteration.
func (r *Run) rho(iteration int) float64 {
	rho := r.Rho
	for range iteration {
		rho = min(rho*r.Growth, r.Most)
	}
	return rho
}

// step drops kernels, and trains with those that are left. Most are dropped in the first steps, while there are many to choose from.
func (r *Run) step(s *state, i int) error {
	left := 1 - float64(i+1)/float64(r.Steps+1)
	share := 1 - float64(left*left*left)
	_, kept, err := s.project(func(l *Layer) Project { return l.Partial(share) })
	if err != nil {
		return err
	}
	settings := r.Train
	settings.Seed += uint64(r.Iterations + i)
	j := r.job(s.weights, settings, r.Epochs)
	j.Kept = kept
	a, err := r.train(fmt.Sprintf("step%03d", i+1), j)
	if err != nil {
		return err
	}
	s.weights = a.Weights
	return nil
}

// project projects all layers, and gives what is kept of them.
func (s *state) project(by func(*Layer) Project) (*masks.Set, map[string][]bool, error) {
	set, kept := &masks.Set{}, map[string][]bool{}
	for _, l := range s.layers {
		w := s.weight(l.Name)
		projected, mask, err := by(l.Layer)(w)
		if err != nil {
			return nil, nil, err
		}
		copy(w, projected)
		set.Layers = append(set.Layers, mask)
		kept[l.Name] = mask.Weights()
	}
	return set, kept, nil
}

// finish projects onto both constraints, and trains again.
func (r *Run) finish(s *state, out *Outcome) error {
	j := r.job(copied(s.weights), r.Tune, r.Retrain)
	joint := func(l *Layer) Project { return l.Joint }
	var err error
	if out.Masks, j.Kept, err = s.project(joint); err != nil {
		return err
	}
	if out.Projected, err = r.evaluate("projected", s.weights); err != nil {
		return err
	}
	if r.Choose > 0 { // of all weights
		j.Kept, j.Choices = nil, r.choices()
	} else {
		j.Weights = s.weights
	}
	a, err := r.train("retrained", j)
	if err != nil {
		return fmt.Errorf("retraining with the masks: %w", err)
	}
	out.Weights, out.After, out.Trained = a.Weights, a.Metrics, r.trained
	if r.Choose > 0 { // they have the trainer's masks: projected, they are as they were
		s.weights = copied(a.Weights)
		out.Masks, _, err = s.project(joint)
	}
	return err
}

// choices are all layers'.
func (r *Run) choices() *trainer.Choices {
	c := &trainer.Choices{Epochs: r.Choose, Every: r.Every, Grow: r.Choose / 2, Fade: r.Fade}
	for _, l := range r.Layers {
		c.Weights = append(c.Weights, l.Choice)
	}
	return c
}

// copied are weights that may be changed.
func copied(weights []trainer.Tensor) []trainer.Tensor {
	out := slices.Clone(weights)
	for i := range out {
		out[i].Data = slices.Clone(out[i].Data)
	}
	return out
}

// difference is |a - b| over |a|, 0 where there is no a.
func difference(a, b []float32) float64 {
	if len(b) == 0 {
		return 0
	}
	var d, n float64
	for i, x := range a {
		e := float64(x) - float64(b[i])
		d += float64(e * e)
		n += float64(float64(x) * float64(x))
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(d / n)
}
