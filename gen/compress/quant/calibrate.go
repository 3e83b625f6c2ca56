package quant

import (
	"fmt"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
)

// calibrate finds the range of each group, and where the settings need it how its elements are spread, and chooses its parameter.
func (p *plan) calibrate(inputs []samples.Input) error {
	if err := p.observe(inputs, func(v *ir.Value, s *seen, values []float64) error {
		if !s.extend(values) {
			return fmt.Errorf("value %s is not finite on the calibration's inputs, so it has no scale: leave the node that computes it float, or change the inputs", ir.Show(v.Name))
		}
		return nil
	}); err != nil {
		return err
	}
	p.joinAlike()
	if p.settings.Range != MinMax {
		if err := p.observe(inputs, func(_ *ir.Value, s *seen, values []float64) error { s.count(values); return nil }); err != nil {
			return err
		}
	}
	for _, s := range p.order {
		t := integers[p.settings.Activations]
		if s.wide {
			t = p.settings.wide()
		}
		s.param = p.settings.choose(&s.seen, t)
	}
	return nil
}

// observe shows all that a group's values hold, of all inputs.
func (p *plan) observe(inputs []samples.Input, f func(*ir.Value, *seen, []float64) error) error {
	look := func(v *ir.Value, t *ir.Tensor) error {
		g := p.group[v]
		if v == nil || g == nil || t == nil {
			return nil
		}
		values, err := edit.Floats(t)
		if err != nil {
			return err
		}
		return f(v, &g.seen, values)
	}
	for _, s := range p.order {
		for _, v := range s.values {
			if v.Const != nil {
				if err := look(v, v.Const); err != nil {
					return err
				}
			}
		}
	}
	for _, in := range inputs {
		for _, v := range p.g.Inputs {
			if err := look(v, in[v.Name]); err != nil {
				return err
			}
		}
		if _, err := samples.Run(p.g, in, func(n *ir.Node, _, results []*ir.Tensor) error {
			for i, v := range n.Outputs {
				if v != nil {
					if err := look(v, results[i]); err != nil {
						return n.Errorf("%w", err)
					}
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
