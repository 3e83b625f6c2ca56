package train

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
)

func f32(t *ir.Tensor) []float32 { return elems.View(ir.F32, t.Data).F32 }

// Pull is a quadratic term of the loss: Rho/2 times the squared distance of a weight from Target.
type Pull struct {
	Weight string
	Rho    float64
	Target []float32
}

// Task is what a network is trained for.
type Task struct {
	Settings
	Train, Test Data
	// Teacher is the network whose outputs distillation wants.
	Teacher *Network
	Pulls   []Pull
	// Masks are, by the weights' names, the elements that are kept; all others are 0.
	Masks   map[string][]bool
	Workers int
	// Save is called after each epoch with the state from which Resume goes on.
	Save func(*State) error
	// Log gets the metrics of each epoch.
	Log func(Metrics)
}

// Metrics are the results of an epoch, or of an evaluation.
type Metrics struct {
	Epoch    int     `json:"epoch"`    // the number of finished epochs
	Loss     float64 `json:"loss"`     // the mean loss of the epoch's batches, without quadratic terms
	Accuracy float64 `json:"accuracy"` // the accuracy on the test images, 0 to 1
}

// trainer is a training that goes on.
type trainer struct {
	*Task
	n      *Network
	opt    *optimizer
	epoch  int
	last   Metrics
	epochs []Metrics // so far
	masks  [][]bool  // by weight
	pulls  [][]Pull
	parts  []*part
	teach  *teacher // nil: nothing is distilled
	mean   *average // nil: none is asked for
}

// NaNError is a loss that is no number.
type NaNError struct {
	Epoch, Step int
	Loss        float64
}

func (e *NaNError) Error() string {
	return fmt.Sprintf("the loss is %v in step %d of epoch %d; a smaller learning rate may help", e.Loss, e.Step, e.Epoch+1)
}

// Fit trains the network, from a state or from the start, and gives the metrics of the last epoch.
func (n *Network) Fit(task *Task, from *State) (Metrics, error) {
	t, err := n.newTrainer(task)
	if err != nil {
		return Metrics{}, err
	}
	if from != nil {
		if err := t.restore(from); err != nil {
			return Metrics{}, err
		}
	}
	for t.epoch < t.Epochs {
		if err := t.run(); err != nil {
			return t.last, err
		}
		t.epochs = append(t.epochs, t.last)
		if t.Log != nil {
			t.Log(t.last)
		}
		if t.Save != nil {
			if err := t.Save(t.state()); err != nil {
				return t.last, err
			}
		}
	}
	t.mean.take()
	return t.last, nil
}

func (n *Network) newTrainer(task *Task) (*trainer, error) {
	if err := task.Check(); err != nil {
		return nil, err
	}
	if task.Train.Len() < int(task.Batch) {
		return nil, fmt.Errorf("%d images to train with, fewer than a batch of %d", task.Train.Len(), task.Batch)
	}
	t := &trainer{Task: task, n: n, opt: newOptimizer(&task.Settings, n.Weights), mean: newAverage(task.Average, n.All())}
	t.masks, t.pulls = make([][]bool, len(n.Weights)), make([][]Pull, len(n.Weights))
	find := func(name string, elements int) (int, error) {
		k := slices.IndexFunc(n.Weights, func(w *Weight) bool { return w.Name == name })
		if k < 0 {
			return k, fmt.Errorf("the network has no weights %s to train", ir.Show(name))
		}
		if len(n.Weights[k].Data) != elements {
			return k, fmt.Errorf("%d elements for weights %s of shape %v", elements, ir.Show(name), n.Weights[k].Shape)
		}
		return k, nil
	}
	for name, mask := range task.Masks {
		k, err := find(name, len(mask))
		if err != nil {
			return nil, fmt.Errorf("a mask: %w", err)
		}
		t.masks[k] = mask
		t.clear(k)
	}
	for _, p := range task.Pulls {
		k, err := find(p.Weight, len(p.Target))
		if err != nil {
			return nil, fmt.Errorf("a quadratic term: %w", err)
		}
		t.pulls[k] = append(t.pulls[k], p)
	}
	var err error
	if t.teach, err = task.newTeacher(n); err != nil {
		return nil, err
	}
	return t, t.newParts()
}

// clear sets what the mask does not keep to 0.
func (t *trainer) clear(k int) {
	for i, kept := range t.masks[k] {
		if !kept {
			t.n.Weights[k].Data[i] = 0
		}
	}
}

// run runs an epoch.
func (t *trainer) run() error {
	sum := 0.0
	all := batches(newRandom(t.Seed, uint64(t.epoch), 1), t.Train.Len(), t.Batch)
	for i, which := range all {
		loss, err := t.step(i, which, t.rate(t.epoch*len(all)+i, t.Epochs*len(all)))
		if err != nil {
			return err
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return &NaNError{t.epoch, i, loss}
		}
		sum += loss
	}
	t.epoch++
	t.last = Metrics{Epoch: t.epoch, Loss: sum / float64(len(all))}
	if t.Test == nil {
		return nil
	}
	return t.mean.with(func() (err error) {
		t.last.Accuracy, err = t.n.Accuracy(t.Test, t.together(), t.Workers)
		return err
	})
}

// step runs batch i of the epoch and changes the weights.
func (t *trainer) step(i int, which []int, rate float64) (float64, error) {
	out, err := t.runParts(i, which)
	if err != nil {
		return 0, err
	}
	for i, s := range t.n.Statistics {
		copy(s.Data, out.moved[i])
	}
	for k, w := range t.n.Weights {
		g := out.gradients[k]
		if g == nil {
			continue
		}
		for _, p := range t.pulls[k] {
			rho := float32(p.Rho)
			for i, x := range w.Data {
				g[i] += float32(rho * (x - p.Target[i]))
			}
		}
		for i, kept := range t.masks[k] {
			if !kept {
				g[i] = 0
			}
		}
		t.opt.step(k, w, g, rate)
	}
	t.opt.steps++
	t.mean.add()
	loss := out.whole
	out.done()
	return loss, nil
}
