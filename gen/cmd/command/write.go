package command

import (
	"encoding/json"
	"fmt"
	"io"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/training/admm"
	"rules_dnn/gen/training/train"
	"rules_dnn/gen/training/trainer"
)

// modelWriter writes a model with other weights, and all else as it is, byte for byte.
type modelWriter struct {
	file  *ir.File
	place map[string]*ir.Source
}

// newModelWriter finds where the weights lie: what cannot be written is known before hours of training.
func newModelWriter(path string, n *train.Network) (*modelWriter, error) {
	file, err := readModel(path)
	if err != nil {
		return nil, err
	}
	find, err := onnx.Places(file, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w := &modelWriter{file, map[string]*ir.Source{}}
	for _, t := range n.All() {
		if w.place[t.Name], err = find(t.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return w, nil
}

func (m *modelWriter) model(path string, weights []trainer.Tensor) error {
	changes := map[*ir.Source][]byte{}
	for _, w := range weights {
		t := ir.NewTensor(ir.F32, w.Shape...)
		copy(elems.View(ir.F32, t.Data).F32, w.Data)
		changes[m.place[w.Name]] = t.Data
	}
	return trainer.WriteFile(path, func(w io.Writer) error { return onnx.WriteChanged(w, m.file, changes) })
}

// pruneLog is the log of a pruning.
type pruneLog struct {
	Pruning prune.Options `json:"pruning"` // the options; see Options of the pruning report above
	// The schedule of ADMM and of the training after it.
	Schedule schedule `json:"schedule"`
	// Loss and accuracy of the network as given.
	Before train.Metrics `json:"before"`
	// Loss and accuracy after the weights are projected onto the masks, without further training.
	Projected train.Metrics `json:"projected"`
	// Loss and accuracy of the pruned network after retraining.
	After     train.Metrics   `json:"after"`
	Layers    []layerLog      `json:"layers"`    // the pruned layers
	Residuals []admm.Residual `json:"residuals"` // the residuals of each layer in each iteration of ADMM
	Trained   []admm.Trained  `json:"trained"`   // the metrics of each epoch, by training job
}

// schedule is the schedule of a pruning.
type schedule struct {
	Iterations int     `json:"iterations"`       // the number of iterations of ADMM
	Steps      int     `json:"steps"`            // the number of masked trainings after ADMM in which more and more kernels are dropped
	Epochs     int     `json:"epochs"`           // the number of epochs of each iteration and step
	Retrain    int     `json:"retrain"`          // the number of epochs of masked training at the end
	Choose     int     `json:"choose,omitempty"` // the number of these epochs, from the first one on, in which the trainer chooses the masks again
	Every      int     `json:"every,omitempty"`  // the number of steps between two choices of the masks
	Fade       float64 `json:"fade,omitempty"`   // the weight of the quadratic term that pulls masked weights to 0 meanwhile
	Rho        float64 `json:"rho"`              // the weight of ADMM's quadratic terms in the first iteration
	Growth     float64 `json:"growth"`           // the factor by which rho grows in each iteration
	Most       float64 `json:"most"`             // the maximum of rho
	// The training settings of iterations and steps.
	Settings train.Settings `json:"settings"`
	// The training settings of the masked training at the end.
	Retraining train.Settings `json:"retrain_settings"`
}

// layerLog describes a pruned layer.
type layerLog struct {
	Name    string `json:"name"`         // the name of the layer's weights
	Weights int64  `json:"weights"`      // the number of weights before pruning
	Kept    int64  `json:"kept_weights"` // the number of weights that are kept
}

// write writes model, masks and log.
func (f *pruneFlags) write(w *modelWriter, p *plan, r *admm.Run, out *admm.Outcome) error {
	if err := w.model(f.out, out.Weights); err != nil {
		return err
	}
	err := trainer.WriteFile(f.outMasks, func(to io.Writer) error { return masks.Write(to, out.Masks) })
	if err != nil {
		return err
	}
	log := pruneLog{Pruning: p.options, Before: out.Before, Projected: out.Projected, After: out.After, Layers: []layerLog{}, Residuals: append([]admm.Residual{}, out.Residuals...), Trained: out.Trained}
	log.Schedule = schedule{r.Iterations, r.Steps, r.Epochs, r.Retrain, r.Choose, 0, 0, r.Rho, r.Growth, r.Most, r.Train, r.Tune}
	if r.Choose > 0 {
		log.Schedule.Every, log.Schedule.Fade = r.Every, r.Fade
	}
	all, left := int64(0), int64(0)
	for _, m := range out.Masks.Layers {
		_, n := m.Total()
		_, k := m.Kept()
		all, left = all+n, left+k
		log.Layers = append(log.Layers, layerLog{m.Name, n, k})
	}
	text, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(f.common.out, "accuracy %.4f before, %.4f after; pruned layers have %.2f times fewer weights\n", out.Before.Accuracy, out.After.Accuracy, float64(all)/float64(max(left, 1)))
	return trainer.WriteFile(f.outLog, func(to io.Writer) error {
		_, err := to.Write(append(text, '\n'))
		return err
	})
}
