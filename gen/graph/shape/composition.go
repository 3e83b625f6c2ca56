package shape

import (
	"errors"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// composition infers the nodes that a node stands for, which are forgotten again.
func (in *inference) composition(n *ir.Node, tainted bool) error {
	x, err := ops.Expand(n, in.facts)
	var unknown *ops.UnknownError
	switch {
	case errors.As(err, &unknown):
		in.fail(n, unknown, tainted)
		return nil
	case err != nil:
		return err
	}
	in.demand(n, x.Checks)
	inputs := x.Graph.Inputs
	for _, v := range n.Inputs {
		if v == nil {
			continue
		}
		if err := in.give(n, inputs[0], in.known(v)); err != nil {
			return err
		}
		inputs = inputs[1:]
	}
	if err := in.region(x.Graph, false); err != nil {
		return err
	}
	outputs := x.Graph.Outputs
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		if err := in.settle(n, v, in.known(outputs[0]), tainted); err != nil {
			return err
		}
		outputs = outputs[1:]
	}
	return nil
}
