// Package winograd proposes kernels of convolutions by Winograd's algorithm, as one block or, on devices, as three.
package winograd

import (
	"errors"
	"fmt"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target"
)

// filtering is a Winograd convolution of windows of as many points along two axes, each point one apart,
// computed by F(m, taps) along both: of inputs that are transformed, a matrix product for every point of the transform,
// whose sums are transformed to results (stages.go). A task runs all of it for a number of
// tiles of m x m results, so that what it keeps stays in the second-level cache.
type filtering struct {
	*contract.Contraction
	given *params.Point // parameters that decide in place of choose; nil where it decides
	f     *wino.Transform
	along [2]slide
	deep  []int // reduction axes besides the windows' and the input channels
	lay   lower.Layouts
	facts sym.Facts // ranges of symbols
	// shape of the work
	blocks, outputs   int64       // blocks of input channels, and of result channels
	k                 int64       // products a sum
	tiles             [2]sym.Expr // along each axis
	micro.Tile                    // rows are tiles here
	tileLanes, groups int64
	parts             int64           // tasks that share the tiles of a chunk
	chunk             int64           // tiles of a task
	chunks, count     sym.Expr        // tasks along the tiles, and all tiles
	points            int64           // of a transform, along both axes
	packed            weights.Packing // how filters lie in memory
	stored            ir.DType        // the type of filters
	enc               *fkw.Encoding   // of filters of which only some kernels are stored; nil: all are
	// stages are those of the algorithm, however it is cut into tasks, and operands what they read, W in the place of the filters.
	stages   []*te.Stage
	operands []*ir.Value
}

// filterSizes are the m of the transforms that all chips try. F(6,3) is not tried: its larger
// filters and tiles take more from memory than its fewer products save. vgg16's layers of 64 to 256
// channels were slower, and it loses four times as much by rounding as F(4,3).
var filterSizes = []int{2, 4}

// narrowSizes are the m of the transforms that chips with 128-bit vectors and enough registers try.
// Short vectors need more products, so fewer products save more there. F(5,3) saves 3 % of the
// instructions of squeezenet1_1 and 1 % of resnet50's. Its filters have 49/36 of the bytes of
// F(4,3)'s.
var narrowSizes = []int{2, 4, 5}

// sizesOf returns the m of the transforms that a chip tries.
func sizesOf(t *target.Target) []int {
	if t.VectorBits <= 128 && t.VectorRegisters >= 32 {
		return narrowSizes
	}
	return filterSizes
}

// splits are the ways to cut a layer into tasks that are tried: chunks of so many times the tiles that fit in the
// cache, and parts of the result channels, each of which transforms the chunk's inputs for itself. Weights
// that do not fit are read by each chunk; with larger ones, what a task keeps does not stay in the cache.
var splits = []struct{ tiles, parts int64 }{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {4, 2}, {8, 2}, {8, 4}}

// Winograd lowers a block by Winograd's algorithm, by each transform and each split that it has; none where the block
// is no convolution of windows of three points along two axes in blocked layouts.
func Candidates(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	var out []*lower.Lowered
	if env.Varies() {
		return varied(b, env)
	}
	space := sync.OnceValue(func() *params.Space { return spaceOf(b, env) })
	proposed := map[string]bool{}
	for _, f := range transforms(env) {
		all, err := newFiltering(b, env, f)
		if all == nil || err != nil {
			return nil, err
		}
		for _, split := range splits {
			w := &filtering{}
			*w = *all
			if !env.Packing.Transforms(f.Filters().Results) || !env.Packing.Of(all.stored) || !w.choose(split.tiles, split.parts, env.Packing) || proposed[w.name()] || env.Only != "" && lower.Unhashed(env.Only) != w.name() {
				continue // several splits are alike where all tiles fit, or few
			}
			proposed[w.name()] = true
			l, err := w.propose(env, space)
			if errors.As(err, new(*follow.TileError)) {
				continue // it is read in steps that no micro-kernel has
			}
			if err != nil {
				return nil, w.Errorf("%w", err)
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// transformOf returns F(m, 3), which each convolution asks for, of the m in narrowSizes.
var transformOf = sync.OnceValue(func() map[int]*wino.Transform {
	out := map[int]*wino.Transform{}
	for _, m := range narrowSizes {
		out[m] = wino.New(m, filterTaps)
	}
	return out
})

// tried are the transforms that a chip tries.
func tried(t *target.Target) (out []*wino.Transform) {
	for _, m := range sizesOf(t) {
		out = append(out, transformOf()[m])
	}
	return out
}

// transforms are those that are tried: where some points of transformed weights suffice, also parts of theirs.
func transforms(env *lower.Env) []*wino.Transform {
	out := tried(env.Target)
	if env.Points && env.Packing.Transformed() {
		whole := wino.New(env.Packing.Results, filterTaps)
		for m := 1; m < whole.Results; m++ {
			out = append(out, whole.Part(m))
		}
	}
	return out
}

// propose is the kernel of the schedule.
func (w *filtering) propose(env *lower.Env, space func() *params.Space) (*lower.Lowered, error) {
	work, n := w.steps().work(), w.Contraction.W.Source.N
	args := func(b *block.Block) func() ([]*ir.Value, error) {
		if t, err := w.filterType(w.f, b.Operands[n], env.Magnitudes); t != w.stored || err != nil {
			return nil
		}
		return func() ([]*ir.Value, error) {
			_, in := w.Widened(b)
			in[n] = w.packFilters(b.Operands[n])
			return append(in, b.Results...), nil
		}
	}
	l, err := env.Scheduled(w.anchor(), w.name(), w.anchor(), w.Block, work, w.schedule(work), args(w.Block))
	if err == nil {
		l.Packing, l.ArgsOf = &w.packed, args
		if w.f.Of == nil {
			l.Point = w.pointOf(space)
		}
	}
	return l, err
}

// filterTaps is how many points windows have along each axis.
const filterTaps = 3

func newFiltering(b *block.Block, env *lower.Env, f *wino.Transform) (*filtering, error) {
	// The sums that tiles write lie in a worker's memory.
	if !env.Target.TilesFillScratch() {
		return nil, nil
	}
	c := contract.Recognise(b, env.Target)
	if c == nil || c.Window || c.PackedOperand() != c.W.Source.N || c.Groups > 1 || c.InReduce < 0 || lower.ReadsImages(b, env.Layouts) {
		return nil, nil
	}
	if err := addInHalves(c, f, env); err != nil {
		return nil, err
	}
	w := &filtering{Contraction: c, f: f, lay: env.Layouts, facts: env.Symbols}
	if env.Layouts(b.Operands[c.X.Source.N]) != layout.Blocked(c.InChannel, c.ChannelBlock) || !w.findSlides() {
		return nil, nil
	}
	for _, r := range b.Results {
		if env.Layouts(r) != layout.Blocked(c.Channel, c.ChannelBlock) {
			return nil, nil
		}
	}
	var err error
	if w.stored, err = w.filterType(f, c.Weights, env.Magnitudes); err != nil {
		return nil, c.Errorf("weights %s: %w", ir.Show(c.Weights.Name), err)
	}
	w.extents()
	w.stages = w.steps().all()
	return w, nil
}

func (w *filtering) anchor() string {
	if w.enc != nil {
		return w.f.String() + " of kept kernels"
	}
	return w.f.String()
}

// name tells the kernel from those of other splits.
func (w *filtering) name() string {
	return fmt.Sprintf("%s %s, tasks of %d, %d parts", w.anchor(), w.Tile, w.chunk, w.parts)
}

// fewTiles is the least that a task should have, and micro.FewTasks are how many a layer should be cut into.
const (
	fewTiles = 4
)

// choose sets what a task computes, of so many times the tiles that fit, and the register tile; false where the
// split is none that the layer needs.
func (w *filtering) choose(times, parts int64, packing *weights.Packing) bool {
	count, known := w.count.Const()
	blocks := w.outputs
	// Transformed inputs, and the sums.
	tiles := max(times*(w.Target.L2*3/4/(4*w.points*(w.k+blocks*w.ChannelBlock/parts))), fewTiles)
	if blocks%parts != 0 || !known && (times > 1 || parts > 1) {
		return false
	}
	if known {
		chunks := max((count+tiles-1)/tiles, min((micro.FewTasks+parts-1)/parts, count/fewTiles), 1)
		if parts > 1 && chunks*parts > 2*micro.FewTasks {
			return false
		}
		tiles = (count + chunks - 1) / chunks
	}
	if w.enc != nil {
		if parts > 1 || !w.chooseKept(tiles) {
			return false
		}
		packing = nil
	} else {
		w.Tile = w.choice(tiles, blocks/parts, packing).Choose()
	}
	w.cut(tiles, parts, packing)
	return packing.Holds(w.tileLanes)
}

// cut makes tasks of so many tiles, whole register tiles of them, and of a part of the channels.
func (w *filtering) cut(tiles, parts int64, packing *weights.Packing) {
	w.tileLanes = w.Vectors * w.Instr.Lanes
	w.parts, w.groups = parts, w.outputs*w.ChannelBlock/w.tileLanes
	if w.packed = (weights.Packing{Lanes: w.tileLanes, Groups: w.groups, Results: w.f.Filters().Results, Parts: parts, Type: w.stored}); packing != nil {
		w.packed = *packing
	}
	w.chunk = (tiles + w.Rows - 1) / w.Rows * w.Rows
	w.chunks = sym.CeilDiv(w.count, sym.Const(w.chunk), w.facts)
}

// extents are those of the three stages.
func (w *filtering) extents() {
	w.points = int64(w.f.Points() * w.f.Points())
	planes := int64(1)
	for _, r := range w.deep {
		n, _ := w.Contraction.Reduce[r].Extent.Const()
		planes *= n
	}
	ic, _ := w.Contraction.Reduce[w.InReduce].Extent.Const()
	w.blocks = (ic + w.ChannelBlock - 1) / w.ChannelBlock
	w.outputs = (w.Channels + w.ChannelBlock - 1) / w.ChannelBlock
	w.k = planes * w.blocks * w.ChannelBlock
	for i, s := range w.along {
		w.tiles[i] = sym.CeilDiv(w.Block.Stage.Axes[s.axis].Extent, sym.Const(int64(w.f.Results)), w.facts)
	}
	w.count = sym.Mul(w.tiles[0], w.tiles[1])
}

// own is how many groups of result channels a part has.
func (w *filtering) own() int64 { return w.groups / w.parts }
