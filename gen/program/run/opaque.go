package run

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops/opaque"
)

// opaque compiles the call of an opaque operator: its Go function runs on the buffers as tensors,
// and what it gives must have the shapes and symbols that the call states.
func (c *compiler) opaque(x loop.Call) action {
	f := c.frame
	if c.width > 1 {
		f.fail("a call in a vector loop")
	}
	operands, results := c.parameters(x.Operands), c.parameters(x.Results)
	return func() {
		in := make([]*ir.Tensor, len(operands))
		for i, m := range operands {
			if m != nil {
				t, err := tensor(x.Call.Operands[i], c.env, m)
				if err != nil {
					f.fail("operand %d: %w", i, err)
				}
				in[i] = t
			}
		}
		out, computed, err := x.Run(c.env, in)
		if err != nil {
			f.fail("%w", err)
		}
		env := maps.Clone(c.env)
		for i, s := range x.Computes {
			if computed[i] < s.Lo || computed[i] > c.env[s.Name] {
				f.fail("%w", &BoundsError{s.Name, computed[i], s.Lo, c.env[s.Name]})
			}
			env[s.Name] = computed[i]
		}
		copy(c.computed, computed)
		for i, m := range results {
			if m == nil {
				continue
			}
			want, err := evalAll(x.Call.Results[i].Shape, env)
			if err != nil || !slices.Equal(want, out[i].Shape) || len(out[i].Data) > len(m.raw) {
				f.fail("result %d is %v; the call states %v (%v) in memory of %d elements", i, out[i].Shape, want, err, m.size)
			}
			copy(m.raw, out[i].Data)
			for k := range m.mark {
				m.mark[k] = m.stamp
			}
		}
	}
}

func (c *compiler) parameters(buffers []*loop.Buffer) []*memory {
	out := make([]*memory, len(buffers))
	for i, b := range buffers {
		if b != nil {
			out[i] = c.memory(b)
		}
	}
	return out
}

// tensor views a parameter's memory.
func tensor(t opaque.Tensor, env map[string]int64, m *memory) (*ir.Tensor, error) {
	dims, err := evalAll(t.Shape, env)
	if err != nil {
		return nil, err
	}
	n, err := ir.Len(dims)
	if err != nil || n != m.size {
		return nil, fmt.Errorf("shape %v for memory of %d elements (%v)", dims, m.size, err)
	}
	return &ir.Tensor{Type: t.Type, Shape: dims, Data: m.raw}, nil
}
