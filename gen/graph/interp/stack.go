package interp

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// ErrNeverRan is why nothing can be stacked in a graph whose shapes nobody inferred.
var ErrNeverRan = errors.New("the body never ran")

// stack collects a body's output over its runs, along a new axis.
type stack struct {
	of    *ir.Value // the body's output
	along ops.ScanAxis
	parts []*ir.Tensor
}

// stacks are for the body's outputs after the first ones and the carried ones.
func (c *control) stacks(body *ir.Graph, first, carried int) []*stack {
	var out []*stack
	for _, v := range body.Outputs[first+carried:] {
		out = append(out, &stack{of: v})
	}
	return out
}

// push adds what one run gives.
func (c *control) push(stacks []*stack, out []*ir.Tensor) error {
	for i, s := range stacks {
		if out[i] == nil {
			continue // nothing uses it
		}
		if len(s.parts) > 0 && (s.parts[0].Type != out[i].Type || !slices.Equal(s.parts[0].Shape, out[i].Shape)) {
			return c.n.Errorf("output %q of its body has shape %v in one iteration and %v in another; stacked values need the same shape",
				s.of.Name, s.parts[0].Shape, out[i].Shape)
		}
		s.parts = append(s.parts, out[i])
	}
	return nil
}

// tensor is what was collected.
func (s *stack) tensor(c *control) (*ir.Tensor, error) {
	typ, shape, err := s.part(c)
	if err != nil {
		return nil, err
	}
	axis, err := s.along.Of(len(shape) + 1)
	if err != nil {
		return nil, err
	}
	r := &run{Interp: c.Interp}
	if r.MaxBytes == 0 {
		r.MaxBytes = DefaultMaxBytes
	}
	out, err := r.make(typ, slices.Insert(slices.Clone(shape), axis, int64(len(s.parts))))
	if err != nil {
		return nil, err
	}
	parts := s.parts
	if s.along.Backward {
		parts = slices.Clone(parts)
		slices.Reverse(parts)
	}
	for i, p := range parts {
		raw, err := p.Bytes()
		if err != nil {
			return nil, err
		}
		eachSlice(out, axis, i, func(at []byte) { raw = raw[copy(at, raw):] })
	}
	return out, nil
}

// part is the type and shape of one run's output. Where the body never ran they are
// what shape inference knows, and 0 for a dimension that a run would have computed.
func (s *stack) part(c *control) (ir.DType, []int64, error) {
	if len(s.parts) > 0 {
		return s.parts[0].Type, s.parts[0].Shape, nil
	}
	shape := make([]int64, len(s.of.Shape))
	for i, d := range s.of.Shape {
		if x, err := d.Eval(c.env); err == nil {
			shape[i] = x
		}
	}
	if !s.of.HasShape || s.of.Type == ir.Invalid {
		return 0, nil, fmt.Errorf("%w, so the shape of its output %q is unknown", ErrNeverRan, s.of.Name)
	}
	return s.of.Type, shape, nil
}

// slice is a tensor's elements at one place of an axis.
func slice(t *ir.Tensor, axis int, at int) (*ir.Tensor, error) {
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	out := ir.NewTensor(t.Type, slices.Delete(slices.Clone(t.Shape), axis, axis+1)...)
	to := out.Data
	eachSlice(&ir.Tensor{Type: t.Type, Shape: t.Shape, Data: raw}, axis, at, func(b []byte) { to = to[copy(to, b):] })
	return out, nil
}

// eachSlice calls f with the runs of bytes at one place of an axis, in order.
func eachSlice(t *ir.Tensor, axis, at int, f func([]byte)) {
	inner := t.Type.Size()
	for _, d := range t.Shape[axis+1:] {
		inner *= int(d)
	}
	if inner == 0 {
		return
	}
	step := inner * int(t.Shape[axis])
	for from := at * inner; from+inner <= len(t.Data); from += step {
		f(t.Data[from : from+inner])
	}
}
