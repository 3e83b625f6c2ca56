package run

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
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
	host, err := newStore(&h.p.Memory, h.symbols)
	if err != nil {
		return err
	}
	h.stores = map[layout.Space]*store{layout.Host: host}
	if d := h.p.Device; d != nil {
		if h.stores[layout.Device], err = newStore(&d.Memory, h.symbols); err != nil {
			return fmt.Errorf("on the device: %w", err)
		}
	}
	return nil
}

// store is a space's memory in a run.
type store struct {
	weights []byte
	scratch []byte
	arena   []byte
	images  [][]byte
	// owner is the value that was written last to each line of the arena, and then to each image.
	owner []*ir.Value
}

// newStore takes the memory of a space's plan, with its constants.
func newStore(m *plan.Memory, symbols map[string]int64) (*store, error) {
	arena, err := m.ArenaBytes.Eval(symbols)
	if err != nil {
		return nil, fmt.Errorf("arena: %w", err)
	}
	scratch, err := m.ScratchBytes.Eval(symbols)
	if err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	if arena > maxBytes || scratch > maxBytes {
		return nil, &SizeError{fmt.Sprintf("intermediate values of %d bytes and %d of scratch, at most %d each are possible here", arena, scratch, int64(maxBytes))}
	}
	s := &store{arena: aligned(arena), scratch: aligned(scratch), weights: aligned(m.WeightsBytes)}
	poison(s.arena)
	poison(s.scratch)
	if s.images, err = newImages(m, symbols); err != nil {
		return nil, err
	}
	s.owner = make([]*ir.Value, (arena+plan.Alignment-1)/plan.Alignment+int64(len(s.images)))
	for _, c := range m.Constants {
		data, err := c.Value.Const.Bytes()
		if err != nil {
			return nil, err
		}
		if c.Offset%plan.Alignment != 0 || c.Offset+int64(len(data)) > m.WeightsBytes {
			return nil, fmt.Errorf("constant %q lies at %d of weights of %d bytes", c.Value.Name, c.Offset, m.WeightsBytes)
		}
		copy(s.weights[c.Offset:], data)
	}
	return s, nil
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xff // as floats: NaN
	}
}

// aligned is memory aligned to any element.
func aligned(n int64) []byte { return ir.NewTensor(ir.U64, (n+7)/8).Data[:n] }
