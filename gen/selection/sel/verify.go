package sel

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// Verify checks that the choice is one for the graph: that what callers and control flow see is row-major, that each block
// has a kernel, whose loops are right, or nothing to do, and that nothing else has one. Proofs are of kernels that earlier passes had.
func (c *Choice) Verify(g *block.Graph, proofs loop.Proofs) error {
	blocks := 0
	var err error
	right := map[*loop.Kernel]bool{} // kernels that blocks share are looked at once
	g.All(func(r *block.Graph) {
		for _, v := range slices.Concat(r.Inputs, r.Outputs) {
			if l := c.Layouts[v]; l != layout.RowMajor && err == nil {
				err = fmt.Errorf("%q is an input or output of a graph, but is stored as %s", v.Name, l)
			}
		}
		for _, b := range r.Blocks {
			if b.Control == nil {
				blocks++
			}
			if err == nil {
				err = c.verify(b, right, proofs)
			}
		}
	})
	for _, kernels := range c.Others {
		if err == nil && len(kernels) != len(c.Kernels) {
			err = fmt.Errorf("%d kernels of another variant are chosen for %d", len(kernels), len(c.Kernels))
		}
	}
	if without := len(c.Views) + len(c.Transfers); err == nil && blocks != len(c.Kernels)+without {
		err = fmt.Errorf("the choice has %d blocks with a kernel and %d without, but the graph has %d blocks", len(c.Kernels), without, blocks)
	}
	return err
}

func (c *Choice) verify(b *block.Block, right map[*loop.Kernel]bool, proofs loop.Proofs) error {
	k, computed := c.Kernels[b]
	_, view := c.Views[b]
	switch {
	case b.Control != nil:
		for _, v := range b.Results {
			if c.Layouts[v] != layout.RowMajor {
				return fmt.Errorf("block %s returns %q as %s", b.Label(), v.Name, c.Layouts[v])
			}
		}
		return nil
	case c.Transfers[b]:
		return c.transfer(b, computed || view)
	case computed == view || computed && k.Lowered == nil:
		return fmt.Errorf("block %s does not have exactly one kernel", b.Label())
	case view:
		return nil
	}
	all := []Kernel{k}
	for _, kernels := range c.Others {
		all = append(all, kernels[b])
	}
	for _, k := range all {
		if k.Lowered == nil {
			return fmt.Errorf("block %s has no kernel of another variant", b.Label())
		}
		if !right[k.Kernel] {
			if err := k.verify(proofs); err != nil {
				return fmt.Errorf("block %s: %w", b.Label(), err)
			}
			right[k.Kernel] = true
		}
		if err := c.writes(b, k.Kernel); err != nil {
			return err
		}
	}
	return nil
}

// verify checks the kernel's schedule and its loops.
func (k Kernel) verify(proofs loop.Proofs) error {
	if k.Check != nil {
		if err := k.Check(); err != nil {
			return fmt.Errorf("schedule of kernel %q: %w", k.Name, err)
		}
	}
	return proofs.Verify(k.Kernel)
}

// writes checks that the kernel's last buffers are the block's results, in their layouts.
func (c *Choice) writes(b *block.Block, k *loop.Kernel) error {
	if len(k.Buffers) < len(b.Results) {
		return fmt.Errorf("block %s: its kernel has %d buffers for %d results", b.Label(), len(k.Buffers), len(b.Results))
	}
	for i, buf := range k.Buffers {
		var v *ir.Value
		if n := i - len(k.Buffers) + len(b.Results); n >= 0 {
			v = b.Results[n]
		}
		switch {
		case buf.Write != (v != nil):
			return fmt.Errorf("block %s: buffer %q of its kernel is written but not a result, or the reverse", b.Label(), buf.Name)
		case v != nil && (buf.Type != v.Type || !buf.Size.Equal(c.Layouts[v].Elements(v.Shape))):
			return fmt.Errorf("block %s: its kernel stores %s elements of %s for %q, which is %s%v as %s", b.Label(), buf.Size, buf.Type, v.Name, v.Type, v.Shape, c.Layouts[v])
		}
	}
	return nil
}

// transfer checks that a block copies a value to the same layout in another space, and that nothing else is chosen for it.
func (c *Choice) transfer(b *block.Block, other bool) error {
	from, to := c.Layouts[b.Operands[0]], c.Layouts[b.Results[0]]
	if other || from.Space == to.Space || from.In(to.Space) != to {
		return fmt.Errorf("block %s is a transfer from %s to %s", b.Label(), from, to)
	}
	return nil
}
