package interp

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// region runs a region on its inputs, captures included.
func (in Interp) region(g *ir.Graph, inputs []*ir.Tensor, env map[string]int64) ([]*ir.Tensor, error) {
	x := &execution{interp: in, env: env, tensors: map[*ir.Value]*ir.Tensor{}, uses: map[*ir.Value]int{}}
	for i, v := range g.Inputs {
		if inputs[i] == nil {
			return nil, fmt.Errorf("input %q of graph %q is absent", v.Name, g.Name)
		}
		if t := inputs[i].Type; v.Type != ir.Invalid && v.Type != t {
			return nil, fmt.Errorf("input %q of graph %q has type %s; the graph wants %s", v.Name, g.Name, t, v.Type)
		}
		x.tensors[v] = inputs[i]
	}
	return x.run(g)
}

// control runs a node that has regions, whose operands have the shapes at hand.
func (in Interp) control(n *ir.Node, operands []*ir.Tensor, env map[string]int64) ([]*ir.Tensor, error) {
	c := &control{Interp: in, n: n, env: env, captures: operands[len(n.Own()):]}
	out, err := c.run(operands)
	if err != nil {
		return nil, err
	}
	for i, v := range n.Outputs {
		if v == nil {
			out[i] = nil
		}
	}
	return out, nil
}

func (c *control) run(operands []*ir.Tensor) ([]*ir.Tensor, error) {
	switch c.n.Op {
	case "If":
		return c.branch(operands)
	case "Loop":
		return c.loop(operands)
	}
	return c.scan(operands)
}

// control is one run of a node with regions.
type control struct {
	Interp
	n        *ir.Node
	env      map[string]int64
	captures []*ir.Tensor
}

// body runs a region on its own inputs and the captures.
func (c *control) body(g *ir.Graph, inputs ...*ir.Tensor) ([]*ir.Tensor, error) {
	out, err := c.region(g, slices.Concat(inputs, c.captures), c.env)
	if err != nil {
		return nil, c.n.Errorf("%w", err)
	}
	return out, nil
}

// truth is a condition, a tensor of one element.
func (c *control) truth(t *ir.Tensor, what string) (bool, error) {
	x, err := c.one(t, ir.Bool, what)
	return x != 0, err
}

func (c *control) one(t *ir.Tensor, typ ir.DType, what string) (int64, error) {
	if t.Type != typ || t.Len() != 1 {
		return 0, c.n.Errorf("%s has type %s and shape %v; want one element of type %s", what, t.Type, t.Shape, typ)
	}
	xs, err := t.Ints()
	if err != nil {
		return 0, c.n.Errorf("%s: %w", what, err)
	}
	return xs[0], nil
}

func (c *control) branch(operands []*ir.Tensor) ([]*ir.Tensor, error) {
	s, err := ops.IfOf(c.n)
	if err != nil {
		return nil, err
	}
	cond, err := c.truth(operands[0], "the condition")
	if err != nil {
		return nil, err
	}
	return c.body(s.Branch(cond))
}

func (c *control) loop(operands []*ir.Tensor) ([]*ir.Tensor, error) {
	s, err := ops.LoopOf(c.n)
	if err != nil {
		return nil, err
	}
	most, limit := int64(math.MaxInt64), c.MaxTrips
	if limit == 0 {
		limit = DefaultMaxTrips
	}
	if s.Max != nil {
		if most, err = c.one(operands[0], ir.I64, "the number of iterations"); err != nil {
			return nil, err
		}
	}
	cond := boolean(true)
	if s.Cond != nil {
		cond = operands[1]
	}
	carried := make([]*ir.Tensor, len(s.Carried))
	copy(carried, operands[min(2, len(operands)):])
	stacks := c.stacks(s.Body, 1, len(s.Carried))
	for i := int64(0); i < most; i++ {
		if s.Cond != nil { // or iterations are counted, and what the body gives decides nothing
			if again, err := c.truth(cond, "the condition"); err != nil {
				return nil, err
			} else if !again {
				break
			}
		}
		if i >= limit {
			return nil, c.n.Errorf("%w", limitf("the loop did not end after %d iterations, which is the limit", limit))
		}
		out, err := c.body(s.Body, append([]*ir.Tensor{integer(i), cond}, carried...)...)
		if err != nil {
			return nil, err
		}
		cond, carried = out[0], out[1:1+len(carried)]
		if err := c.push(stacks, out[1+len(carried):]); err != nil {
			return nil, err
		}
	}
	return c.finish(carried, stacks)
}

func boolean(b bool) *ir.Tensor {
	t := ir.NewTensor(ir.Bool)
	if b {
		t.Data[0] = 1
	}
	return t
}

func integer(x int64) *ir.Tensor {
	t := ir.NewTensor(ir.I64)
	for i := range t.Data {
		t.Data[i] = byte(x >> (8 * i))
	}
	return t
}

// finish are the node's results: what it carried, and what it stacked.
func (c *control) finish(carried []*ir.Tensor, stacks []*stack) ([]*ir.Tensor, error) {
	out := slices.Clone(carried)
	for _, s := range stacks {
		if c.n.Outputs[len(out)] == nil {
			out = append(out, nil)
			continue
		}
		t, err := s.tensor(c)
		if err != nil {
			return nil, c.n.Errorf("result %d: %w", len(out), err)
		}
		out = append(out, t)
	}
	return out, nil
}
