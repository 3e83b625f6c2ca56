package sel

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// Variant chooses the kernels of another chip of the library, for a graph and layouts that are chosen. Its kernels read the weights that
// the choice's own read, if they can; where share is set, whatever that costs.
func (c *Choice) Variant(g *block.Graph, t *target.Target, o Options, share bool) error {
	s := newSelector(g, t, o)
	kernels := map[*block.Block]Kernel{}
	apart := &apart{}
	lay := func(v *ir.Value) layout.Layout { return c.Layouts[v] }
	err := s.learn(func(add func(*block.Block, lower.Layouts) error) (err error) {
		everyBlock(g, 1, func(b *block.Block, _ float64) {
			if _, computed := c.Kernels[b]; computed && err == nil {
				err = add(b, lay)
			}
		})
		return err
	})
	c.Learned = append(c.Learned, s.learned()...)
	everyBlock(g, 1, func(b *block.Block, times float64) {
		own, computed := c.Kernels[b]
		if !computed || err != nil {
			return
		}
		var best Kernel
		if kernels[b], best, err = s.beside(b, own, lay); err == nil {
			apart.add(b, kernels[b], best, times)
		}
	})
	if err != nil {
		return err
	}
	if !share {
		apart.choose(kernels)
	}
	c.Others = append(c.Others, kernels)
	if err := c.versionVariants(g, t, o); err != nil {
		return err
	}
	for _, note := range s.staleNotes() {
		c.Stale = append(c.Stale, fmt.Sprintf("of the variant %s, %s", t.Name, note))
	}
	return nil
}

// everyBlock calls f for each block of a graph that runs so often, and of those that its blocks run, and how often that is.
func everyBlock(g *block.Graph, times float64, f func(b *block.Block, times float64)) {
	for _, b := range g.Blocks {
		f(b, times)
		if b.Control == nil {
			continue
		}
		inner := times
		if l := b.Control.Loop; l != nil {
			inner *= trips(l)
		}
		for _, r := range b.Control.Graphs() {
			everyBlock(r, inner, f)
		}
	}
}

// beside is the kernel of a block beside that of the choice, and the best one, which may read weights of its own.
func (s *selector) beside(b *block.Block, own Kernel, lay func(*ir.Value) layout.Layout) (k, best Kernel, err error) {
	kernels, layouts := s.shared(b, lay)
	if hasConstants(b) { // which its kernel may read as the choice's own does
		kernels = nil
	}
	if k, ok := kernels[layouts]; ok {
		return k, k, nil
	}
	best, err = s.cheapest(b, lay)
	switch {
	case err != nil || best.Lowered == nil:
	case s.o.Candidate > 0 && b.Call == nil:
		best, err = s.candidate(b, lay, best)
	case own.Packing != nil:
		if k, err = s.sharing(b, own, best, lay); err == nil {
			err = errors.Join(k.Make(), best.Make())
		}
		return k, best, err
	}
	switch {
	case err != nil:
		return Kernel{}, Kernel{}, err
	case best.Lowered == nil:
		return Kernel{}, Kernel{}, fmt.Errorf("block %s: no kernel for %s computes it in the layouts chosen for the widest chip", b.Label(), s.host().t.Name)
	}
	if err := best.Make(); err != nil {
		return Kernel{}, Kernel{}, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	if best.Packing == nil && own.Packing == nil && takesValues(best, b) && takesValues(own, b) {
		best.SamePacking = true
	}
	if kernels != nil && best.SamePacking {
		kernels[layouts] = best
	}
	return best, best, nil
}

// sharing is the best kernel that reads the weights as the choice's own kernel does, or the best of all where there is none. A kernel
// that was measured as the fastest is taken if it can read them.
func (s *selector) sharing(b *block.Block, own, free Kernel, lay func(*ir.Value) layout.Layout) (Kernel, error) {
	only := ""
	if free.Tuning != nil {
		only = lower.Unhashed(free.Name) // it packs them otherwise
	}
	if s.packing = own.Packing; free.given != nil { // which finds it, packed otherwise, too
		s.point, only = free.given, ""
	}
	defer func() { s.packing, s.point = nil, nil }()
	ks, err := s.kernels(b, lay, 0, only)
	if errors.As(err, new(*params.Error)) {
		return free, nil // no such tile reads them
	}
	if err != nil {
		return Kernel{}, err
	}
	found := best(slices.DeleteFunc(ks, func(k Kernel) bool { return k.Packing == nil }))
	if found.Lowered == nil {
		return free, nil
	}
	if found.SamePacking = true; free.Tuning != nil {
		found.Cycles, found.Tuning = free.Cycles, free.Tuning
	}
	return found, nil
}
