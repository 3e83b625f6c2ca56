package run

import (
	"fmt"

	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// newImages makes the images that values share.
func newImages(m *plan.Memory, symbols map[string]int64) ([][]byte, error) {
	var out [][]byte
	for i, t := range m.Images {
		w, err := t.Width.Eval(symbols)
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		h, err := t.Height.Eval(symbols)
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		b := aligned(w * h * layout.TexelLanes * int64(t.Type.Size()))
		poison(b)
		out = append(out, b)
	}
	return out, nil
}
