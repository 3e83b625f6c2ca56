package command

import (
	"encoding/json"
	"fmt"
	"io"

	"rules_dnn/gen/admm"
	"rules_dnn/gen/elems"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/masks"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/prune"
	"rules_dnn/gen/train"
	"rules_dnn/gen/trainer"
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

// pruneLog is what is known of a pruning.
type pruneLog struct {
	Pruning prune.Options `json:"pruning"`
	// Schedule is that of ADMM; its epochs are those of each iteration and step.
	Schedule  schedule        `json:"schedule"`
	Before    train.Metrics   `json:"before"`
	Projected train.Metrics   `json:"projected"`
	After     train.Metrics   `json:"after"`
	Layers    []layerLog      `json:"layers"`
	Residuals []admm.Residual `json:"residuals"`
	Trained   []admm.Trained  `json:"trained"`
}

type schedule struct {
	Iterations int            `json:"iterations"`
	Steps      int            `json:"steps"`
	Epochs     int            `json:"epochs"`
	Retrain    int            `json:"retrain"`
	Choose     int            `json:"choose,omitempty"`
	Every      int            `json:"every,omitempty"`
	Fade       float64        `json:"fade,omitempty"`
	Rho        float64        `json:"rho"`
	Growth     float64        `json:"growth"`
	Most       float64        `json:"most"`
	Settings   train.Settings `json:"settings"`
	Retraining train.Settings `json:"retrain_settings"`
}

// layerLog is what was left of a layer.
type layerLog struct {
	Name    string `json:"name"`
	Weights int64  `json:"weights"`
	Kept    int64  `json:"kept_weights"`
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
