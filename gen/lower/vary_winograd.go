package lower

import (
	"errors"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/params"
	wino "rules_dnn/gen/winograd"
)

// winogradName is the algorithm's in parameters: the transform is one of them.
const winogradName = "winograd"

// winogradSpace is what convolutions by Winograd's algorithm may vary; nil where the block is none.
func winogradSpace(b *block.Block, env *Env) *params.Space {
	free := *env
	free.Given = nil
	all := map[int64]*filtering{}
	var tiles, parts, rows, vectors, ahead []int64
	for _, m := range filterSizes {
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
			parts, rows, vectors = append(parts, y.parts), append(rows, y.rows), append(vectors, y.vectors)
			tiles, ahead = append(tiles, y.chunk/y.rows), append(ahead, y.ahead())
		}
		choice := w.choice(usual(w.count), w.outputs, env.Packing)
		rows, vectors = append(rows, sized(choice.fitting(), rowsOf)...), append(vectors, sized(choice.fitting(), vectorsOf)...)
		tiles = append(tiles, counts(min(usual(w.count), mostChunk), tiles...)...)
	}
	if tiles == nil {
		return nil
	}
	s := &params.Space{Algorithm: winogradName, Params: []params.Param{
		{Name: resultsParam, Values: sizes(filterSizes)},
		{Name: rowsParam, Values: params.Ascending(rows...)},
		{Name: vectorsParam, Values: params.Ascending(vectors...)},
		{Name: tilesParam, Values: params.Ascending(tiles...)},
		{Name: partsParam, Values: params.Ascending(append(parts, divisors(all[int64(filterSizes[0])].outputs, mostParts)...)...)},
	}}
	t := env.Target
	if t.PrefetchBytes > 0 {
		s.Params = append(s.Params, params.Param{Name: aheadParam, Values: distances(t.PrefetchBytes, 4, ahead...)})
	}
	s.Fits = func(v []int64) bool { return all[v[0]].takes(tile{v[1], v[2]}, v[3], v[4], env.Packing) }
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
	if inMemory(w.stored) == ir.Invalid {
		return 0
	}
	return int64(ir.F32.Size()) * w.k
}

// choice is what a register tile is chosen for, of so many tiles and blocks of channels.
func (w *filtering) choice(tiles, blocks int64, packing *Packing) *tiled {
	out := &tiled{t: w.t, instr: w.instr, x: w.instr.Broadcaster(w.k), pixels: tiles, groups: blocks, perBlock: w.block / w.instr.Lanes, steps: w.k, stored: inMemory(w.stored), apart: w.rowBytes(), packing: packing}
	if _, known := w.count.Const(); !known {
		out.most = mostRows
	}
	return out
}

// takes reports whether tasks may have so many register tiles of a size, and parts of the channels. What a task keeps is bounded as it is of
// tasks that are proposed.
func (w *filtering) takes(t tile, tiles, parts int64, packing *Packing) bool {
	count, known := w.count.Const()
	if w.outputs%parts != 0 || !known && parts > 1 || !packing.holds(t.vectors*w.instr.Lanes) {
		return false
	}
	room := max(mostTimes*(w.t.L2*3/4/(4*w.points*(w.k+w.outputs*w.block/parts))), fewTiles)
	if (tiles-1)*t.rows >= room || known && (tiles-1)*t.rows >= max(count, 1) {
		return false
	}
	c := w.choice(tiles*t.rows, w.outputs/parts, packing)
	return slices.Contains(c.fitting(), t) || w.fallback(t)
}

// fallback reports whether a tile is the one of blocks that leave no register tile a choice.
func (w *filtering) fallback(t tile) bool { return t == tile{1, w.block / w.instr.Lanes} }

// mostTimes is how many times the tiles that fit in the cache a task has at most.
const mostTimes = 8

// take sets what is given in place of what choose decides.
func (w *filtering) take(t tile, tiles, parts int64, packing *Packing) {
	w.tile = t
	w.cut(tiles*t.rows, parts, packing)
}

// ahead is how many elements the products fetch W ahead.
func (w *filtering) ahead() int64 {
	n, _ := prefetch(w.t, w.instr, w.instr.W, w.k, w.vectors, false, nil)
	return w.fetches(n)
}

// pointOf is that of the kernel in a space.
func (w *filtering) pointOf(space func() *params.Space) func() (*params.Point, *params.Space) {
	x := *w
	return func() (*params.Point, *params.Space) {
		return pointIn(space(), func(name string) int64 {
			switch name {
			case resultsParam:
				return int64(x.f.Results)
			case rowsParam:
				return x.rows
			case vectorsParam:
				return x.vectors
			case tilesParam:
				return x.chunk / x.rows
			case partsParam:
				return x.parts
			}
			return x.ahead()
		})
	}
}

// variedWinograd is the kernel of the parameters that are given, or none; an error where they are none of the block's.
func variedWinograd(b *block.Block, env *Env) ([]*Lowered, error) {
	space := env.spaceOr(winogradName, func() *params.Space { return winogradSpace(b, env) })
	if space == nil || env.Given.Algorithm != winogradName {
		return nil, nil
	}
	if err := space.Check(env.Given); err != nil {
		return nil, err
	}
	m, _ := env.Given.Get(resultsParam)
	t, _ := givenTile(env.Given)
	tiles, _ := env.Given.Get(tilesParam)
	parts, _ := env.Given.Get(partsParam)
	w, err := newFiltering(b, env, wino.New(int(m), filterTaps))
	if err != nil {
		return nil, err
	}
	if !env.Packing.transforms(w.f.Filters().Results) {
		return nil, nil
	}
	w.given = env.Given
	w.take(t, tiles, parts, env.Packing)
	l, err := w.propose(env, func() *params.Space { return space })
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, w.error("%w", err)
	}
	return []*Lowered{l}, nil
}
