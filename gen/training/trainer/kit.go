package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rules_dnn/gen/training/train"
)

// Kit holds a trainer against the protocol, with a network and data of the user's.
type Kit struct {
	Trainer  *Process
	Folder   string
	Request  Request
	Weights  []Tensor
	Settings train.Settings // of one epoch
}

// checks are what a trainer must do. Each has a folder of its own.
var checks = []struct {
	what string
	run  func(k *Kit, folder string) error
}{
	{"0 epochs return the given weights and an accuracy", (*Kit).evaluates},
	{"an epoch changes the weights", (*Kit).trains},
	{"weights that a mask drops are 0 from the start", (*Kit).masks},
	{"chosen weights follow the choice, or the trainer refuses choices", (*Kit).chooses},
	{"a strong quadratic term pulls weights to its target", (*Kit).pulls},
	{"a killed trainer continues when it is started again", (*Kit).goesOn},
	{"a request of another version is refused", (*Kit).refusesVersion},
	{"weights that are cut off are refused", (*Kit).refusesWeights},
}

// Run runs the checks and says how each went.
func (k *Kit) Run(log io.Writer) error {
	failed := 0
	for i, c := range checks {
		folder := filepath.Join(k.Folder, fmt.Sprintf("check%d", i+1))
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		err, without := c.run(k, folder), refusal("")
		switch {
		case errors.As(err, &without):
			fmt.Fprintf(log, "passed: %s; it said: %s\n", c.what, without)
		case err != nil:
			failed++
			fmt.Fprintf(log, "FAILED: %s: %v\n", c.what, err)
		default:
			fmt.Fprintf(log, "passed: %s\n", c.what)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}

func (k *Kit) job(epochs int) *Job {
	j := &Job{Request: k.Request, Weights: k.Weights}
	j.Settings, j.Settings.Epochs = k.Settings, epochs
	return j
}

func (k *Kit) evaluates(folder string) error {
	a, err := k.Trainer.Train(folder, k.job(0))
	if err != nil {
		return err
	}
	if !(a.Metrics.Accuracy >= 0 && a.Metrics.Accuracy <= 1) {
		return fmt.Errorf("metrics.accuracy is %v; want a share from 0 to 1", a.Metrics.Accuracy)
	}
	if d := apart(a.Weights, k.Weights); d != 0 {
		return fmt.Errorf("weights differ by up to %v", d)
	}
	return nil
}

func (k *Kit) trains(folder string) error {
	a, err := k.Trainer.Train(folder, k.job(1))
	if err != nil {
		return err
	}
	if apart(a.Weights, k.Weights) == 0 {
		return fmt.Errorf("no weights changed")
	}
	return nil
}

// largest is the number of the weights with most elements.
func (k *Kit) largest() int {
	most := 0
	for i, t := range k.Weights {
		if len(t.Data) > len(k.Weights[most].Data) {
			most = i
		}
	}
	return most
}

func (k *Kit) masks(folder string) error {
	w := k.Weights[k.largest()]
	mask := make([]bool, len(w.Data))
	for i := range mask {
		mask[i] = i%3 == 0
	}
	for _, epochs := range []int{0, 1} {
		j := k.job(epochs)
		j.Kept = map[string][]bool{w.Name: mask}
		if epochs == 0 { // what is evaluated is masked by the driver
			j.Weights = maskedCopy(j.Weights, j.Kept)
		}
		if _, err := k.Trainer.Train(filepath.Join(folder, fmt.Sprint(epochs)), j); err != nil {
			return err
		}
	}
	return nil
}

func maskedCopy(weights []Tensor, kept map[string][]bool) []Tensor {
	var out []Tensor
	for _, t := range weights {
		t.Data = append([]float32{}, t.Data...)
		for i, k := range kept[t.Name] {
			if !k {
				t.Data[i] = 0
			}
		}
		out = append(out, t)
	}
	return out
}

// refusal is what a trainer says that does without a part of the protocol, as it may.
type refusal string

func (r refusal) Error() string { return string(r) }

// chooses has half of the largest weights' kernels kept, and of each kernel its first tap.
func (k *Kit) chooses(folder string) error {
	w := k.Weights[k.largest()]
	c := Choice{Weight: w.Name, Groups: 1, Share: 1, Patterns: [][]int{{0}}}
	if len(w.Shape) < 2 {
		return nil // they have no kernels
	}
	c.Kernels = int(max(1, w.Shape[0]*w.Shape[1]/2))
	j := k.job(1)
	j.Settings.Average = 0 // it would want epochs after those of the choices
	j.Choices = &Choices{Epochs: 1, Every: 1, Weights: []Choice{c}}
	_, err := k.Trainer.Train(folder, j)
	if err == nil || !strings.Contains(err.Error(), "it failed") {
		return err
	}
	for _, line := range strings.Split(err.Error(), "\n")[1:] { // after how it ended
		if strings.Contains(line, "choices") && !strings.HasPrefix(line, " ") { // the places of a traceback are indented
			return refusal(line)
		}
	}
	return err
}

// pulls compares an epoch with a quadratic term with one without: the distance to the target shrinks.
func (k *Kit) pulls(folder string) error {
	at := k.largest()
	w := k.Weights[at]
	target := make([]float32, len(w.Data))
	for i, x := range w.Data {
		target[i] = x / 2
	}
	distance := func(rho float64) (float64, error) {
		j := k.job(1)
		j.Settings.WeightDecay = 0
		j.Terms = []Term{{w.Name, rho, w.Name + "/target"}}
		j.Targets = []Tensor{{w.Name + "/target", w.Shape, target}}
		a, err := k.Trainer.Train(filepath.Join(folder, fmt.Sprint("rho", rho)), j)
		if err != nil {
			return 0, err
		}
		sum := 0.0
		for i, x := range a.Weights[at].Data {
			d := float64(x) - float64(target[i])
			sum += float64(d * d)
		}
		return math.Sqrt(sum), nil
	}
	free, err := distance(0)
	if err != nil {
		return err
	}
	held, err := distance(1)
	if err != nil {
		return err
	}
	if held >= free {
		return fmt.Errorf("an epoch ends %v from the target with rho 1, and %v with rho 0", held, free)
	}
	return nil
}

// goesOn stops the trainer a few times, a little later each time, and lets it end at last.
func (k *Kit) goesOn(folder string) error {
	short := *k.Trainer
	for _, after := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		short.limit = after
		if _, err := short.Train(folder, k.job(2)); err == nil {
			break // it was fast
		}
	}
	_, err := k.Trainer.Train(folder, k.job(2))
	return err
}

// refused runs a trainer on a job that is broken after it was written.
func (k *Kit) refused(folder string, spoil func() error) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if _, err := k.job(0).write(folder); err != nil {
		return err
	}
	if err := spoil(); err != nil {
		return err
	}
	err := k.Trainer.run(folder)
	switch {
	case err == nil:
		return fmt.Errorf("it exited with status 0; want a failure")
	case exists(filepath.Join(folder, ResultFile)):
		return fmt.Errorf("it wrote %s", ResultFile)
	case !strings.Contains(err.Error(), "it failed"):
		return err
	}
	return nil
}

func (k *Kit) refusesVersion(folder string) error {
	return k.refused(folder, func() error {
		r := k.job(0).Request
		r.Version = Version + 1000
		text, err := json.Marshal(&r)
		if err != nil {
			return err
		}
		return writeBytes(filepath.Join(folder, RequestFile), text)
	})
}

func (k *Kit) refusesWeights(folder string) error {
	return k.refused(folder, func() error {
		path := filepath.Join(folder, WeightsFile)
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return writeBytes(path, b[:len(b)-1])
	})
}

// apart is the greatest difference of elements.
func apart(a, b []Tensor) float64 {
	most := 0.0
	for k, t := range a {
		for i, x := range t.Data {
			most = max(most, math.Abs(float64(x)-float64(b[k].Data[i])))
		}
	}
	return most
}
