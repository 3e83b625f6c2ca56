package quant

import (
	"slices"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
)

// valued are quantized weights, and what they stand for.
type valued interface{ values() (*ir.Tensor, error) }

// valuesOf are the weights of layers.
func valuesOf(layers []*layer) map[*ir.Node]valued {
	out := map[*ir.Node]valued{}
	for _, l := range layers {
		out[l.node] = l.weights
	}
	return out
}

// alone measures what each node costs: how far the outputs are from the float network's when it is the only one that is quantized.
func (p *plan) alone(r *Report, weights map[*ir.Node]valued, inputs []samples.Input) error {
	if len(inputs) == 0 {
		return nil
	}
	var want []map[*ir.Value]*ir.Tensor
	for _, in := range inputs {
		outputs, err := samples.Run(p.g, in, nil)
		if err != nil {
			return err
		}
		want = append(want, outputs)
	}
	for i, n := range p.g.Nodes {
		if rule, ok := p.nodes[n]; !ok || rule.moves {
			continue
		}
		db, err := p.only(n, weights[n], inputs, want)
		if err != nil {
			return err
		}
		r.Nodes[i].Alone = db
	}
	return nil
}

// only runs the network with one node quantized.
func (p *plan) only(n *ir.Node, w valued, inputs []samples.Input, want []map[*ir.Value]*ir.Tensor) (*float64, error) {
	var weights *ir.Tensor
	if w != nil {
		var err error
		if weights, err = w.values(); err != nil {
			return nil, err
		}
	}
	var all ratio
	for i, in := range inputs {
		got, err := samples.Run(p.g, in, func(m *ir.Node, operands, results []*ir.Tensor) error {
			if m != n {
				return nil
			}
			return p.quantized(n, weights, operands, results)
		})
		if err != nil {
			return nil, err
		}
		for _, v := range p.g.Outputs {
			if err := all.add(want[i][v], got[v]); err != nil {
				return nil, err
			}
		}
	}
	return all.db(), nil
}

// quantized replaces a node's results by those of rounded operands, rounded.
func (p *plan) quantized(n *ir.Node, weights *ir.Tensor, operands, results []*ir.Tensor) error {
	with := slices.Clone(operands)
	for i, v := range n.Own() {
		if g := p.group[v]; v != nil && g != nil {
			x, err := g.param.rounded(operands[i])
			if err != nil {
				return err
			}
			with[i] = x
		}
	}
	if weights != nil {
		with[p.nodes[n].weight.Operand] = weights
	}
	ys, err := interp.Interp{Workers: workers()}.Node(n, with)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		if results[i] = ys[i]; p.group[v] == nil {
			continue
		}
		if results[i], err = p.group[v].param.rounded(ys[i]); err != nil {
			return err
		}
	}
	return nil
}
