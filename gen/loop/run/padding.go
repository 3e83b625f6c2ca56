package run

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// checkPadding tells that storage beyond the value's own elements is zero, as its readers expect.
func (h *host) checkPadding(v *ir.Value, data []byte) error {
	l := h.p.Layouts[v]
	if !l.Padded(v.Shape) {
		return nil
	}
	dims, err := evalAll(l.Dims(v.Shape), h.symbols)
	if err != nil {
		return err
	}
	extent, err := v.Shape[l.Axis].Eval(h.symbols)
	if err != nil {
		return err
	}
	inner := int64(1) // elements between neighbours along the split axis' blocks
	for _, d := range dims[l.Axis+1:] {
		inner *= d
	}
	size := v.Type.Size()
	for i := 0; i < len(data); i += size {
		e := int64(i / size)
		c := e/inner%dims[l.Axis]*l.Block + e%l.Block
		if c >= extent && !zero(data[i:i+size]) {
			return fmt.Errorf("%q is not zero at storage element %d, which is padding (%s, index %d of %d)", v.Name, e, l, c, extent)
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
