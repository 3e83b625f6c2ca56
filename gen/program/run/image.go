package run

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// place is where a load or store finds its elements: the index of what lies flat in memory. An
// image's coordinates are checked by themselves: x beyond the width is not the next row.
type place struct {
	*form
	mem        *memory
	x, y, lane *form
}

func (c *compiler) place(b *loop.Buffer, index sym.Expr, t loop.Texel) *place {
	m := c.memory(b)
	if b.Image == nil {
		return &place{form: c.index(index), mem: m}
	}
	flat := sym.Add(sym.Mul(t.Y, sym.Const(m.width)), t.X)
	flat = sym.Add(sym.Scale(flat, layout.TexelLanes), index)
	return &place{form: c.index(flat), mem: m, x: c.index(t.X), y: c.index(t.Y), lane: c.index(index)}
}

// check fails where a lane's element is outside of its image.
func (p *place) check(lo, hi int) {
	if p.x == nil {
		return
	}
	for i := lo; i < hi; i++ {
		x, y, l := p.x.at(i), p.y.at(i), p.lane.at(i)
		if x < 0 || x >= p.mem.width || y < 0 || y >= p.mem.height || l < 0 || l >= layout.TexelLanes {
			p.frame.fail("lane %d of texel (%d, %d) is outside of %s, which is %d x %d", l, x, y, p.mem.name, p.mem.width, p.mem.height)
		}
	}
}

// checkStore fails where what is stored to an image is not one whole texel.
func (p *place) checkStore(vectors bool) {
	f := p.frame
	if p.x == nil {
		return
	}
	at, step := int64(-1), int64(0)
	if !p.scattered {
		at, step = p.line(f.lo)
	}
	if !vectors || step != 1 || at%layout.TexelLanes != 0 || f.hi-f.lo != layout.TexelLanes {
		f.fail("a store to the image %s that is not a whole texel", p.mem.name)
	}
}
