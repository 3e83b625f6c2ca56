package tiled

import (
	"errors"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
)

// Anchor is what kernels are called that are no windows.
const Anchor = "contraction"

func (c *Laid) anchor() string {
	if c.Window {
		return lower.WindowAnchor
	}
	return Anchor
}

// Contraction proposes schedules for a block that is a contraction, one for each tile that env asks for, and follows them; none where
// the block is no such thing. The weights are packed into a constant of the tile's order.
func Candidates(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if !env.Packing.Transforms(0) {
		return nil, nil
	}
	if env.Varies() {
		return varied(b, env)
	}
	c := LayHalves(b, env)
	if c == nil {
		return nil, nil
	}
	p, choices := c.Plan(env, nil)
	if p == nil {
		return nil, nil
	}
	first, own := c, p
	space := sync.OnceValue(func() *params.Space { return first.spaceOf(own) })
	out := []*lower.Lowered{}
	for i, t := range choices {
		if env.Only != "" && lower.Unhashed(env.Only) != lower.TiledName(c.anchor(), t) {
			continue
		}
		if i > 0 {
			c = LayHalves(b, env)
			if p, _ = c.Plan(env, &t); p == nil {
				continue
			}
		}
		l, err := c.propose(p, env, space)
		if errors.As(err, new(*follow.TileError)) {
			continue // it is read in steps that no micro-kernel has
		}
		if err != nil {
			return nil, c.Errorf("%w", err)
		}
		out = append(out, l)
	}
	return out, nil
}

// propose is the kernel of a plan.
func (c *Laid) propose(p *Tiling, env *lower.Env, space func() *params.Space) (*lower.Lowered, error) {
	out := c.Proposal(p, env)
	l, err := env.Proposed(c.anchor(), p.Tile, out, c.Block)
	if err == nil {
		l.ArgsOf = out.Args
		l.Point = c.pointOf(p, out, space)
	}
	return l, err
}
