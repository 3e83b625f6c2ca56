// Package sensitivity measures what pruning each layer alone costs a network: how much larger the loss of labelled inputs is once this layer's weights
// are projected onto its settings, and all others are as they were. It tells a policy, and whoever writes one, which layers can give more.
// The interpreter runs the network, so the numbers are the same on every machine.
package sensitivity

import (
	"errors"
	"fmt"
	"runtime"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
)

// Measure runs the network on the inputs, as it is and with one layer after the other projected as the options say of all. Layers that are exempt are left
// out; those that the options leave as they are lose nothing.
func Measure(g *ir.Graph, layers []*prune.Layer, o prune.Options, inputs []samples.Input, labels []int64) (*prune.Sensitivity, error) {
	if len(g.Outputs) == 0 || len(labels) == 0 || len(inputs) == 0 {
		return nil, errors.New(`sensitivity needs labelled inputs; add a tensor "labels" of integers, the class of each row of the model's first output`)
	}
	plan, err := prune.Choose(layers, o, nil)
	if err != nil {
		return nil, err
	}
	m := &measurement{g: g, dense: &tally{}}
	for i, l := range layers {
		s := plan.Layers[i]
		if s == nil {
			continue
		}
		a, err := newAlone(g, l, *s)
		if err != nil {
			return nil, err
		}
		m.alone = append(m.alone, a)
	}
	for _, in := range inputs {
		left, err := m.input(in, labels)
		if err != nil {
			return nil, err
		}
		labels = left
	}
	if len(labels) > 0 {
		return nil, fmt.Errorf("%d labels have no row: the model's first output has fewer rows than labels", len(labels))
	}
	out := &prune.Sensitivity{Inputs: m.dense.rows, Loss: m.dense.loss(), Accuracy: m.dense.accuracy()}
	for _, a := range m.alone {
		out.Layers = append(out.Layers, prune.Alone{Name: a.layer.Name, Lost: a.tally.loss() - out.Loss, Loss: a.tally.loss(), Accuracy: a.tally.accuracy()})
	}
	return out, nil
}

// measurement is a network of which one layer at a time is pruned.
type measurement struct {
	g     *ir.Graph
	dense *tally
	alone []*alone
}

// alone is a layer that is pruned by itself.
type alone struct {
	layer   *prune.Layer
	weights *ir.Tensor // projected
	runs    []bool     // which nodes compute something else then
	tally   *tally
}

func newAlone(g *ir.Graph, l *prune.Layer, s prune.Settings) (*alone, error) {
	w, err := l.Floats()
	if err != nil {
		return nil, err
	}
	mask, _, err := prune.Project(l, w, s)
	if err != nil {
		return nil, err
	}
	pruned, err := l.Pruned(mask)
	if err != nil {
		return nil, err
	}
	a := &alone{layer: l, weights: pruned, runs: make([]bool, len(g.Nodes)), tally: &tally{}}
	if s.Dense() {
		return a, nil
	}
	changed := map[*ir.Value]bool{}
	for i, n := range g.Nodes {
		for _, v := range n.Inputs {
			a.runs[i] = a.runs[i] || v != nil && (changed[v] || a.is(v))
		}
		for _, v := range n.Outputs {
			if v != nil && a.runs[i] {
				changed[v] = true
			}
		}
	}
	return a, nil
}

// is reports whether a value is the layer's weights.
func (a *alone) is(v *ir.Value) bool { return v.Const != nil && v.Name == a.layer.Name }

// input runs the network on an input, once as it is, and then for each layer what depends on it. It gives the labels that are left.
func (m *measurement) input(in samples.Input, labels []int64) ([]int64, error) {
	values := map[*ir.Value]*ir.Tensor{}
	for _, v := range m.g.Inputs {
		values[v] = in[v.Name]
	}
	for _, n := range m.g.Nodes {
		if err := run(n, nil, values, values); err != nil {
			return nil, err
		}
	}
	y := m.g.Outputs[0]
	left, err := m.dense.add(y, values[y], labels)
	if err != nil {
		return nil, err
	}
	for _, a := range m.alone {
		changed := map[*ir.Value]*ir.Tensor{}
		for i, n := range m.g.Nodes {
			if !a.runs[i] {
				continue
			}
			if err := run(n, a, values, changed); err != nil {
				return nil, err
			}
		}
		out := changed[y]
		if out == nil { // the output does not depend on the layer
			out = values[y]
		}
		if _, err := a.tally.add(y, out, labels); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// run runs a node on what changed, and else on the values of the network as it is. Its results are put to what changed.
func run(n *ir.Node, a *alone, values, changed map[*ir.Value]*ir.Tensor) error {
	operands := make([]*ir.Tensor, len(n.Inputs))
	for i, v := range n.Inputs {
		switch {
		case v == nil:
		case a != nil && a.is(v):
			operands[i] = a.weights
		case v.Const != nil:
			operands[i] = v.Const
		case changed[v] != nil:
			operands[i] = changed[v]
		default:
			operands[i] = values[v]
		}
	}
	results, err := interp.Interp{Workers: runtime.GOMAXPROCS(0)}.Node(n, operands)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		if v != nil {
			changed[v] = results[i]
		}
	}
	return nil
}
