// Package pruned proposes kernels of contractions whose weights were pruned, which sum what is stored of them (PatDNN 2.5): lanes are filters that
// share what they keep, neighbouring pixels, or pixels that lie apart.
package pruned

import (
	"errors"
	"slices"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
	"rules_dnn/gen/propose/weights"
)

// Anchor is a contraction whose sums go over the weights that are stored (PatDNN 2.5): lanes are filters that share what they keep.
const Anchor = "pruned"

// nearChannels is how many channels have their kernels by pattern: what a tile's pixels need of these stays in the first-level cache.
const nearChannels = 64

// storedVar walks the kernels that are stored, maybe those of a block of channels, of which blockVar is the number; keptPart is what they walk:
// channels and taps.
const (
	storedVar = "ks"
	blockVar  = "ks_block"
	keptPart  = "j3"
)

// prunedTiles is how many tiles of each width are tried.
const prunedTiles = 4

// sparse is a contraction with weights of which many are zero.
type sparse struct {
	*tiled.Laid
	weights *ir.Value // filters, channels, taps of more than one point
	index   []sym.Expr
	enc     *fkw.Encoding
}

// Pruned proposes schedules for a contraction whose weights were pruned so that neighbouring filters share what they keep: as many as fill
// registers. None where too few weights are zero.
func Filters(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if env.Packing != nil && env.Packing.Kept == "" {
		return nil, nil
	}
	c := &sparse{Laid: tiled.Lay(b, env)}
	if c.Laid == nil || c.Window || c.Groups > 1 || c.InReduce != 0 || !c.Target.SumsStoredOf(c.Weights.Type) {
		return nil, nil
	}
	if many, err := env.Pruned.Sparse(c.Weights); !many {
		return nil, err
	}
	shares, err := c.shares(env.Pruned)
	if err != nil {
		return nil, err
	}
	var out []*lower.Lowered
	for _, share := range shares {
		enc, err := env.Pruned.Find(c.Order(), share, c.near())
		if err != nil {
			return nil, c.Errorf("%w", err)
		}
		if env.Packing != nil && env.Packing.Kept != enc.String() {
			continue
		}
		if n, ok := env.Given.Get(vary.Share); ok && n != share {
			continue
		}
		ls, err := prunedBy(b, env, enc, shares)
		if err != nil {
			return nil, err
		}
		out = append(out, ls...)
	}
	return out, nil
}

// near is how many channels' kernels lie together. Kernels of one point have one pattern, and are in the order of their channels anyhow.
func (c *sparse) near() int64 {
	if len(c.Reduce) == 1 {
		return 0
	}
	return nearChannels
}

// prunedBy are the kernels of an encoding, one for each of some tiles.
func prunedBy(b *block.Block, env *lower.Env, enc *fkw.Encoding, shares []int64) ([]*lower.Lowered, error) {
	free := *env
	free.Tiles, free.Only, free.Packing, free.Given = prunedTiles, "", nil, nil
	space := sync.OnceValue(func() *params.Space {
		return env.SpaceOr(Anchor, func() *params.Space { return prunedSpace(b, &free, enc, shares) })
	})
	if env.Varies() {
		return prunedVaried(b, env, &free, enc, space)
	}
	_, choices := tiled.Lay(b, &free).Plan(&free, nil)
	var out []*lower.Lowered
	for _, t := range choices {
		if t.Vectors*tiled.Lay(b, env).Instr.Lanes != enc.Share || env.Only != "" && lower.Unhashed(env.Only) != lower.TiledName(Anchor, t) {
			continue
		}
		for _, grouped := range []bool{false, true} {
			l, err := prunedTile(b, env, &free, enc, t, grouped, space)
			if err != nil {
				return nil, err
			}
			if l != nil {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// newSparse is a contraction with weights of an encoding.
func newSparse(b *block.Block, free *lower.Env, enc *fkw.Encoding) *sparse {
	c := &sparse{Laid: tiled.Lay(b, free), enc: enc}
	c.Kept = max(1, enc.Kernels*int64(enc.Entries())/enc.Stored(c.Channels))
	return c
}

// prunedTile is the kernel of a tile, or nil. Its tasks are of one group of filters each, for which they copy what they read, or of all.
func prunedTile(b *block.Block, env, free *lower.Env, enc *fkw.Encoding, t micro.Tile, grouped bool, space func() *params.Space) (*lower.Lowered, error) {
	c := newSparse(b, free, enc)
	c.Given = env.Given
	p, _ := c.Plan(free, &t)
	if p == nil || c.Runs > 1 && !grouped {
		return nil, nil
	}
	if tasks := c.ShareKept(p, grouped); !grouped && tasks < 2 && p.Groups > 1 {
		return nil, nil // of groups threads have something to share
	}
	l, err := c.propose(p, env)
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil
	}
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	l.Point = func() (*params.Point, *params.Space) { return c.pointOf(p, space()) }
	return l, nil
}

// propose is the kernel of a plan.
func (c *sparse) propose(p *tiled.Tiling, env *lower.Env) (*lower.Lowered, error) {
	p.X = c.Instr.Broadcaster(0) // no neighbours along the sum
	out, n := c.Proposal(p, env), c.PackedOperand()
	c.shape()
	last := out.Work.Stages[len(out.Work.Stages)-1]
	x := last.Values[0].(te.Call).Args[0]
	last.Values = []te.Expr{te.Fn(ir.F32, "mul", x, c.weight(n))}
	out.Work.Operands[n] = c.weights
	c.sumStored(&out.Sched, n)
	return c.follow(Anchor, p.Tile, out, n, env)
}

// follow is the kernel of a proposal, of which operand n is the weights that are stored.
func (c *sparse) follow(anchor string, t micro.Tile, out *lower.Proposal, n int, env *lower.Env) (*lower.Lowered, error) {
	l, err := env.Scheduled(anchor, lower.TiledName(anchor, t), lower.TiledFamily(anchor, t), c.Block, &out.Work, &out.Sched, func() ([]*ir.Value, error) {
		var all []*ir.Value
		for i, value := range out.Values {
			if i != n {
				all = append(all, value(c.Block))
				continue
			}
			arrays, err := c.arrays()
			if err != nil {
				return nil, err
			}
			all = append(all, arrays...)
		}
		return append(all, c.Block.Results...), nil
	})
	if err == nil {
		l.Packing = &weights.Packing{Lanes: c.enc.Share, Type: c.Weights.Type, Kept: c.enc.String()}
	}
	return l, err
}

// shape is the weights' as the sum reads them: filters, channels, taps.
func (c *sparse) shape() {
	channel := c.Block.Stage.Axes[c.Channel]
	dims := ir.Shape{channel.Extent}
	c.index = []sym.Expr{sym.Var(channel.Var)}
	for _, a := range c.Reduce {
		dims, c.index = append(dims, a.Extent), append(c.index, sym.Var(a.Var))
	}
	c.weights = &ir.Value{Name: c.Weights.Name, Type: c.Weights.Type, Shape: dims, HasShape: true, Const: c.Weights.Const}
}

// weight returns the sum's load of the weights, operand n, as f32.
func (c *sparse) weight(n int) te.Expr {
	return match.AsF32(te.Operand(n, c.Weights.Type, c.index...))
}

// sumStored makes loops over all channels and taps, and over groups of filters, those over what is stored.
func (c *sparse) sumStored(s *sched.Schedule, operand int) {
	st := &s.Stages[len(s.Stages)-1]
	kept := c.Reduce[0].Var
	if len(c.Reduce) > 1 {
		j := sched.Join{Name: keptPart}
		for _, a := range c.Reduce {
			j.Axes = append(j.Axes, a.Var)
		}
		st.Joins, kept = append(st.Joins, j), keptPart
	}
	st.Loops = slices.DeleteFunc(st.Loops, func(l sched.Loop) bool { return l.Kind == sched.Sum })
	sum := sched.Loop{Kind: sched.Sum, Var: storedVar, Axis: kept, Stored: true}
	filters := []string{c.Block.Stage.Axes[c.Channel].Var}
	for _, x := range st.Splits {
		if x.Axis == filters[0] {
			filters = append(filters, x.Outer, x.Inner)
		}
	}
	for i := range st.Loops {
		switch l := &st.Loops[i]; {
		case slices.Contains(filters, l.Axis) && !l.Kind.Tile():
			l.Stored = true
		case l.Var == blockVar: // a tile sums the kernels of a block
			l.Axis, l.Stored, sum.Size = kept, true, c.enc.Block*c.taps()
		}
	}
	st.Loops = append(st.Loops, sum)
	st.Tile.AheadX, st.Tile.Next = false, 0
	at := slices.IndexFunc(s.Values, func(v sched.Value) bool { return v.Of == te.Source{N: operand} })
	s.Values[at].Parts, s.Values[at].Encoding = layout.PartsOf(layout.RowMajor, len(c.index)), c.enc.String()
}

// taps is how many a kernel has, kept or not.
func (c *sparse) taps() int64 {
	n := int64(1)
	for _, a := range c.Reduce[1:] {
		taps, _ := a.Extent.Const()
		n *= taps
	}
	return n
}

// arrays are those of the encoding, as constants.
func (c *sparse) arrays() ([]*ir.Value, error) {
	w, err := fkw.Encode(c.Order().Tensor(), *c.enc)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	var out []*ir.Value
	for i, a := range w.Arrays() {
		out = append(out, ir.ConstValue(c.Weights.Name+"."+[]string{"offset", "reorder", "index", "stride", "kept"}[i], a))
	}
	return out, nil
}
