package sel

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/propose/lower"
)

// Kernels are chosen for the sizes that a network's symbols usually have. Where they are small, others may be faster by far: of images that have
// become one pixel all work is to read weights, of which most see nothing but padding. Such blocks get versions for small sizes. Blocks that read all of
// their weights there, too, would want these in another order, which takes as much memory again.

// Version is what computes a block where some symbols are small.
type Version struct {
	Guard []ops.Check
	// Block is what is left of the block then, of the same values.
	Block  *block.Block
	Kernel Kernel
	// Others are the kernels of a library's other variants.
	Others []Kernel
	// narrow is the block on values whose shapes are simplified, which stand for those of it.
	narrow *block.Block
	of     map[*ir.Value]*ir.Value
	base   *lower.Lowered // of blocks that are equal up to names
	// It is for sizes up to size, and was chosen at another one.
	size, at int64
	// added are the bytes of the constants that no other kernel reads.
	added int64
}

// layouts are those of the values that a version's stand for.
func (v *Version) layouts(c *Choice) func(*ir.Value) layout.Layout {
	return func(x *ir.Value) layout.Layout {
		if of, ok := v.of[x]; ok {
			x = of
		}
		return c.Layouts[x]
	}
}

// own lets a kernel take the block's values.
func (v *Version) own(k Kernel) Kernel {
	l := *k.Lowered
	args := l.Args
	l.ArgsOf = nil
	l.Args = func() ([]*ir.Value, error) {
		out, err := args()
		out = slices.Clone(out)
		for i, x := range out {
			if of, ok := v.of[x]; ok {
				out[i] = of
			}
		}
		return out, err
	}
	k.Lowered = &l
	return k
}

// version is a block's best one for the size; nil where it has none.
func (s *small) version(c *Choice, b *block.Block) (*Version, error) {
	v := &Version{at: s.size, size: s.widest(b)}
	if v.Guard = guard(s.dependsOn(b), v.size); v.Guard == nil {
		return nil, nil
	}
	defer s.within(v.Guard)()
	v.narrow, v.of = b.Narrow(s.g.Facts)
	if s.empty(v.narrow) {
		return nil, nil
	}
	x := *v.narrow
	x.Operands, x.Results = b.Operands, b.Results
	v.Block = &x
	own, lay := c.Kernels[b], v.layouts(c)
	var found *Version
	if s.shrinks(b) {
		base, err := s.alike(v.narrow, lay)
		if err != nil {
			return nil, err
		}
		if found, err = v.with(own, base); err != nil {
			return nil, err
		}
	}
	if own.Packing.Transformed() {
		base, err := s.sharing(v.narrow, own, Kernel{}, lay)
		if err != nil {
			return nil, err
		}
		points, err := v.with(own, base)
		if err != nil {
			return nil, err
		}
		if points != nil && (found == nil || !points.dearer(own, found)) {
			found = points
		}
	}
	return found, nil
}

// with is the version that a kernel makes, which may be that of an equal block; nil of none.
func (v *Version) with(own, base Kernel) (*Version, error) {
	if base.Lowered == nil {
		return nil, nil
	}
	k := base
	if base.ArgsOf != nil {
		l := *base.Lowered
		if l.Args = base.ArgsOf(v.narrow); l.Args == nil { // it wants a kernel of its own
			return nil, nil
		}
		k.Lowered = &l
	}
	x := *v
	x.base, x.Kernel = base.Lowered, x.own(k)
	var err error
	x.added, err = addedBytes(own, x.Kernel)
	return &x, err
}

// dearer reports whether a version that reads the block's own weights takes so much longer than another one that what this adds pays.
func (v *Version) dearer(own Kernel, other *Version) bool {
	return other.pays(own, v.Kernel.Cycles)
}

// alike is the best kernel of a block or of one that is equal to it up to names.
func (s *small) alike(b *block.Block, lay func(*ir.Value) layout.Layout) (Kernel, error) {
	kernels, layouts := s.shared(b, lay)
	if k, known := kernels[layouts]; known {
		return k, nil
	}
	k, err := s.estimated(b, lay, "")
	if err == nil && k.Lowered != nil && k.ArgsOf != nil && kernels != nil {
		kernels[layouts] = k
	}
	return k, err
}

// make makes the kernel, which versions of equal blocks share.
func (v *Version) make() error {
	if err := v.base.Make(); err != nil {
		return fmt.Errorf("block %s, of sizes up to %d: %w", v.Block.Label(), v.size, err)
	}
	v.Kernel.Lowered.Kernel = v.base.Kernel
	return nil
}

// shrinks reports whether a block sums over fewer points at the size than it does at others.
func (s *small) shrinks(b *block.Block) bool {
	if s.o.EveryVersion {
		return true
	}
	return b.Shorter(s.upTo(s.size)) != nil
}
