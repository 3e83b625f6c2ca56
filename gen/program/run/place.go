package run

import (
	"bytes"
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// memory is where a value lies, checked against what the kernel takes it for.
func (h *host) memory(v *ir.Value, m *memory) ([]byte, error) {
	at, ok := h.p.Places[v]
	if !ok {
		return nil, fmt.Errorf("the value has no place")
	}
	n, err := h.p.Layouts[v].Elements(v.Shape).Eval(h.symbols)
	if err != nil {
		return nil, err
	}
	if m.Type != v.Type || m.size != n {
		return nil, fmt.Errorf("the value is %d x %s, the kernel's buffer %s %d x %s", n, v.Type, m.name, m.size, m.Type)
	}
	if isImage := h.p.Layouts[v].Memory == layout.Image; isImage != (at.Region == plan.Image) || isImage != (m.width > 0) {
		return nil, fmt.Errorf("the value's layout, its place and the kernel's buffer %s do not agree on whether it is an image", m.name)
	}
	if m.kind == result && at.Region != plan.Arena && at.Region != plan.Output && at.Region != plan.Image {
		return nil, fmt.Errorf("a result lies in what is only read")
	}
	return h.bytes(v)
}

// bytes are a value's in its place.
func (h *host) bytes(v *ir.Value) ([]byte, error) {
	at, ok := h.p.Places[v]
	if !ok {
		return nil, fmt.Errorf("the value has no place")
	}
	n, err := h.p.Layouts[v].Elements(v.Shape).Eval(h.symbols)
	if err != nil {
		return nil, err
	}
	alignment := int64(plan.Alignment)
	if _, inside := h.p.Homes[v]; inside {
		alignment = int64(v.Type.Size())
	}
	in := h.stores[at.Space]
	if in == nil {
		return nil, fmt.Errorf("the value is on the %s, but the program has no plan for that memory", at.Space)
	}
	memory := in.arena
	switch at.Region {
	case plan.Input:
		if memory, err = h.inputs[at.N].Bytes(); err != nil {
			return nil, err
		}
	case plan.Output:
		memory = h.outputs[at.N].Data
	case plan.Weights:
		memory = in.weights
	case plan.Image:
		memory = in.images[at.N]
	}
	return h.part(memory, at.Offset, n*int64(v.Type.Size()), alignment)
}

func (h *host) part(memory []byte, offset sym.Expr, n, alignment int64) ([]byte, error) {
	at, err := offset.Eval(h.symbols)
	if err != nil {
		return nil, err
	}
	if at%alignment != 0 || at < 0 || at+n > int64(len(memory)) {
		return nil, fmt.Errorf("bytes %d to %d are outside of memory of %d, or not aligned", at, at+n, len(memory))
	}
	return memory[at : at+n], nil
}

// claim checks that operands are intact and gives results their memory, which must be theirs alone.
func (h *host) claim(s *plan.Call, buffers [][]byte) error {
	for i, v := range s.Args {
		if !s.Kernel.Buffers[i].Write {
			if err := h.intact(v, buffers[i]); err != nil {
				return err
			}
		}
	}
	for i, v := range s.Args {
		if s.Kernel.Buffers[i].Write {
			h.own(v, buffers[i])
		}
	}
	for i, v := range s.Args {
		if err := h.intact(v, buffers[i]); err != nil {
			return fmt.Errorf("within the step: %w", err)
		}
	}
	return nil
}

// own notes that a value was written. Values that share storage by the plan are one owner.
func (h *host) own(v *ir.Value, data []byte) {
	h.written[v], h.written[h.root(v)] = true, true
	owner := h.stores[h.p.Places[v].Space].owner
	for _, line := range h.lines(v, len(data)) {
		owner[line] = h.root(v)
	}
}

// root is the value in whose storage v lies.
func (h *host) root(v *ir.Value) *ir.Value {
	for at, ok := h.p.Homes[v]; ok; at, ok = h.p.Homes[v] {
		v = at.Of
	}
	return v
}

// intact reports that a value was written and that nothing has overwritten it since.
func (h *host) intact(v *ir.Value, data []byte) error {
	switch h.p.Places[v].Region {
	case plan.Input:
		return nil
	case plan.Weights:
		want, err := v.Const.Bytes()
		if err == nil && !bytes.Equal(want, data) {
			err = fmt.Errorf("constant %q is not what lies at its place in the weights", v.Name)
		}
		return err
	}
	if !h.written[h.root(v)] && len(data) > 0 {
		return fmt.Errorf("%q is read before a step writes it", v.Name)
	}
	owner := h.stores[h.p.Places[v].Space].owner
	for _, line := range h.lines(v, len(data)) {
		if o := owner[line]; o == nil {
			return fmt.Errorf("%q is read before a step writes it", v.Name)
		} else if o != h.root(v) {
			if at := h.p.Places[v]; at.Region == plan.Image {
				return fmt.Errorf("%q is overwritten by %q in image %d", v.Name, o.Name, at.N)
			}
			return fmt.Errorf("%q is overwritten by %q from byte %d of the arena on", v.Name, o.Name, line*plan.Alignment)
		}
	}
	return nil
}

// lines are the arena's lines of a value, none if it lies elsewhere; an image is one line after them.
func (h *host) lines(v *ir.Value, n int) []int {
	at := h.p.Places[v]
	switch at.Region {
	case plan.Arena:
	case plan.Image:
		in := h.stores[at.Space]
		return []int{len(in.owner) - len(in.images) + at.N}
	default:
		return nil
	}
	start, err := at.Offset.Eval(h.symbols)
	if err != nil {
		return nil // memory has told
	}
	var out []int
	for line := int(start) / plan.Alignment; line*plan.Alignment < int(start)+n; line++ {
		out = append(out, line)
	}
	return out
}
