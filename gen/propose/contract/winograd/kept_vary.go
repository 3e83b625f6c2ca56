package winograd

import (
	"errors"
	"slices"

	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
)

// keptAlgorithm is the algorithm's of kept kernels in parameters.
const keptAlgorithm = "winograd of kept kernels"

// keptSpace is what such convolutions may vary: transform and encoding, the register tile and how many of these a task has; nil where none fits.
func keptSpace(all []*filtering) *params.Space {
	var results, shares, rows, tiles, ahead []int64
	for _, w := range all {
		results, shares = append(results, int64(w.f.Results)), append(shares, w.enc.Share)
		for _, x := range splits {
			if y := *w; y.choose(x.tiles, x.parts, nil) {
				rows, tiles, ahead = append(rows, y.Rows), append(tiles, y.chunk/y.Rows), append(ahead, y.keptAhead())
			}
		}
		usual := micro.Usual(w.count)
		rows, tiles = append(rows, vary.Sized(w.keptTiles(usual), vary.RowsOf)...), append(tiles, vary.Counts(min(usual, mostChunk), tiles...)...)
	}
	if len(ahead) == 0 {
		return nil
	}
	s := &params.Space{Algorithm: keptAlgorithm, Params: []params.Param{
		{Name: vary.Results, Values: params.Ascending(results...)},
		{Name: vary.Share, Values: params.Ascending(shares...)},
		{Name: vary.Rows, Values: params.Ascending(rows...)},
		{Name: vary.Tiles, Values: params.Ascending(tiles...)},
	}}
	if t := all[0].Target; t.PrefetchBytes > 0 {
		s.Params = append(s.Params, params.Param{Name: vary.Ahead, Values: vary.Distances(t.PrefetchBytes, 4, ahead...)})
	}
	s.Fits = func(v []int64) bool {
		w := keptOf(all, v[0], v[1])
		return w != nil && w.takesKept(v[2], v[3])
	}
	return s
}

// keptTiles are the register tiles that fit.
func (w *filtering) keptTiles(tiles int64) []micro.Tile {
	return slices.DeleteFunc(w.keptChoice(tiles).Fitting(), func(t micro.Tile) bool { return !w.keeps(t) })
}

// keptOf is the convolution by the transform of so many results and filters that share what they keep, or nil.
func keptOf(all []*filtering, results, share int64) *filtering {
	i := slices.IndexFunc(all, func(w *filtering) bool { return int64(w.f.Results) == results && w.enc.Share == share })
	if i < 0 {
		return nil
	}
	return all[i]
}

// takesKept reports whether tasks may have so many register tiles of so many rows.
func (w *filtering) takesKept(rows, tiles int64) bool {
	t := micro.Tile{Rows: rows, Vectors: w.enc.Share / w.Instr.Lanes}
	return w.keeps(t) && w.takes(t, tiles, 1, nil)
}

// keptVaried is the kernel of the parameters that are given, or none; an error where they are none of the block's.
func keptVaried(all []*filtering, env *lower.Env, space func() *params.Space) ([]*lower.Lowered, error) {
	if space() == nil {
		return nil, nil
	}
	if err := space().Check(env.Given); err != nil {
		return nil, err
	}
	m, _ := env.Given.Get(vary.Results)
	share, _ := env.Given.Get(vary.Share)
	rows, _ := env.Given.Get(vary.Rows)
	tiles, _ := env.Given.Get(vary.Tiles)
	found := keptOf(all, m, share)
	if found == nil { // another chip's kernel reads them otherwise
		return nil, nil
	}
	w := *found
	w.given = env.Given
	w.take(micro.Tile{Rows: rows, Vectors: share / w.Instr.Lanes}, tiles, 1, nil)
	l, err := w.proposeKept(env, space)
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil
	}
	if err != nil {
		return nil, w.Errorf("%w", err)
	}
	return []*lower.Lowered{l}, nil
}
