package contract

import (
	"errors"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/lower/vary"
	"rules_dnn/gen/params"
)

// vary takes what is given in place of what the plan decided.
func (c *laid) vary(p *tiling) {
	if n, ok := c.given.Get(vary.Groups); ok {
		p.groupTasks = n == 1
	}
	if n, ok := c.given.Get(vary.Tiles); ok {
		p.perTask = n
	}
}

// givenBand is the band that is given.
func (c *laid) givenBand() (int64, bool) { return c.given.Get(vary.Band) }

// spaceOf is what plans of a contraction may vary, by the one that it makes by itself.
func (c *laid) spaceOf(p *tiling) *params.Space {
	all := c.choice.Fitting()
	if !slices.Contains(all, p.Tile) {
		all = append(slices.Clone(all), p.Tile)
	}
	s := &params.Space{Algorithm: c.anchor(), Params: []params.Param{{Name: vary.Rows, Values: vary.Sized(all, vary.RowsOf)}, {Name: vary.Vectors, Values: vary.Sized(all, vary.VectorsOf)}}}
	s.Params = append(s.Params, c.placements(p)...)
	at := func(name string) int {
		return slices.IndexFunc(s.Params, func(x params.Param) bool { return x.Name == name })
	}
	groups, band := at(vary.Groups), at(vary.Band)
	pixels, known := p.pixels.Const()
	s.Fits = func(values []int64) bool {
		runs := known && values[0] > pixels // tiles of several runs: tasks have all of them
		return slices.Contains(all, micro.Tile{Rows: values[0], Vectors: values[1]}) && !(runs && (groups >= 0 && values[groups] == 0 || band >= 0 && values[band] != 1))
	}
	return s
}

// placements are the parameters besides the register tile: the order of loops, what a task has, and what is fetched when.
func (c *laid) placements(p *tiling) []params.Param {
	var out []params.Param
	pixels, known := p.pixels.Const()
	if !c.window && !p.converted {
		out = append(out, params.Param{Name: vary.Groups, Values: []int64{0, 1}})
	}
	if known && pixels > 1 && !p.copied && !p.converted {
		out = append(out, params.Param{Name: vary.Tiles, Values: vary.Counts(max(pixels, 2*tilesPerTask))})
	}
	if bands := c.bands(p); len(bands) > 1 {
		out = append(out, params.Param{Name: vary.Band, Values: bands})
	}
	if !c.window && c.t.PrefetchBytes > 0 && !p.apart && pixels != 1 {
		out = append(out, params.Param{Name: vary.Ahead, Values: vary.Distances(c.t.PrefetchBytes, int64(c.packedType().Size()))})
	}
	return out
}

// bands are those that divide the rows, and whose copy leaves the second-level cache room.
func (c *laid) bands(p *tiling) []int64 {
	r := c.row()
	if c.copy == nil || r < 0 || r == c.channel || c.merged[r] || c.merged[c.pixel] {
		return nil
	}
	rows, known := c.b.Stage.Axes[r].Extent.Const()
	if _, width := p.pixels.Const(); !known || !width {
		return nil
	}
	var out []int64
	local := c.local(p)
	for _, b := range vary.Divisors(rows, mostBands) {
		if n, ok := c.copied(local, b); ok && (4*n <= c.t.L2/2 || b == max(c.band, 1) || b == 1) {
			out = append(out, b)
		}
	}
	return out
}

// pointOf is that of a plan in a space.
func (c *laid) pointOf(p *tiling, out *lower.Proposal, space func() *params.Space) func() (*params.Point, *params.Space) {
	return func() (*params.Point, *params.Space) {
		return vary.PointIn(space(), func(name string) int64 { return c.value(p, out, name) })
	}
}

// value is that of a plan's parameter.
func (c *laid) value(p *tiling, out *lower.Proposal, name string) int64 {
	switch name {
	case vary.Rows:
		return p.Rows
	case vary.Vectors:
		return p.Vectors
	case vary.Groups:
		return flag(p.groupTasks)
	case vary.Tiles:
		return p.perTask
	case vary.Band:
		return max(c.band, 1)
	}
	return out.Sched.Stages[len(out.Sched.Stages)-1].Tile.Ahead
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ownSpace is what plans of a block may vary; nil where it has none.
func ownSpace(b *block.Block, env *lower.Env) *params.Space {
	free := *env
	free.Given = nil
	c := newLaid(b, &free)
	p, _ := c.plan(&free, nil)
	if p == nil {
		return nil
	}
	return c.spaceOf(p)
}

// varied is the kernel of the parameters that are given, or none; an error where they are none of the block's.
func varied(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	c := newLaid(b, env)
	if c == nil || c.anchor() != env.Given.Algorithm {
		return nil, nil
	}
	space := env.SpaceOr(c.anchor(), func() *params.Space { return ownSpace(b, env) })
	if space == nil {
		return nil, nil
	}
	if err := space.Check(env.Given); err != nil {
		return nil, err
	}
	t, _ := vary.GivenTile(env.Given)
	c.given = env.Given
	p, _ := c.plan(env, &t)
	if p == nil {
		return nil, nil
	}
	l, err := c.propose(p, env, func() *params.Space { return space })
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, c.error("%w", err)
	}
	return []*lower.Lowered{l}, nil
}
