package prune

import (
	"errors"
	"fmt"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/ir"
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
		return errors.New("the masks do not belong to a layer")
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
	return errors.New("the network has no such weights (is the mask from another network?)")
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

// Pruned is a masked layer's weights.
func (n *Network) Pruned(m *masks.Layer) (*ir.Tensor, error) { return n.layer(m.Name).Pruned(m) }

// Pruned is the layer's weights by a mask: those that are kept as they are stored, zeros elsewhere.
func (l *Layer) Pruned(m *masks.Layer) (*ir.Tensor, error) {
	from, err := l.Weights.Bytes()
	if err != nil {
		return nil, l.errorf("%w", err)
	}
	out := ir.NewTensor(l.Weights.Type, l.Shape...)
	size := l.Weights.Type.Size()
	for i, kept := range m.Weights() {
		if kept {
			copy(out.Data[i*size:(i+1)*size], from[i*size:])
		}
	}
	return out, nil
}

// Shrink makes the masks those of weights of which only some indices along the first two axes are left; nil: all.
func (n *Network) Shrink(left func(name string) [2][]int) error {
	for i, m := range n.Masks.Layers {
		axes := left(m.Name)
		if axes[0] == nil && axes[1] == nil {
			continue
		}
		x := *m
		x.Shape = append([]int64{}, m.Shape...)
		for a, keep := range axes {
			if keep != nil {
				x.Shape[a] = int64(len(keep))
			}
		}
		filters, channels := indices(axes[m.FilterAxis], m.Filters()), indices(axes[1-m.FilterAxis], m.Channels())
		x.Kernels = nil
		for _, f := range filters {
			for _, c := range channels {
				x.Kernels = append(x.Kernels, m.Kernels[f*m.Channels()+c])
			}
		}
		if m.Groups > 1 {
			x.Groups = len(filters) // of a depthwise convolution, the only one with groups that shrinks
		}
		if x.Verify() != nil {
			x.Share = 1 // rows of filters begin elsewhere now
		}
		if err := x.Verify(); err != nil {
			return err
		}
		n.Masks.Layers[i] = &x
	}
	return nil
}

// indices are those that are left of n.
func indices(keep []int, n int) []int {
	if keep != nil {
		return keep
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
