package run

import (
	"fmt"

	"rules_dnn/gen/layout"
)

// allocateImages makes the images that values share.
func (h *host) allocateImages() error {
	for i, t := range h.p.Images {
		w, err := t.Width.Eval(h.symbols)
		if err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
		hi, err := t.Height.Eval(h.symbols)
		if err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
		b := aligned(w * hi * layout.TexelLanes * int64(t.Type.Size()))
		poison(b)
		h.images = append(h.images, b)
	}
	return nil
}
