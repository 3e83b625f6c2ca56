package sel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// Kernels are chosen for the sizes that a network's symbols usually have. Where they are small, others may be faster by far: of images that have
// become one pixel all work is to read weights, of which most see nothing but padding. Such blocks get versions for small sizes. Blocks that read all of
// their weights there, too, would want these in another order, which takes as much memory again.

const (
	// mostAdded is what the constants of all versions add to the network's, as a part of them, and mostAddedEach those of one to its block's: a tap
	// of nine is a ninth, and less where weights are transformed.
	mostAdded, mostAddedEach = 0.1, 0.125
	// leastShare is the part of all such blocks' time that a block takes at least for which versions are looked for, and leastGain how much of the
	// block's own part they save.
	leastShare, leastGain = 0.01, 0.1
	// leastCycles are those of a run that a version saves at least: it is code, and a condition in each run.
	leastCycles = 5000
)

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

// AddVersions gives blocks versions for small sizes, the largest size first.
func (c *Choice) AddVersions(g *block.Graph, t *target.Target, o Options) error {
	c.Versions = map[*block.Block][]*Version{}
	left := 0.0
	everyBlock(g, 1, func(b *block.Block, _ float64) {
		if k, ok := c.Kernels[b]; ok {
			left += float64(mostAdded * float64(constantBytes(k)))
		}
	})
	some := o.EveryVersion
	everyBlock(g, 1, func(b *block.Block, _ float64) { some = some || guarded(b) })
	if !some {
		return nil
	}
	for _, size := range smallSizes {
		s := newSmall(g, t, o, size)
		if s == nil {
			continue
		}
		if err := s.add(c, g, &left); err != nil {
			return err
		}
	}
	return nil
}

// gain is what a version saves of a run.
type gain struct {
	block  *block.Block
	v      *Version
	cycles float64
}

// timed is a block that is computed so often, and what it takes each time.
type timed struct {
	b             *block.Block
	cycles, times float64
}

// runsOf are the blocks that may have versions, as they run at the size, and what all of them take.
func (s *small) runsOf(c *Choice, g *block.Graph) (runs []timed, total float64, err error) {
	everyBlock(g, 1, func(b *block.Block, times float64) {
		k, computed := c.Kernels[b]
		if !computed || err != nil || b.Stage == nil || b.Stage.Update != nil || k.Tuning != nil || !s.shrinks(b) && !k.Packing.Transformed() {
			return
		}
		if vs := c.Versions[b]; len(vs) > 0 {
			k = vs[0].Kernel
		}
		var e Kernel
		if e, err = s.host().estimate(k.Lowered); err == nil {
			runs = append(runs, timed{b, e.Cycles, times})
			total += float64(e.Cycles * times)
		}
	})
	return runs, total, err
}

// add gives versions for one size to the blocks that gain the most for the bytes that they add, until the rest loses little.
func (s *small) add(c *Choice, g *block.Graph, left *float64) error {
	runs, total, err := s.runsOf(c, g)
	if err != nil {
		return err
	}
	var gains []gain
	lost := 0.0
	for _, r := range runs {
		own := c.Kernels[r.b]
		if !s.o.EveryVersion && r.cycles*r.times < leastShare*total {
			continue
		}
		v, err := s.version(c, r.b)
		if err != nil {
			return err
		}
		if v == nil || !s.o.EveryVersion && !v.pays(own, r.cycles) {
			continue
		}
		saved := float64((r.cycles - v.Kernel.Cycles) * r.times)
		gains, lost = append(gains, gain{r.b, v, saved}), lost+saved
	}
	return s.take(c, gains, lost, total-lost, left)
}

// take adds versions until what is lost without the others is little of what a run takes at least.
func (s *small) take(c *Choice, gains []gain, lost, least float64, left *float64) error {
	slices.SortStableFunc(gains, func(x, y gain) int {
		return cmp.Compare(y.cycles*float64(x.v.added), x.cycles*float64(y.v.added))
	})
	for _, x := range gains {
		if lost <= mostLost*least && !s.o.EveryVersion {
			break
		}
		if float64(x.v.added) > *left && !s.o.EveryVersion {
			continue
		}
		if err := x.v.make(); err != nil {
			return err
		}
		lost -= x.cycles
		*left -= float64(x.v.added)
		c.Versions[x.block] = slices.Insert(c.Versions[x.block], 0, x.v)
	}
	return nil
}

// guarded reports whether a block sums over what is padded, so that there may be less of it in small images.
func guarded(b *block.Block) bool {
	if b.Stage == nil || len(b.Stage.Reduce) == 0 {
		return false
	}
	found := false
	for _, e := range b.Stage.Values {
		te.Walk(e, func(e te.Expr) {
			l, ok := e.(te.Load)
			found = found || ok && len(l.Guard) > 0
		})
	}
	return found
}

// pays reports whether a version takes so many cycles fewer than its block, and adds so few constants, that it is worth its code.
func (v *Version) pays(own Kernel, cycles float64) bool {
	return v.Kernel.Cycles <= (1-leastGain)*cycles && cycles-v.Kernel.Cycles >= leastCycles && float64(v.added) <= mostAddedEach*float64(constantBytes(own))
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
		l.Args, k.Lowered = base.ArgsOf(v.narrow), &l
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
	return guarded(b) && !slices.EqualFunc(b.Stage.Narrow(s.upTo(s.size)).Reduce, b.Stage.Reduce, func(x, y te.Axis) bool { return x.Extent.Equal(y.Extent) })
}

// addedBytes are those of the constants that a kernel reads beside another one's.
func addedBytes(own, k Kernel) (int64, error) {
	if k.SamePacking {
		return 0, nil
	}
	old, err := own.Args()
	if err != nil {
		return 0, err
	}
	args, err := k.Args()
	sum := int64(0)
	for _, x := range args {
		if x.Const != nil && !slices.Contains(old, x) {
			sum += x.Const.Len() * int64(x.Type.Size())
		}
	}
	return sum, err
}

// versionVariants chooses another chip's kernels for the versions. Those that cannot read the weights of the version's own kernel would
// add others for each chip: there is no such version then.
func (c *Choice) versionVariants(g *block.Graph, t *target.Target, o Options) (err error) {
	bySize := map[int64]*small{}
	everyBlock(g, 1, func(b *block.Block, _ float64) {
		if c.Versions[b] == nil || err != nil {
			return
		}
		var kept []*Version
		for _, v := range c.Versions[b] {
			if bySize[v.at] == nil {
				bySize[v.at] = newSmall(g, t, o, v.at)
			}
			k, e := bySize[v.at].variant(c, v)
			if e != nil {
				err = e
				return
			}
			added, e := addedBytes(v.Kernel, k)
			if err = errors.Join(err, e); added == 0 {
				v.Others = append(v.Others, k)
				kept = append(kept, v)
			}
		}
		if c.Versions[b] = kept; kept == nil {
			delete(c.Versions, b)
		}
	})
	return err
}

// variant is a chip's kernel of a version.
func (s *small) variant(c *Choice, v *Version) (Kernel, error) {
	defer s.within(v.Guard)()
	k, _, err := s.beside(v.narrow, v.Kernel, v.layouts(c))
	if err == nil {
		err = k.Make()
	}
	if err != nil {
		return Kernel{}, err
	}
	return v.own(k), nil
}
