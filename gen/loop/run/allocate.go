package run

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/plan"
)

// maxBytes of one output, of the arena or of scratch: a program whose dimensions come from its data may ask for
// any size before a check refuses them.
const maxBytes = 1 << 30

// SizeError reports a run that would take more memory than maxBytes.
type SizeError struct{ text string }

func (e *SizeError) Error() string { return e.text }

// allocate makes the memory of a run and fills what is not written yet with bytes of no use.
func (h *host) allocate(inputs []*ir.Tensor) error {
	h.inputs = inputs
	for i, v := range h.p.Outputs {
		shape, err := evalAll(h.p.Shapes[i], h.symbols)
		if err != nil {
			return fmt.Errorf("output %q: %w", v.Name, err)
		}
		n, err := ir.Len(shape)
		if err != nil || n > maxBytes/int64(v.Type.Size()) {
			return &SizeError{fmt.Sprintf("output %q of shape %v is larger than %d bytes, which is most here", v.Name, shape, int64(maxBytes))}
		}
		t := ir.NewTensor(v.Type, shape...)
		poison(t.Data)
		h.outputs = append(h.outputs, t)
	}
	arena, err := h.p.ArenaBytes.Eval(h.symbols)
	if err != nil {
		return fmt.Errorf("arena: %w", err)
	}
	scratch, err := h.p.ScratchBytes.Eval(h.symbols)
	if err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	if arena > maxBytes || scratch > maxBytes {
		return &SizeError{fmt.Sprintf("intermediate values of %d bytes and %d of scratch, at most %d each are possible here", arena, scratch, int64(maxBytes))}
	}
	h.arena, h.scratch, h.weights = aligned(arena), aligned(scratch), aligned(h.p.WeightsBytes)
	poison(h.arena)
	poison(h.scratch)
	if err := h.allocateImages(); err != nil {
		return err
	}
	h.owner = make([]*ir.Value, (arena+plan.Alignment-1)/plan.Alignment+int64(len(h.images)))
	for _, c := range h.p.Constants {
		data, err := c.Value.Const.Bytes()
		if err != nil {
			return err
		}
		if c.Offset%plan.Alignment != 0 || c.Offset+int64(len(data)) > h.p.WeightsBytes {
			return fmt.Errorf("constant %q lies at %d of weights of %d bytes", c.Value.Name, c.Offset, h.p.WeightsBytes)
		}
		copy(h.weights[c.Offset:], data)
	}
	return nil
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xff // as floats: NaN
	}
}

// aligned is memory aligned to any element.
func aligned(n int64) []byte { return ir.NewTensor(ir.U64, (n+7)/8).Data[:n] }
