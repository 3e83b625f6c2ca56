package prune

import (
	"errors"
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/masks"
)

// Network is a network's weights and what pruning makes of them.
type Network struct {
	Layers  []*Layer
	Skipped []Skipped
	// Masks are those of the layers that are pruned.
	Masks *masks.Set
	// Changed is how many weights that were not zero were dropped.
	Changed int64
}

// Find finds a graph's layers.
func Find(g *ir.Graph) *Network {
	n := &Network{Masks: &masks.Set{}}
	n.Layers, n.Skipped = Layers(g)
	return n
}

// Keep leaves out the layers that refuse gives a reason for.
func (n *Network) Keep(refuse func(*Layer) error) {
	var kept []*Layer
	for _, l := range n.Layers {
		if err := refuse(l); err != nil {
			n.Skipped = append(n.Skipped, Skipped{l.Name, l.Node, l.Op, err.Error()})
			continue
		}
		l.Position = len(kept)
		kept = append(kept, l)
	}
	n.Layers = kept
}

// Project chooses settings and projects each layer's weights onto them, once.
func (n *Network) Project(o Options, policy Policy) error {
	plan, err := Choose(n.Layers, o, policy)
	if err != nil {
		return err
	}
	for i, s := range plan.Layers {
		if s == nil || s.Dense() {
			continue
		}
		weights, err := n.Layers[i].Floats()
		if err != nil {
			return err
		}
		mask, projected, err := Project(n.Layers[i], weights, *s)
		if err != nil {
			return err
		}
		n.add(mask, weights, projected)
	}
	if len(n.Masks.Layers) == 0 {
		return errors.New("nothing is pruned: the settings leave all layers dense; set patterns, connectivity or fully_connected, or leave pruning out")
	}
	return nil
}

// Take applies masks that are given, each of which must be of a layer.
func (n *Network) Take(set *masks.Set) error {
	if err := set.Verify(); err != nil {
		return err
	}
	if len(set.Layers) == 0 {
		return errors.New("the masks are of no layer")
	}
	for _, m := range set.Layers {
		if n.layer(m.Name) == nil {
			return fmt.Errorf("mask of %s: %w", ir.Show(m.Name), n.missing(m.Name))
		}
	}
	for _, l := range n.Layers {
		m := set.Layer(l.Name)
		if m == nil {
			continue
		}
		if err := m.Fits(l.Shape, l.FilterAxis, l.Groups); err != nil {
			return err
		}
		weights, err := l.Floats()
		if err != nil {
			return err
		}
		if err := l.check(weights); err != nil {
			return l.errorf("%w", err)
		}
		n.add(m, weights, Apply(m, weights))
	}
	return nil
}

// missing says why no layer has a name.
func (n *Network) missing(name string) error {
	for _, s := range n.Skipped {
		if s.Name == name {
			return fmt.Errorf("these weights are not pruned: %s", s.Reason)
		}
	}
	return errors.New("the network has no such weights (was the mask made of another network?)")
}

func (n *Network) layer(name string) *Layer {
	for _, l := range n.Layers {
		if l.Name == name {
			return l
		}
	}
	return nil
}

func (n *Network) add(m *masks.Layer, before, after []float32) {
	n.Masks.Layers = append(n.Masks.Layers, m)
	for i, x := range before {
		if x != after[i] {
			n.Changed++
		}
	}
}

// Bytes are a masked layer's weights: those that are kept as they are stored, zeros elsewhere.
func (n *Network) Bytes(m *masks.Layer) ([]byte, error) {
	l := n.layer(m.Name)
	from, err := l.Weights.Bytes()
	if err != nil {
		return nil, l.errorf("%w", err)
	}
	out := make([]byte, len(from))
	size := l.Weights.Type.Size()
	for i, kept := range m.Weights() {
		if kept {
			copy(out[i*size:(i+1)*size], from[i*size:])
		}
	}
	return out, nil
}
