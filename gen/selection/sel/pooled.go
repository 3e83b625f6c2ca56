package sel

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/fuse"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
)

// DNNFusion's table refuses pairs of Many-to-Many operators, as what the second one reads several times would be computed so often. A pooling whose
// windows lie side by side reads each element once: it can be computed where a convolution has some rows of its results, of which a part is stored then.
// Whether that pays is known once both have their layouts: with others the convolution has a faster kernel.

// pool computes poolings where the contractions are computed that they read, where a kernel does so in the layouts that are chosen, and is estimated to
// take less, on each chip of a library. Kernels that a tuning record knows stay as they were measured.
func (s *selector) pool(c *Choice, g *block.Graph) {
	readers, from := map[*ir.Value]int{}, map[*ir.Value]*block.Block{}
	for _, b := range g.Blocks {
		for _, v := range b.Operands {
			readers[v]++
		}
		for _, v := range b.Results {
			from[v] = b
		}
	}
	for _, v := range g.Outputs {
		readers[v]++
	}
	gone := map[*block.Block]bool{}
	for i, second := range g.Blocks {
		if !s.mayPool(c, second) {
			continue
		}
		for n, v := range second.Operands {
			first := from[v]
			if first == nil || readers[v] != 1 || len(first.Results) != 1 || gone[first] || !s.mayPlace(c, first) {
				continue
			}
			if m := s.pooled(c, first, second, n); m != nil {
				g.Blocks[i], gone[first] = m, true
				delete(c.Kernels, first)
				delete(c.Kernels, second)
				from[m.Results[0]] = m
				break
			}
		}
	}
	g.Blocks = slices.DeleteFunc(g.Blocks, func(b *block.Block) bool { return gone[b] })
}

// pooledDepth is how many axes a contraction and its pooling have in common: images and channels.
const pooledDepth = 2

// mayPool reports whether a block is a pooling of images, of a kernel that estimates have chosen.
func (s *selector) mayPool(c *Choice, b *block.Block) bool {
	st := b.Stage
	return s.estimates(c, b) && len(b.Placed) == 0 && len(b.Results) == 1 && st.Combine != nil && len(st.Values) == 1 && len(st.Axes) > pooledDepth
}

// mayPlace reports whether a block may be a contraction of images, of a kernel that estimates have chosen and that follows a schedule.
func (s *selector) mayPlace(c *Choice, b *block.Block) bool {
	return s.estimates(c, b) && len(b.Placed) == 0 && b.Stage.Combine != nil && len(b.Stage.Axes) > pooledDepth && hasConstants(b)
}

// estimates reports whether estimates have chosen the block's kernel, on the host.
func (s *selector) estimates(c *Choice, b *block.Block) bool {
	k, computed := c.Kernels[b]
	return computed && b.Stage != nil && b.Stage.Update == nil && k.Lowered != nil && k.Tuning == nil && k.Space == layout.Host
}

// pooled is both blocks as one, with a kernel; nil where there is none, or it does not pay.
func (s *selector) pooled(c *Choice, first, second *block.Block, n int) *block.Block {
	for d := range pooledDepth {
		if !first.Stage.Axes[d].Extent.Equal(second.Stage.Axes[d].Extent) {
			return nil
		}
	}
	m := fuse.Place(first, second, n, pooledDepth)
	lay := func(v *ir.Value) layout.Layout { return c.Layouts[v] }
	k := s.gains(m, lay, c.Kernels[first], c.Kernels[second])
	if k.Lowered == nil || !s.gainsElsewhere(m, [2]*block.Block{first, second}, lay) {
		return nil
	}
	if err := k.Make(); err != nil {
		panic(fmt.Sprintf("block %s has an estimate, but no kernel: %v", m.Label(), err))
	}
	c.Kernels[m] = k
	return m
}

// gains is the best kernel that pools, the zero Kernel where there is none, or it counts as long as the kernels of the contraction and the pooling do apart.
func (s *selector) gains(m *block.Block, lay lower.Layouts, sums, pooling Kernel) Kernel {
	ks, err := s.kernels(m, lay, 0, "")
	k := best(slices.DeleteFunc(ks, func(k Kernel) bool { return !k.Pools() }))
	if err != nil || k.Lowered == nil || !k.countsLess(sums, pooling, s.wantsPacked(m)) && !s.o.EveryPool {
		return Kernel{}
	}
	return k
}

// gainsElsewhere reports whether the library's other chips, whose kernels compute the same blocks in the same layouts, gain by that, too.
func (s *selector) gainsElsewhere(m *block.Block, apart [2]*block.Block, lay lower.Layouts) bool {
	o := s.o
	o.Times, o.History = nil, nil // which are this chip's
	for _, t := range s.o.Others {
		other, ks := newSelector(s.g, t, o), [2]Kernel{}
		for i, b := range apart {
			var err error
			if ks[i], err = other.cheapest(b, lay); err != nil || ks[i].Lowered == nil {
				return false
			}
		}
		if other.gains(m, lay, ks[0], ks[1]).Lowered == nil {
			return false
		}
	}
	return true
}
