package winograd

import (
	"errors"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/params"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
	"rules_dnn/gen/propose/weights"
)

// Anchor begins the names of these kernels, and names the algorithm in their parameters. The
// transform is a parameter.
const Anchor = "winograd"

// spaceOf is what convolutions by Winograd's algorithm may vary; nil where the block is none.
func spaceOf(b *block.Block, env *lower.Env) *params.Space {
	free := *env
	free.Given = nil
	all := map[int64]*filtering{}
	var tiles, parts, rows, vectors, ahead []int64
	results := sizesOf(env.Target)
	for _, m := range results {
		w, err := newFiltering(b, &free, wino.New(m, filterTaps))
		if w == nil || err != nil { // which who asks for the block's kernels is told
			return nil
		}
		all[int64(m)] = w
		for _, x := range splits {
			y := *w
			if !y.choose(x.tiles, x.parts, env.Packing) {
				continue
			}
			parts, rows, vectors = append(parts, y.parts), append(rows, y.Rows), append(vectors, y.Vectors)
			tiles, ahead = append(tiles, y.chunk/y.Rows), append(ahead, y.ahead())
		}
		choice := w.choice(micro.Usual(w.count), w.outputs, env.Packing)
		rows, vectors = append(rows, vary.Sized(choice.Fitting(), vary.RowsOf)...), append(vectors, vary.Sized(choice.Fitting(), vary.VectorsOf)...)
		tiles = append(tiles, vary.Counts(min(micro.Usual(w.count), mostChunk), tiles...)...)
	}
	if tiles == nil {
		return nil
	}
	s := &params.Space{Algorithm: Anchor, Params: []params.Param{
		{Name: vary.Results, Values: sizes(results)},
		{Name: vary.Rows, Values: params.Ascending(rows...)},
		{Name: vary.Vectors, Values: params.Ascending(vectors...)},
		{Name: vary.Tiles, Values: params.Ascending(tiles...)},
		{Name: vary.Parts, Values: params.Ascending(append(parts, vary.Divisors(all[int64(results[0])].outputs, mostParts)...)...)},
	}}
	t := env.Target
	if t.PrefetchBytes > 0 {
		s.Params = append(s.Params, params.Param{Name: vary.Ahead, Values: vary.Distances(t.PrefetchBytes, 4, ahead...)})
	}
	s.Fits = func(v []int64) bool {
		return all[v[0]].takes(micro.Tile{Rows: v[1], Vectors: v[2]}, v[3], v[4], env.Packing)
	}
	return s
}

// mostChunk bounds the register tiles of a task, and mostParts the parts of the channels.
const mostChunk, mostParts = 1 << 10, 8

func sizes(of []int) []int64 {
	var out []int64
	for _, n := range of {
		out = append(out, int64(n))
	}
	return params.Ascending(out...)
}

// rowBytes is how far apart the rows of a tile lie in what is transformed, where tiles widen W and have many rows for that.
func (w *filtering) rowBytes() int64 {
	if w.widened() == ir.Invalid {
		return 0
	}
	return int64(ir.F32.Size()) * w.k
}

// widened returns the type of filters that tiles widen, or Invalid if they do not.
func (w *filtering) widened() ir.DType {
	if w.stored == w.Instr.W {
		return ir.Invalid
	}
	return contract.InMemory(w.stored)
}

// choice is what a register tile is chosen for, of so many tiles and blocks of channels.
func (w *filtering) choice(tiles, blocks int64, packing *weights.Packing) *micro.Tiled {
	out := &micro.Tiled{T: w.Target, Instr: w.Instr, X: w.Instr.Broadcaster(w.k), Pixels: tiles, Groups: blocks, PerBlock: w.ChannelBlock / w.Instr.Lanes, Steps: w.k, Stored: w.widened(), Apart: w.rowBytes(), Packing: packing}
	if _, known := w.count.Const(); !known {
		out.Most = micro.MostRows
	}
	return out
}

// takes reports whether tasks may have so many register tiles of a size, and parts of the channels. What a task keeps is bounded as it is of
// tasks that are proposed.
func (w *filtering) takes(t micro.Tile, tiles, parts int64, packing *weights.Packing) bool {
	count, known := w.count.Const()
	if w.outputs%parts != 0 || !known && parts > 1 || !packing.Holds(t.Vectors*w.Instr.Lanes) {
		return false
	}
	room := max(mostTimes*(w.Target.L2*3/4/(4*w.points*(w.k+w.outputs*w.ChannelBlock/parts))), fewTiles)
	if (tiles-1)*t.Rows >= room || known && (tiles-1)*t.Rows >= max(count, 1) {
		return false
	}
	c := w.choice(tiles*t.Rows, w.outputs/parts, packing)
	return slices.Contains(c.Fitting(), t) || w.fallback(t)
}

// fallback reports whether a tile is the one of blocks that leave no register tile a choice.
func (w *filtering) fallback(t micro.Tile) bool {
	return t == micro.Tile{Rows: 1, Vectors: w.ChannelBlock / w.Instr.Lanes}
}

// mostTimes is how many times the tiles that fit in the cache a task has at most.
const mostTimes = 8

// take sets what is given in place of what choose decides.
func (w *filtering) take(t micro.Tile, tiles, parts int64, packing *weights.Packing) {
	w.Tile = t
	w.cut(tiles*t.Rows, parts, packing)
}

// ahead is how many elements the products fetch W ahead.
func (w *filtering) ahead() int64 {
	if w.enc != nil {
		return w.keptAhead()
	}
	n, _ := micro.Prefetch(w.Target, w.Instr, w.Instr.W, w.k, w.Vectors, false, nil)
	return w.given.Or(vary.Ahead, n)
}

// pointOf is that of the kernel in a space.
func (w *filtering) pointOf(space func() *params.Space) func() (*params.Point, *params.Space) {
	x := *w
	return func() (*params.Point, *params.Space) {
		return vary.PointIn(space(), func(name string) int64 {
			switch name {
			case vary.Results:
				return int64(x.f.Results)
			case vary.Share:
				return x.enc.Share
			case vary.Rows:
				return x.Rows
			case vary.Vectors:
				return x.Vectors
			case vary.Tiles:
				return x.chunk / x.Rows
			case vary.Parts:
				return x.parts
			}
			return x.ahead()
		})
	}
}

// varied is the kernel of the parameters that are given, or none; an error where they are none of the block's.
func varied(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	space := env.SpaceOr(Anchor, func() *params.Space { return spaceOf(b, env) })
	if space == nil || env.Given.Algorithm != Anchor {
		return nil, nil
	}
	if err := space.Check(env.Given); err != nil {
		return nil, err
	}
	m, _ := env.Given.Get(vary.Results)
	t, _ := vary.GivenTile(env.Given)
	tiles, _ := env.Given.Get(vary.Tiles)
	parts, _ := env.Given.Get(vary.Parts)
	w, err := newFiltering(b, env, wino.New(int(m), filterTaps))
	if err != nil {
		return nil, err
	}
	if !env.Packing.Transforms(w.f.Filters().Results) {
		return nil, nil
	}
	w.given = env.Given
	w.take(t, tiles, parts, env.Packing)
	l, err := w.propose(env, func() *params.Space { return space })
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, w.Errorf("%w", err)
	}
	return []*lower.Lowered{l}, nil
}
