package pruned

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
	"rules_dnn/gen/propose/weights"
)

// prunedSpace is what kernels of pruned weights may vary, by how many filters may share what they keep: the tiles of so many lanes, and where
// tasks begin and end; nil where there is no plan.
func prunedSpace(b *block.Block, free *lower.Env, enc *fkw.Encoding, shares []int64) *params.Space {
	c := newSparse(b, free, enc)
	p, _ := c.Plan(free, nil)
	if p == nil {
		return nil
	}
	lanes := c.Instr.Lanes
	fits := slices.DeleteFunc(c.Choice.Fitting(), func(t micro.Tile) bool { return !slices.Contains(shares, t.Vectors*lanes) })
	s := &params.Space{Algorithm: Anchor, Params: []params.Param{{Name: vary.Share, Values: shares}, {Name: vary.Rows, Values: vary.Sized(fits, vary.RowsOf)}, {Name: vary.Groups, Values: []int64{0, 1}}}}
	band := -1
	if bands := c.Bands(p); len(bands) > 1 {
		band, s.Params = len(s.Params), append(s.Params, params.Param{Name: vary.Band, Values: bands})
	}
	pixels, known := p.Pixels.Const()
	s.Fits = func(v []int64) bool {
		runs := known && v[1] > pixels
		return slices.Contains(fits, micro.Tile{Rows: v[1], Vectors: v[0] / lanes}) && !(runs && (v[2] == 0 || band >= 0 && v[band] != 1))
	}
	return s
}

// prunedVaried is the kernel of the parameters that are given, or none; an error where they are none of the block's.
func prunedVaried(b *block.Block, env, free *lower.Env, enc *fkw.Encoding, space func() *params.Space) ([]*lower.Lowered, error) {
	if space() == nil {
		return nil, nil
	}
	if err := space().Check(env.Given); err != nil {
		return nil, err
	}
	rows, _ := env.Given.Get(vary.Rows)
	groups, _ := env.Given.Get(vary.Groups)
	l, err := prunedTile(b, env, free, enc, micro.Tile{Rows: rows, Vectors: enc.Share / tiled.Lay(b, free).Instr.Lanes}, groups == 1, space)
	if l == nil || err != nil {
		return nil, err
	}
	return []*lower.Lowered{l}, nil
}

// pointOf is that of a plan in a space.
func (c *sparse) pointOf(p *tiled.Tiling, space *params.Space) (*params.Point, *params.Space) {
	return vary.PointIn(space, func(name string) int64 {
		switch name {
		case vary.Share:
			return c.enc.Share
		case vary.Rows:
			return p.Rows
		case vary.Groups:
			return vary.Flag(p.GroupTasks)
		}
		return max(c.Band, 1)
	})
}

// shares are how many filters may share what they keep.
func (c *sparse) shares(e *weights.Encodings) ([]int64, error) {
	var out []int64
	for share := c.Instr.Lanes; share <= c.ChannelBlock*micro.MaxGroups && share <= fkw.MaxShare; share += c.Instr.Lanes {
		enc, err := e.Find(c.Order(), share, c.near())
		if err != nil {
			return nil, c.Errorf("%w", err)
		}
		if enc != nil {
			out = append(out, share)
		}
	}
	return out, nil
}

// space is what kernels whose lanes are pixels may vary.
func (c *pixelwise) space() *params.Space {
	all := c.tiles()
	s := &params.Space{Algorithm: PixelsAnchor, Params: []params.Param{{Name: vary.Rows, Values: vary.Sized(all, vary.RowsOf)}, {Name: vary.Vectors, Values: vary.Sized(all, vary.VectorsOf)},
		{Name: vary.Band, Values: vary.Divisors(c.rows, tiled.MostBands)}}}
	s.Fits = func(v []int64) bool {
		whole := c.rows%v[0] != 0
		return slices.Contains(all, micro.Tile{Rows: v[0], Vectors: v[1]}) && (whole && v[2] == c.rows || !whole && v[2]%v[0] == 0)
	}
	return s
}

// pointOf is that of a kernel in a space.
func (c *pixelwise) pointOf(t micro.Tile, band int64, space func() *params.Space) func() (*params.Point, *params.Space) {
	return func() (*params.Point, *params.Space) {
		return vary.PointIn(space(), func(name string) int64 {
			switch name {
			case vary.Rows:
				return t.Rows
			case vary.Vectors:
				return t.Vectors
			}
			return band
		})
	}
}
