package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/training/train"
	"rules_dnn/gen/training/train/dataset"
)

// Serve runs the job in a folder by the built-in trainer. A checkpoint that is there is where it goes on.
func Serve(folder string, log io.Writer) error {
	request, err := os.ReadFile(filepath.Join(folder, RequestFile))
	if err != nil {
		return err
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(request, &version); err != nil {
		return fmt.Errorf("%s: %w", RequestFile, err)
	}
	if version.Version != Version {
		return fmt.Errorf("%s has version %d of the protocol; this trainer has version %d", RequestFile, version.Version, Version)
	}
	var r Request
	if err := jsonfile.Parse(request, &r); err != nil {
		return fmt.Errorf("%s: %w", RequestFile, err)
	}
	if r.Choices != nil {
		return errors.New("choices: the built-in trainer cannot choose masks while it trains; the one in PyTorch can (docs/trainers.md)")
	}
	s := &server{Request: &r, folder: folder, log: log}
	metrics, err := s.fit()
	if err != nil {
		return err
	}
	return s.finish(request, metrics)
}

// server is a job of the built-in trainer.
type server struct {
	epochs []train.Metrics // how they went
	*Request
	folder  string
	log     io.Writer
	network *train.Network
}

func (s *server) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.folder, name)
}

func memory(b []byte) *ir.File { return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))} }

// fit trains.
func (s *server) fit() (train.Metrics, error) {
	if err := s.load(); err != nil {
		return train.Metrics{}, err
	}
	data, err := dataset.Open(s.Data, s.folder)
	if err != nil {
		return train.Metrics{}, err
	}
	task := &train.Task{Settings: s.Settings, Train: data.Train, Test: data.Test, Workers: s.Workers}
	if task.Workers == 0 {
		task.Workers = runtime.GOMAXPROCS(0)
	}
	if err := s.constrain(task); err != nil {
		return train.Metrics{}, err
	}
	if s.Settings.Distillation > 0 {
		if task.Teacher, err = s.model(); err != nil {
			return train.Metrics{}, err
		}
	}
	task.Log = func(m train.Metrics) {
		fmt.Fprintf(s.log, "epoch %d of %d: loss %.4f, accuracy %.4f\n", m.Epoch, s.Settings.Epochs, m.Loss, m.Accuracy)
		s.epochs = append(s.epochs, m)
	}
	task.Save = func(x *train.State) error { return WriteFile(s.path(Checkpoint), x.Write) }
	if s.Settings.Epochs == 0 {
		accuracy, err := s.network.Accuracy(data.Test, task.Batch, task.Workers)
		return train.Metrics{Accuracy: accuracy}, err
	}
	var from *train.State
	if text, err := os.ReadFile(s.path(Checkpoint)); err == nil {
		if from, err = train.ReadState(memory(text)); err != nil {
			return train.Metrics{}, fmt.Errorf("%s: %w; remove the file to start the job again", Checkpoint, err)
		}
		s.epochs = slices.Clone(from.Epochs)
		fmt.Fprintf(s.log, "continuing after epoch %d\n", from.Epoch)
	}
	return s.network.Fit(task, from)
}

// model is the network as its file has it.
func (s *server) model() (*train.Network, error) {
	model, err := os.ReadFile(s.path(s.Model))
	if err != nil {
		return nil, err
	}
	n, err := train.New(memory(model), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Model, err)
	}
	return n, nil
}

// load reads the network and its weights.
func (s *server) load() error {
	var err error
	if s.network, err = s.model(); err != nil {
		return err
	}
	given, err := ReadTensors(s.path(WeightsFile))
	if err != nil {
		return err
	}
	for _, t := range given {
		w := s.network.Find(t.Name)
		if w == nil {
			return fmt.Errorf("%s: tensor %s is not one of the network's weights", WeightsFile, ir.Show(t.Name))
		}
		if !slices.Equal(w.Shape, t.Shape) {
			return fmt.Errorf("%s: weights %s have shape %v; the network's have %v", WeightsFile, ir.Show(t.Name), t.Shape, w.Shape)
		}
		copy(w.Data, t.Data)
	}
	for _, w := range s.network.All() {
		if !slices.ContainsFunc(given, func(t Tensor) bool { return t.Name == w.Name }) {
			return fmt.Errorf("%s: weights %s of the network are missing", WeightsFile, ir.Show(w.Name))
		}
	}
	return nil
}

// constrain reads masks and quadratic terms.
func (s *server) constrain(task *train.Task) error {
	if s.Masks {
		var err error
		if task.Masks, err = readMasks(s.path(MasksFile)); err != nil {
			return err
		}
	}
	if len(s.Terms) == 0 {
		return nil
	}
	targets, err := ReadTensors(s.path(TermsFile))
	if err != nil {
		return err
	}
	at := map[string][]float32{}
	for _, t := range targets {
		at[t.Name] = t.Data
	}
	for _, x := range s.Terms {
		target, ok := at[x.Target]
		if !ok {
			return fmt.Errorf("%s has no tensor %s, which is the target of a quadratic term of %s", TermsFile, ir.Show(x.Target), ir.Show(x.Weight))
		}
		task.Pulls = append(task.Pulls, train.Pull{Weight: x.Weight, Rho: x.Rho, Target: target})
	}
	return nil
}

// finish writes what came of it.
func (s *server) finish(request []byte, metrics train.Metrics) error {
	if err := WriteTensors(s.path(OutputFile), Tensors(s.network)); err != nil {
		return err
	}
	output, err := os.ReadFile(s.path(OutputFile))
	if err != nil {
		return err
	}
	text, err := json.Marshal(&Result{Version, digest(request), digest(output), &metrics, s.epochs})
	if err != nil {
		return err
	}
	return writeBytes(s.path(ResultFile), text)
}

// Tensors are a network's weights and statistics.
func Tensors(n *train.Network) []Tensor {
	var out []Tensor
	for _, w := range n.All() {
		out = append(out, Tensor{w.Name, w.Shape, append([]float32{}, w.Data...)})
	}
	return out
}
