package winograd

import (
	"errors"
	"slices"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
	"rules_dnn/gen/propose/weights"
)

// A kernel that connectivity pruning drops as a whole is zero at every point of the transform: where so many filters as fill registers share what they
// keep, the products of each point sum what is stored (package fkw, a plane for each point). Of patterns a transform keeps nothing, but F(4,3) has 2.25
// products for each result and kernel, where a pattern of four entries has four.

// keptRank is how many dimensions the constant has: points, filters, channels.
const keptRank = 3

// mostKept is the part of kernels that may be kept: of more, dense products are as fast, and of any size.
const mostKept = 0.75

// Kept lowers a block by Winograd's algorithm whose weights were pruned so that neighbouring filters keep the same kernels; none where too few are dropped.
func Kept(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if env.Packing != nil && (env.Packing.Kept == "" || !env.Packing.Transformed()) || env.Varies() && env.Given.Algorithm != keptAlgorithm {
		return nil, nil
	}
	all, err := keptFilterings(b, env)
	if len(all) == 0 || err != nil {
		return nil, err
	}
	space := sync.OnceValue(func() *params.Space {
		return env.SpaceOr(keptAlgorithm, func() *params.Space { return keptSpace(all) })
	})
	if env.Varies() {
		return keptVaried(all, env, space)
	}
	var out []*lower.Lowered
	for _, w := range all {
		ls, err := w.proposals(env, space)
		if err != nil {
			return nil, err
		}
		out = append(out, ls...)
	}
	return out, nil
}

// keptFilterings are the convolution by each transform and encoding that it may have.
func keptFilterings(b *block.Block, env *lower.Env) ([]*filtering, error) {
	if !env.Pruned.On() || !env.Target.SumsStored() {
		return nil, nil
	}
	var out []*filtering
	for _, f := range tried(env.Target) {
		w, err := newFiltering(b, env, f)
		if w == nil || err != nil {
			return nil, err
		}
		encodings, err := w.keptEncodings(env)
		if err != nil {
			return nil, w.Errorf("%w", err)
		}
		for _, enc := range encodings {
			out = append(out, w.keeping(enc))
		}
	}
	return out, nil
}

// keptEncodings are those of the points of filters of which few enough kernels are kept.
func (w *filtering) keptEncodings(env *lower.Env) ([]*fkw.Encoding, error) {
	if w.stored != ir.F32 || len(w.deep) > 0 || w.InReduce != 0 || w.along[0].reduce != 1 || w.along[1].reduce != 2 {
		return nil, nil
	}
	if many, err := env.Pruned.Sparse(w.Weights); !many {
		return nil, err
	}
	var out []*fkw.Encoding
	order := w.Order()
	filters, channels := w.outputs*w.ChannelBlock, order.Dims[1]
	for share := w.Instr.Lanes; share <= min(filters, w.ChannelBlock*micro.MaxGroups, fkw.MaxShare); share += w.Instr.Lanes {
		enc, err := env.Pruned.Find(order, share, 0)
		if err != nil {
			return nil, err
		}
		if enc == nil || enc.Given || filters%share != 0 || float64(enc.Kernels) > mostKept*float64(filters/share*channels) {
			continue
		}
		kept := &fkw.Encoding{Kernels: enc.Kernels, Planes: w.points, Patterns: []fkw.Pattern{1}, Share: share}
		if env.Packing == nil || env.Packing.Kept == kept.String() {
			out = append(out, kept)
		}
	}
	return out, nil
}

// keeping is the convolution by an encoding.
func (w *filtering) keeping(enc *fkw.Encoding) *filtering {
	out := *w
	out.enc = enc
	out.stages = out.steps().all()
	return &out
}

// proposals are its kernels, by each split that it has.
func (w *filtering) proposals(env *lower.Env, space func() *params.Space) ([]*lower.Lowered, error) {
	var out []*lower.Lowered
	proposed := map[string]bool{}
	for _, split := range splits {
		x := *w
		if !x.choose(split.tiles, split.parts, nil) || proposed[x.name()] || env.Only != "" && lower.Unhashed(env.Only) != x.name() {
			continue
		}
		proposed[x.name()] = true
		l, err := x.proposeKept(env, space)
		if errors.As(err, new(*follow.TileError)) {
			continue
		}
		if err != nil {
			return nil, w.Errorf("%w", err)
		}
		out = append(out, l)
	}
	return out, nil
}

// keptSteps is how many kernels a group of filters keeps.
func (w *filtering) keptSteps() int64 {
	return max(1, w.enc.Kernels*w.enc.Share/(w.outputs*w.ChannelBlock))
}

// keptChoice is what a register tile is chosen for, of so many tiles.
func (w *filtering) keptChoice(tiles int64) *micro.Tiled {
	out := w.choice(tiles, w.outputs, nil)
	out.Steps = w.keptSteps()
	return out
}

// chooseKept sets the register tile; false where none fits.
func (w *filtering) chooseKept(tiles int64) bool {
	for _, t := range w.keptChoice(tiles).Ranked() {
		if w.keeps(t) {
			w.Tile = t
			return true
		}
	}
	return false
}

// keeps reports whether a register tile has as many lanes as filters share what they keep, and what it reads of X, some of each line of it, stays in
// the first-level cache while all groups of filters read it.
func (w *filtering) keeps(t micro.Tile) bool {
	return t.Vectors*w.Instr.Lanes == w.enc.Share && (t.Rows == 1 || 4*t.Rows*w.k <= w.Target.L1D*7/8)
}

// proposeKept is the kernel of the schedule.
func (w *filtering) proposeKept(env *lower.Env, space func() *params.Space) (*lower.Lowered, error) {
	work, n := w.steps().work(), w.Contraction.W.Source.N
	args := func() ([]*ir.Value, error) {
		arrays, err := w.keptArrays()
		if err != nil {
			return nil, err
		}
		return slices.Concat(w.operands[:n], arrays, w.operands[n+1:], w.Block.Results), nil
	}
	l, err := env.Scheduled(w.anchor(), w.name(), w.anchor(), w.Block, work, w.schedule(work), args)
	if err == nil {
		l.Packing = &weights.Packing{Lanes: w.enc.Share, Type: ir.F32, Results: w.f.Results, Parts: 1, Kept: w.enc.String()}
		l.Point = w.pointOf(space)
	}
	return l, err
}

// keptAhead is how many elements the products fetch W ahead: calls read it as one stream, of all groups and points.
func (w *filtering) keptAhead() int64 {
	n, _ := micro.Prefetch(w.Target, w.Instr, ir.F32, w.enc.Kernels*w.enc.Planes, w.Vectors, false, nil)
	return w.given.Or(vary.Ahead, n)
}

// keptProducts makes the loops of products those over what is stored.
func (s *places) keptProducts(out *sched.Stage) {
	out.Tile.X = s.Instr.Broadcaster(0) // no neighbours along the sum
	out.Tile.Ahead = s.keptAhead()
	out.Loops = s.productLoops(inputAxis)
	for i := range out.Loops {
		if l := &out.Loops[i]; l.Axis == resultAxis && l.Kind == sched.Serial || l.Kind == sched.Sum {
			l.Stored = true
		}
	}
}
