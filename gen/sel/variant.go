package sel

import (
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/target"
)

// sharedLoss is how many times as long as another kernel one takes at most, by estimates, that reads the weights as the choice's own
// kernel does: what it loses it gives back in bytes.
const sharedLoss = 1.2

// Variant chooses the kernels of another chip of the library, for a graph and layouts that are chosen. Where share is set, its
// kernels read the weights that the choice's own read, whatever that costs, if they can.
func (c *Choice) Variant(g *block.Graph, t *target.Target, o Options, share bool) error {
	s := newSelector(g, t, o)
	kernels := map[*block.Block]Kernel{}
	var err error
	g.All(func(r *block.Graph) {
		for _, b := range r.Blocks {
			own, computed := c.Kernels[b]
			if !computed || err != nil {
				continue
			}
			kernels[b], err = s.beside(b, own, func(v *ir.Value) layout.Layout { return c.Layouts[v] }, share)
		}
	})
	if err != nil {
		return err
	}
	c.Others = append(c.Others, kernels)
	for _, note := range s.staleNotes() {
		c.Stale = append(c.Stale, fmt.Sprintf("of the variant %s, %s", t.Name, note))
	}
	return nil
}

// beside is the kernel of a block beside that of the choice.
func (s *selector) beside(b *block.Block, own Kernel, lay func(*ir.Value) layout.Layout, share bool) (Kernel, error) {
	kernels, layouts := s.shared(b, lay)
	if hasConstants(b) { // which its kernel may read as the choice's own does
		kernels = nil
	}
	if k, ok := kernels[layouts]; ok {
		return k, nil
	}
	best, err := s.cheapest(b, lay)
	switch {
	case err != nil || best.Lowered == nil:
	case s.o.Candidate > 0 && b.Call == nil:
		best, err = s.candidate(b, lay, best)
	case own.Packing != nil:
		best, err = s.sharing(b, own, best, lay, share)
	}
	switch {
	case err != nil:
		return Kernel{}, err
	case best.Lowered == nil:
		return Kernel{}, fmt.Errorf("block %s: no kernel computes it for %s in the layouts that were chosen for the widest chip", b.Label(), s.host().t.Name)
	}
	if err := best.Make(); err != nil {
		return Kernel{}, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	if best.Packing == nil && own.Packing == nil && takesValues(best, b) && takesValues(own, b) {
		best.SamePacking = true
	}
	if kernels != nil && best.SamePacking {
		kernels[layouts] = best
	}
	return best, nil
}

// sharing is the best kernel that reads the weights as the choice's own kernel does, or the best of all where there is none or it
// takes too long. A kernel that was measured as the fastest is taken if it can read them.
func (s *selector) sharing(b *block.Block, own, free Kernel, lay func(*ir.Value) layout.Layout, share bool) (Kernel, error) {
	only := ""
	if free.Tuning != nil {
		only = lower.Unhashed(free.Name) // it packs them otherwise
	}
	s.packing = own.Packing
	defer func() { s.packing = nil }()
	ks, err := s.kernels(b, lay, 0, only)
	if err != nil {
		return Kernel{}, err
	}
	found := best(slices.DeleteFunc(ks, func(k Kernel) bool { return k.Packing == nil }))
	if found.Lowered == nil || !share && found.Cycles > sharedLoss*free.Cycles {
		return free, nil
	}
	if found.SamePacking = true; only != "" {
		found.Cycles, found.Tuning = free.Cycles, free.Tuning
	}
	return found, nil
}
