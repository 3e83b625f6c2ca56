package interp

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
)

// buffer is a tensor's elements and its shape.
type buffer struct {
	*elems.Buffer
	shape []int64
}

// bufferOf views the tensor's bytes as elements.
func bufferOf(t *ir.Tensor) (*buffer, error) {
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	if err := checkSize(t, raw); err != nil {
		return nil, err
	}
	return &buffer{elems.View(t.Type, raw), t.Shape}, nil
}
