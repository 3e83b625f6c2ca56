package tiled

import (
	"errors"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
)

// vary takes what is given in place of what the plan decided.
func (c *Laid) vary(p *Tiling) {
	if n, ok := c.Given.Get(vary.Groups); ok {
		p.GroupTasks = n == 1
	}
	if n, ok := c.Given.Get(vary.Tiles); ok {
		p.PerTask = n
	}
}

// GivenBand is the band that is given.
func (c *Laid) GivenBand() (int64, bool) { return c.Given.Get(vary.Band) }

// spaceOf is what plans of a contraction may vary, by the one that it makes by itself.
func (c *Laid) spaceOf(p *Tiling) *params.Space {
	all := c.Choice.Fitting()
	if !slices.Contains(all, p.Tile) {
		all = append(slices.Clone(all), p.Tile)
	}
	s := &params.Space{Algorithm: c.anchor(), Params: []params.Param{{Name: vary.Rows, Values: vary.Sized(all, vary.RowsOf)}, {Name: vary.Vectors, Values: vary.Sized(all, vary.VectorsOf)}}}
	s.Params = append(s.Params, c.placements(p)...)
	at := func(name string) int {
		return slices.IndexFunc(s.Params, func(x params.Param) bool { return x.Name == name })
	}
	groups, band := at(vary.Groups), at(vary.Band)
	pixels, known := p.Pixels.Const()
	s.Fits = func(values []int64) bool {
		runs := known && values[0] > pixels // tiles of several runs: tasks have all of them
		return slices.Contains(all, micro.Tile{Rows: values[0], Vectors: values[1]}) && !(runs && (groups >= 0 && values[groups] == 0 || band >= 0 && values[band] != 1))
	}
	return s
}

// placements are the parameters besides the register tile: the order of loops, what a task has, and what is fetched when.
func (c *Laid) placements(p *Tiling) []params.Param {
	var out []params.Param
	pixels, known := p.Pixels.Const()
	if !c.Window && !p.converted {
		out = append(out, params.Param{Name: vary.Groups, Values: []int64{0, 1}})
	}
	if known && pixels > 1 && !p.copied && !p.converted {
		out = append(out, params.Param{Name: vary.Tiles, Values: vary.Counts(max(pixels, 2*TilesPerTask))})
	}
	if bands := c.Bands(p); len(bands) > 1 {
		out = append(out, params.Param{Name: vary.Band, Values: bands})
	}
	if !c.Window && c.Target.PrefetchBytes > 0 && !p.apart && pixels != 1 {
		out = append(out, params.Param{Name: vary.Ahead, Values: vary.Distances(c.Target.PrefetchBytes, int64(c.PackedType().Size()))})
	}
	return out
}

// Bands are those that divide the rows, and whose copy leaves the second-level cache room.
func (c *Laid) Bands(p *Tiling) []int64 {
	r := c.Row()
	if c.copy == nil || r < 0 || r == c.Channel || c.merged[r] || c.merged[c.Pixel] {
		return nil
	}
	rows, known := c.Block.Stage.Axes[r].Extent.Const()
	if _, width := p.Pixels.Const(); !known || !width {
		return nil
	}
	var out []int64
	local := c.local(p)
	for _, b := range vary.Divisors(rows, MostBands) {
		if n, ok := c.copied(local, b); ok && (4*n <= c.Target.L2/2 || b == max(c.Band, 1) || b == 1) {
			out = append(out, b)
		}
	}
	return out
}

// pointOf is that of a plan in a space.
func (c *Laid) pointOf(p *Tiling, out *lower.Proposal, space func() *params.Space) func() (*params.Point, *params.Space) {
	return func() (*params.Point, *params.Space) {
		return vary.PointIn(space(), func(name string) int64 { return c.value(p, out, name) })
	}
}

// value is that of a plan's parameter.
func (c *Laid) value(p *Tiling, out *lower.Proposal, name string) int64 {
	switch name {
	case vary.Rows:
		return p.Rows
	case vary.Vectors:
		return p.Vectors
	case vary.Groups:
		return vary.Flag(p.GroupTasks)
	case vary.Tiles:
		return p.PerTask
	case vary.Band:
		return max(c.Band, 1)
	}
	return out.Sched.Stages[len(out.Sched.Stages)-1].Tile.Ahead
}

// ownSpace is what plans of a block may vary; nil where it has none.
func ownSpace(b *block.Block, env *lower.Env) *params.Space {
	free := *env
	free.Given = nil
	c := Lay(b, &free)
	p, _ := c.Plan(&free, nil)
	if p == nil {
		return nil
	}
	return c.spaceOf(p)
}

// varied is the kernel of the parameters that are given, or none; an error where they are none of the block's.
func varied(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	c := LayHalves(b, env)
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
	c.Given = env.Given
	p, _ := c.Plan(env, &t)
	if p == nil {
		return nil, nil
	}
	l, err := c.propose(p, env, func() *params.Space { return space })
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	return []*lower.Lowered{l}, nil
}
