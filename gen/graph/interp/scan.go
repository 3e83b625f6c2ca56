package interp

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// scan runs a Scan: once, or for each element of a batch.
func (c *control) scan(operands []*ir.Tensor) ([]*ir.Tensor, error) {
	s, err := ops.ScanOf(c.n)
	if err != nil {
		return nil, err
	}
	own := operands[s.First:len(c.n.Own())]
	if !s.Batch {
		return c.sequence(s, own)
	}
	batch := int64(-1)
	for i, t := range own {
		if len(t.Shape) == 0 || batch >= 0 && t.Shape[0] != batch {
			return nil, c.n.Errorf("operand %d has shape %v; in opset 8, the first axes of all operands must have the same extent", s.First+i, t.Shape)
		}
		batch = t.Shape[0]
	}
	stacks := c.stacks(s.Body, 0, 0)
	for b := range batch {
		elems := make([]*ir.Tensor, len(own))
		for i, t := range own {
			if elems[i], err = slice(t, 0, int(b)); err != nil {
				return nil, c.n.Errorf("operand %d: %w", s.First+i, err)
			}
		}
		out, err := c.sequence(s, elems)
		if err != nil {
			return nil, err
		}
		if err := c.push(stacks, out); err != nil {
			return nil, err
		}
	}
	if batch == 0 {
		return nil, c.n.Errorf("the batch is empty; opset 8 does not define a result for it")
	}
	return c.finish(nil, stacks)
}

// sequence runs the body for each slice of the scanned operands.
func (c *control) sequence(s *ops.ScanSpec, own []*ir.Tensor) ([]*ir.Tensor, error) {
	states, scanned := own[:len(s.States)], own[len(s.States):]
	axes := make([]int, len(scanned))
	length := int64(-1)
	for i, t := range scanned {
		axis, err := s.In[i].Of(len(t.Shape))
		if err != nil {
			return nil, c.n.Errorf("operand %d: %w", s.First+len(states)+i, err)
		}
		if axes[i] = axis; length >= 0 && t.Shape[axis] != length {
			return nil, c.n.Errorf("operand %d has extent %d along its scan axis; another operand has %d",
				s.First+len(states)+i, t.Shape[axis], length)
		}
		length = t.Shape[axis]
	}
	stacks := c.stacks(s.Body, 0, len(states))
	for i, a := range s.Out {
		stacks[i].along = a
	}
	for at := range length {
		inputs := append([]*ir.Tensor{}, states...)
		for i, t := range scanned {
			place := at
			if s.In[i].Backward {
				place = length - 1 - at
			}
			part, err := slice(t, axes[i], int(place))
			if err != nil {
				return nil, c.n.Errorf("operand %d: %w", s.First+len(states)+i, err)
			}
			inputs = append(inputs, part)
		}
		out, err := c.body(s.Body, inputs...)
		if err != nil {
			return nil, err
		}
		states = out[:len(states)]
		if err := c.push(stacks, out[len(states):]); err != nil {
			return nil, err
		}
	}
	return c.finish(states, stacks)
}
