package interp

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// lanes is how many neighbouring outputs a group has: half of a tile's columns.
const lanes = tileColumns / 2

// strips is a contraction of two loads whose factors are read where they lie, or in a copy of one slab at a time with what is
// around it: nothing is packed per output. A convolution's slab is an image, and its lanes are neighbouring pixels; the
// gradient by its weights has the images outermost in its sums, and its lanes are channels, which the copy has innermost.
// Sums run in the order of contraction's.
type strips struct {
	x, y   *slabs
	zeros  bool // are left out where they are many
	outer  bool // the slabs are the outermost loop of the reduction
	loop   int  // of the slabs
	count  int64
	to     *form
	groups []group
	rows   []rowPlace
	steps  []step // the places of the reduction within a slab
	packed []float32
	init   float32
	acc    []float32
}

// group is outputs side by side: where their lanes begin in y's slab and in the output.
type group struct {
	from, to int64
	valid    int
}

// rowPlace is where a row's factor begins in x's slab, and its outputs.
type rowPlace struct{ from, to int64 }

// step is a place of the reduction: bytes from a group's and from a row's first element.
type step struct{ y, x int64 }

// stripsDepth is how many places of the outermost reduction's slabs are summed before the next tile.
const stripsDepth = 256

// newStrips is the contraction, or nil where it is none of this kind.
func (r *run) newStrips(s *te.Stage, shape, extents []int64, accs []*ir.Tensor, mul te.Call, init te.Const) (*strips, error) {
	if mul.Type != ir.F32 || !worthTables(shape, extents) {
		return nil, nil
	}
	var best *strips
	most := 0.0
	for k := range 2 {
		c, used, err := r.stripsOf(s, shape, extents, mul.Args[1-k], mul.Args[k])
		if err != nil {
			return nil, err
		}
		if c != nil && used > most {
			best, most = c, used
		}
	}
	if best == nil {
		return nil, nil
	}
	node, err := literal(init)
	if err != nil {
		return nil, err
	}
	best.init = node.(*constant).all.F32[0]
	b, err := bufferOf(accs[0])
	if err != nil {
		return nil, err
	}
	best.acc = b.F32
	return best, nil
}

// worthTables reports whether there are so many products that tables pay.
func worthTables(shape, extents []int64) bool {
	points := int64(1)
	for _, n := range slices.Concat(shape, extents) {
		if n > math.MaxInt32 || points > math.MaxInt32 {
			break // they are many
		}
		points *= n
	}
	return points >= 1<<10
}

// stripsOf has the lanes of y; used is the share of lanes that are outputs, at least half.
func (r *run) stripsOf(s *te.Stage, shape, extents []int64, xe, ye te.Expr) (*strips, float64, error) {
	c, n := &strips{zeros: r.SkipZeros}, len(shape)
	var err error
	if c.x, err = r.newSlabs(s, shape, extents, xe); c.x == nil || err != nil {
		return nil, 0, err
	}
	if c.y, err = r.newSlabs(s, shape, extents, ye); c.y == nil || err != nil {
		return nil, 0, err
	}
	p := c.y.p
	var own, rows []int
	for a := range n {
		inX, inY := c.x.deps.has(a), c.y.deps.has(a)
		switch {
		case p.extent[a] == 1:
		case inX == inY:
			return nil, 0, nil // a product for each point of an axis
		case inY:
			own = append(own, a)
		default:
			rows = append(rows, a)
		}
	}
	c.loop = c.y.leading()
	red := p.slots(n, p.loops)
	switch {
	case c.loop < 0:
		return nil, 0, nil
	case c.loop >= n:
		if c.outer = true; c.loop != n || !c.x.slabBy(c.loop) {
			return nil, 0, nil
		}
		red = red[1:]
	default:
		own = without(own, c.loop)
	}
	c.count = p.extent[c.loop]
	lane, used := c.y.lane(own)
	if lane < 0 || used < 0.5 || !c.y.slabBy(c.loop) || !c.y.arrange(lane) || !c.x.arrange(-1) || c.x.copied && !c.outer {
		return nil, 0, nil
	}
	c.to = p.rowMajor(p.slots(0, n))
	if p.size(own) > mostEntries || p.size(rows) > mostEntries || p.size(red) > mostEntries {
		return nil, 0, nil
	}
	c.tables(without(own, lane), lane, rows, red)
	return c, used, nil
}

// mostEntries is the most that a table has.
const mostEntries = 1 << 20

// size is how many points loops have.
func (p *program) size(axes []int) int64 {
	n := int64(1)
	for _, a := range axes {
		if n > math.MaxInt32 {
			return n
		}
		n *= min(p.extent[a], math.MaxInt32)
	}
	return n
}

// tables lists groups, rows and places.
func (c *strips) tables(own []int, lane int, rows, red []int) {
	p := c.y.p
	at := func() (to int64) {
		for a, k := range c.to.coef {
			to += k * p.v[a]
		}
		return to
	}
	_ = p.odometer(own, func() error {
		for i := int64(0); i < p.extent[lane]; i += lanes {
			p.v[lane] = i
			c.groups = append(c.groups, group{c.y.point(p), at(), int(min(lanes, p.extent[lane]-i))})
		}
		p.v[lane] = 0
		return nil
	})
	_ = p.odometer(rows, func() error {
		c.rows = append(c.rows, rowPlace{c.x.point(p), at()})
		return nil
	})
	_ = p.odometer(red, func() error {
		c.steps = append(c.steps, step{4 * c.y.place(p), 4 * c.x.place(p)})
		return nil
	})
	if len(c.groups)%2 == 1 { // a tile has two
		last := c.groups[len(c.groups)-1]
		c.groups = append(c.groups, group{from: last.from})
	}
	for len(c.rows)%tileRows != 0 {
		c.rows = append(c.rows, rowPlace{c.rows[0].from, -1})
	}
}

// runStrips shares the work out: slabs, or, where sums run over them, pairs of groups.
func (r *run) runStrips(first *strips, again func() (*strips, error)) error {
	units := first.count
	if first.outer {
		units = int64(len(first.groups) / 2)
	}
	size := int64(len(first.groups)*lanes*len(first.rows)) * int64(len(first.steps)) * first.count
	return r.share(units, size, func() (func(from, to int64) error, error) {
		c := first
		if first = nil; c == nil {
			var err error
			if c, err = again(); err != nil {
				return nil, err
			}
		}
		if c.outer {
			return c.sumOver, nil
		}
		return c.slabwise, nil
	})
}

// slabwise computes the outputs of slabs [from, to).
func (c *strips) slabwise(from, to int64) error {
	c.pack()
	if c.zeros {
		if rows := c.sparse(); rows != nil {
			c.rowwise(rows, from, to)
			return nil
		}
	}
	var tile [tileRows * tileColumns]float32
	for at := from; at < to; at++ {
		y := c.y.slab(at)
		base := c.to.coef[c.loop] * at
		for g := 0; g < len(c.groups); g += 2 {
			pair := c.groups[g : g+2]
			for row := 0; row < len(c.rows); row += tileRows {
				for i := range tile {
					tile[i] = c.init
				}
				x := c.packed[row*len(c.steps):]
				stripTile(&tile, [tileRows]*float32{&x[0], &x[1], &x[2], &x[3]}, &y[pair[0].from], &y[pair[1].from], c.steps)
				c.store(base, row, pair, &tile)
			}
		}
	}
	return nil
}

// pack puts the factors of four rows side by side, place by place.
func (c *strips) pack() {
	x := c.x.slab(0)
	c.packed = make([]float32, len(c.rows)*len(c.steps))
	to := c.packed
	for row := 0; row < len(c.rows); row += tileRows {
		for _, s := range c.steps {
			for i := range tileRows {
				to[i] = x[c.rows[row+i].from+s.x/4]
			}
			to = to[tileRows:]
		}
	}
	for r := range c.steps {
		c.steps[r].x = int64(r) * tileRows * 4
	}
}

// sumOver sums over all slabs, for the pairs [from, to) of groups: sums stay in tiles.
func (c *strips) sumOver(from, to int64) error {
	groups := c.groups[2*from : 2*to]
	tiles := make([][tileRows * tileColumns]float32, len(groups)/2*len(c.rows)/tileRows)
	for t := range tiles {
		for i := range tiles[t] {
			tiles[t][i] = c.init
		}
	}
	for at := range c.count {
		x, y := c.x.slab(at), c.y.slab(at)
		for first := 0; first < len(c.steps); first += stripsDepth {
			steps := c.steps[first:min(first+stripsDepth, len(c.steps))]
			t := 0
			for g := 0; g < len(groups); g += 2 {
				for row := 0; row < len(c.rows); row += tileRows {
					r := c.rows[row : row+tileRows]
					stripTile(&tiles[t], [tileRows]*float32{&x[r[0].from], &x[r[1].from], &x[r[2].from], &x[r[3].from]},
						&y[groups[g].from], &y[groups[g+1].from], steps)
					t++
				}
			}
		}
	}
	for g := 0; g < len(groups); g += 2 {
		for row := 0; row < len(c.rows); row += tileRows {
			c.store(0, row, groups[g:g+2], &tiles[0])
			tiles = tiles[1:]
		}
	}
	return nil
}

// store writes a tile's sums.
func (c *strips) store(base int64, row int, pair []group, tile *[tileRows * tileColumns]float32) {
	along := c.to.coef[c.y.lanes]
	for i, r := range c.rows[row : row+tileRows] {
		if r.to < 0 {
			return
		}
		for h, g := range pair {
			storeLanes(c.acc[base+r.to+g.to:], (*[lanes]float32)(tile[i*tileColumns+h*lanes:]), along, g.valid)
		}
	}
}
