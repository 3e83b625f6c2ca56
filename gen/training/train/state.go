package train

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/safetensors"
)

// State is all that a training needs to go on, as if it had not stopped.
type State struct {
	Epoch   int       `json:"epoch"`
	Steps   int       `json:"steps"`
	Mean    int       `json:"mean,omitempty"` // how many steps the averages are of
	Last    Metrics   `json:"last"`
	Epochs  []Metrics `json:"epochs,omitempty"` // all of them
	tensors []safetensors.Tensor
}

// stateKey is the metadata's entry of a state.
const stateKey = "rules_dnn training"

func (t *trainer) state() *State {
	s := &State{Epoch: t.epoch, Steps: t.opt.steps, Last: t.last, Epochs: slices.Clone(t.epochs)}
	add := func(name string, shape []int64, data []float32) {
		s.tensors = append(s.tensors, safetensors.Tensor{Name: name, Tensor: tensorOf(shape, data)})
	}
	for _, w := range t.n.All() {
		add(w.Name, w.Shape, w.Data)
	}
	for k, w := range t.n.Weights {
		add(w.Name+"/first", w.Shape, t.opt.moments[k].first)
		if second := t.opt.moments[k].second; second != nil {
			add(w.Name+"/second", w.Shape, second)
		}
	}
	if t.mean != nil {
		s.Mean = t.mean.count
		for k, w := range t.mean.weights {
			add(w.Name+"/average", w.Shape, t.mean.sums[k])
		}
	}
	return s
}

func tensorOf(shape []int64, data []float32) *ir.Tensor {
	t := ir.NewTensor(ir.F32, shape...)
	copy(f32(t), data)
	return t
}

// Write writes the state as safetensors.
func (s *State) Write(w io.Writer) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return safetensors.Write(w, &safetensors.File{Metadata: map[string]string{stateKey: string(text)}, Tensors: s.tensors})
}

// ReadState reads what Write wrote.
func ReadState(f *ir.File) (*State, error) {
	file, err := safetensors.Read(f)
	if err != nil {
		return nil, err
	}
	s := &State{tensors: file.Tensors}
	if err := json.Unmarshal([]byte(file.Metadata[stateKey]), s); err != nil {
		return nil, fmt.Errorf("reading a checkpoint: its metadata %q: %w", stateKey, err)
	}
	return s, nil
}

// restore goes on from a state.
func (t *trainer) restore(s *State) error {
	t.epoch, t.opt.steps, t.last, t.epochs = s.Epoch, s.Steps, s.Last, slices.Clone(s.Epochs)
	take := func(name string, shape []int64, to []float32) error {
		k := slices.IndexFunc(s.tensors, func(x safetensors.Tensor) bool { return x.Name == name })
		if k < 0 {
			return fmt.Errorf("the checkpoint has no tensor %s", ir.Show(name))
		}
		return CopyInto(to, shape, s.tensors[k])
	}
	for _, w := range t.n.All() {
		if err := take(w.Name, w.Shape, w.Data); err != nil {
			return err
		}
	}
	for k, w := range t.n.Weights {
		if err := take(w.Name+"/first", w.Shape, t.opt.moments[k].first); err != nil {
			return err
		}
		if second := t.opt.moments[k].second; second != nil {
			if err := take(w.Name+"/second", w.Shape, second); err != nil {
				return err
			}
		}
	}
	if t.mean == nil {
		return nil
	}
	t.mean.count = s.Mean
	for k, w := range t.mean.weights {
		if err := take(w.Name+"/average", w.Shape, t.mean.sums[k]); err != nil {
			return err
		}
	}
	return nil
}

// CopyInto copies a tensor of f32 of the shape.
func CopyInto(to []float32, shape []int64, t safetensors.Tensor) error {
	if t.Type != ir.F32 || !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("tensor %s has type %s and shape %v; want f32 and %v", ir.Show(t.Name), t.Type, t.Shape, shape)
	}
	raw, err := t.Bytes()
	if err != nil {
		return err
	}
	aligned := ir.NewTensor(ir.F32, shape...)
	copy(aligned.Data, raw)
	copy(to, elems.View(ir.F32, aligned.Data).F32)
	return nil
}
