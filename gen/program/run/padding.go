package run

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
)

// checkPadding reports that storage beyond the value's own elements is zero, as its readers expect.
func (h *host) checkPadding(v *ir.Value, data []byte) error {
	l := h.p.Layouts[v]
	parts := layout.PartsOf(l, len(v.Shape))
	if !parts.Padded(v.Shape) {
		return nil
	}
	dims, err := evalAll(parts.Dims(v.Shape), h.symbols)
	if err != nil {
		return err
	}
	extents, err := evalAll(v.Shape, h.symbols)
	if err != nil {
		return err
	}
	size := v.Type.Size()
	for i := 0; i < len(data); i += size {
		if zero(data[i : i+size]) {
			continue
		}
		e := int64(i / size)
		for axis, c := range parts.At(dims, e) {
			if c >= extents[axis] {
				return fmt.Errorf("%q is not zero at storage element %d, which is padding (%s, index %d of %d)", v.Name, e, l, c, extents[axis])
			}
		}
	}
	return nil
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
