package ops

import (
	"rules_dnn/gen/ir"
)

// product is the recurrent product of a state with rows of the weights.
func (s *step) product(h, weights *ir.Value) *ir.Value {
	if s.integers != nil {
		return s.integers.product(s.composer, h)
	}
	return s.op("Gemm", ir.Attrs{"transB": int64(1)}, h, weights)
}

// all is the recurrent product for all gates, added to a step's input and cut by gates.
func (s *step) all(x, h *ir.Value) []*ir.Value {
	return s.split(s.add(x, s.product(h, s.weights)), 1, s.r.gates)
}

// gate clips and applies activation function k of the direction.
func (s *step) gate(k int, v *ir.Value) *ir.Value {
	if s.r.Node.Has("clip") {
		v = s.op("Clip", nil, v, s.float(s.r.t, -s.r.clip), s.float(s.r.t, s.r.clip))
	}
	return s.apply(k, v)
}

func (s *step) apply(k int, v *ir.Value) *ir.Value { return s.functions[k].write(s.composer, s.r.t, v) }

// without is 1 - v.
func (s *step) without(v *ir.Value) *ir.Value { return s.sub(s.float(s.r.t, 1), v) }

// rnnCell is H' = f(X + H*R).
func rnnCell(*Ctx) (*cell, error) {
	return &cell{
		gates: 1, functions: []string{"Tanh"},
		step: func(s *step, x *ir.Value, states []*ir.Value) []*ir.Value {
			return []*ir.Value{s.gate(0, s.all(x, states[0])[0])}
		},
	}, nil
}

// gruCell has the gates update (z), reset (r) and hidden (h); H' = (1-z)*h + z*H. The reset
// gate acts on the state before its product with the weights, or on the product.
func gruCell(c *Ctx) (*cell, error) {
	linear, err := c.flag("linear_before_reset", 0)
	if err != nil {
		return nil, err
	}
	return &cell{
		gates: 3, functions: []string{"Sigmoid", "Tanh"}, biasInside: linear,
		step: func(s *step, x *ir.Value, states []*ir.Value) []*ir.Value {
			gru := gruReset
			if linear {
				gru = gruLinear
			}
			h := states[0]
			z, hidden := gru(s, x, h)
			return []*ir.Value{s.add(s.mul(s.without(z), hidden), s.mul(z, h))}
		},
	}, nil
}

func gruReset(s *step, x, h *ir.Value) (z, hidden *ir.Value) {
	xs, ws := s.split(x, 1, 3), s.outer.split(s.weights, 0, 3)
	hs := s.split(s.product(h, s.outer.join(0, ws[0], ws[1])), 1, 2)
	gate := func(k int) *ir.Value { return s.gate(0, s.add(xs[k], hs[k])) }
	z = gate(0)
	reset := s.mul(gate(1), h)
	return z, s.gate(1, s.add(xs[2], s.product(reset, ws[2])))
}

func gruLinear(s *step, x, h *ir.Value) (z, hidden *ir.Value) {
	p := s.product(h, s.weights)
	if s.bias != nil {
		p = s.add(p, s.bias)
	}
	xs, hs := s.split(x, 1, 3), s.split(p, 1, 3)
	gate := func(k int) *ir.Value { return s.gate(0, s.add(xs[k], hs[k])) }
	z = gate(0)
	return z, s.gate(1, s.add(xs[2], s.mul(gate(1), hs[2])))
}

// lstmCell has the gates input, output, forget and cell, of which the first three may look
// at the cell's state through peepholes.
func lstmCell(c *Ctx) (*cell, error) {
	coupled, err := c.flag("input_forget", 0)
	if err != nil {
		return nil, err
	}
	return &cell{
		gates: 4, functions: []string{"Sigmoid", "Tanh", "Tanh"},
		step: func(s *step, x *ir.Value, states []*ir.Value) []*ir.Value {
			gates, c := s.all(x, states[0]), states[1]
			look := func(k int, c *ir.Value) *ir.Value {
				if s.peepholes == nil {
					return gates[k]
				}
				return s.add(gates[k], s.mul(s.peepholes[k], c))
			}
			input := s.gate(0, look(0, c))
			var forget *ir.Value
			if coupled {
				forget = s.without(input)
			} else {
				forget = s.gate(0, look(2, c))
			}
			next := s.add(s.mul(forget, c), s.mul(input, s.gate(1, gates[3])))
			output := s.gate(0, look(1, next))
			// ONNX clips "the input of activations"; engines clip the gates' and not this one
			return []*ir.Value{s.mul(output, s.apply(2, next)), next}
		},
	}, nil
}
