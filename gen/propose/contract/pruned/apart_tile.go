package pruned

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// apartTile is a tile, and how the weights are stored that it sums: where their encoding has blocks of channels, so many filters sum those of one
// block after the other.
type apartTile struct {
	micro.Tile
	enc     *fkw.Encoding
	filters int64
}

// Blocks of channels have so many of them, and there are so many at least.
const leastNear, mostNear, fewestNear = 32, 128, 2

// encodings are those of the weights: of all channels together, and in blocks of so many that what a tile reads of them stays in the second-level
// cache while filters walk their kernels.
func (c *apart) encodings(env *lower.Env) ([]*fkw.Encoding, error) {
	nears := slices.DeleteFunc(vary.Divisors(c.depth(), mostNear), func(n int64) bool {
		return n < leastNear || c.depth()/n < fewestNear || !env.Target.TilesFillScratch()
	})
	var out []*fkw.Encoding
	for _, near := range append([]int64{0}, nears...) {
		enc, err := env.Pruned.Find(c.Order(), 1, near)
		if err != nil {
			return nil, err
		}
		if enc != nil && (env.Packing == nil || env.Packing.Kept == enc.String()) {
			out = append(out, enc)
		}
	}
	return out, nil
}

// registers is how many of a tile lie beside each other, of so many places of blocks.
func (c *apart) registers(places int64) int64 { return places * c.Lanes / c.Instr.Lanes }

// free is how many registers tiles may take besides what is loaded further ahead than compilers do.
func (c *sparse) free() int64 {
	if c.Target.LoadsEarly() {
		return int64(c.Target.VectorRegisters) - instr.EarlyLoads + 1
	}
	return int64(c.Target.VectorRegisters)
}

// held is how many weights of a kernel stay in registers beside the sums of a tile: all, which is 0, or the most that leave others where they lie;
// false where there is no room for most. Those of 16 bits are no operands where they lie.
func (c *apart) held(t micro.Tile, enc *fkw.Encoding) (int64, bool) {
	entries, registers, vectors := int64(enc.Entries()), c.free(), c.registers(t.Vectors)
	if c.Instr.RegistersApart(t.Rows, vectors, entries) <= registers {
		return 0, true
	}
	for n := entries - 1; 2*n >= entries && c.Instr.Allows(instr.Memory) && c.Weights.Type == ir.F32; n-- {
		if c.Instr.RegistersHeld(t.Rows, vectors, n) <= registers {
			return n, true
		}
	}
	return 0, false
}

// fitting are the tiles that fit registers. Their columns divide a block's.
func (c *apart) fitting(enc *fkw.Encoding) []micro.Tile {
	var all []micro.Tile
	for v := int64(1); v <= c.Columns; v++ {
		for r := int64(1); c.Columns%v == 0 && r <= c.Rows; r++ {
			held, fits := c.held(micro.Tile{Rows: r, Vectors: v}, enc)
			if !fits {
				break
			}
			if c.hasWindows(micro.Tile{Rows: r, Vectors: v}, held) {
				all = append(all, micro.Tile{Rows: r, Vectors: v})
			}
		}
	}
	return all
}

// hasWindows reports whether tiles have whole windows of a pooling, and blocks whole tiles then. Those of as many sums that not all weights stay in
// registers are long and narrow there, and clang keeps some of the sums on the stack: of 14x2 and 2x14 it reads and writes 56 to 168 registers there in
// the loops over eight patterns, and VGG-16's second layer takes longer than in 4x4.
func (c *apart) hasWindows(t micro.Tile, held int64) bool {
	w := c.Pooling
	return w[0] == 0 || held == 0 && t.Rows%w[0] == 0 && t.Vectors%w[1] == 0 && c.Rows%t.Rows == 0 && c.evenBands(t)
}

// evenBands reports whether two threads have as many bands of a pooling, whose filters are not dealt out among tasks, or nearly so many.
func (c *apart) evenBands(t micro.Tile) bool {
	images, _ := c.Block.Stage.Axes[0].Extent.Const()
	n := images * (c.Rows / c.pooledBand(t))
	return n%2 == 0 || n >= micro.MinTasks
}

// tiles are those that fit registers, with each encoding, that of the least estimate first.
func (c *apart) tiles(encodings []*fkw.Encoding) []apartTile {
	var all []apartTile
	fits := c.fitting(encodings[0])
	if even := slices.DeleteFunc(slices.Clone(fits), func(t micro.Tile) bool { return c.Rows%c.bandRows(t) != 0 }); len(even) > 0 {
		fits = even // or threads wait for the one that has the longest band
	}
	for _, t := range fits {
		for _, enc := range encodings {
			all = append(all, apartTile{t, enc, c.together(t, enc)})
		}
	}
	return ranked(c.Target, all, c.cycles)
}

// cycles estimates the sums of a filter, of all pixels, in tiles of a size.
func (c *apart) cycles(t *target.Target, x apartTile) float64 {
	parts := x.enc.Blocks(c.depth())
	m := &loop.MicroKernel{Instr: c.Instr, X: instr.Vector, Stored: contract.InMemory(c.Weights.Type), Rows: x.Rows, Vectors: c.registers(x.Vectors), RowStep: c.copied(c.stripOf(x)) * c.Lanes, Adds: parts > 1,
		Kept: &loop.Kept{Blocks: 1, Channels: c.depth(), Part: x.enc.Block, Kernels: 10 * x.enc.Kernels / max(c.Channels, 1) / parts}}
	m.Kept.Held, _ = c.held(x.Tile, x.enc)
	m.Kept.Step = (x.Rows + c.high - c.Rows) * (x.Vectors + c.wide - c.Columns) * c.Lanes
	width, _ := c.Reduce[len(c.Reduce)-1].Extent.Const()
	if len(c.Reduce) == 1 {
		width = 1
	}
	for _, p := range x.enc.Patterns {
		var taps []int64
		for _, tap := range p.Taps() {
			taps = append(taps, int64(tap)/width*m.RowStep+int64(tap)%width*c.Lanes)
		}
		m.Kept.Taps = append(m.Kept.Taps, taps)
	}
	band := c.bandRows(x.Tile)
	sum := float64(float64(c.Rows/band*(band/x.Rows)+c.Rows%band/x.Rows) * cost.KeptCycles(t, m))
	if m.Rows = band % x.Rows; m.Rows > 0 {
		sum += float64(float64(c.Rows/band) * cost.KeptCycles(t, m))
	}
	if m.Rows = c.Rows % band % x.Rows; m.Rows > 0 {
		sum += cost.KeptCycles(t, m)
	}
	return float64(float64(parts) * float64(float64(c.Columns/x.Vectors)*sum))
}

// sumsPart is the part of the second-level cache that sums of parts of the channels may take.
const sumsPart = 4

// together is how many filters have such sums at a time: as many as leave the cache room for what they read.
func (c *apart) together(t micro.Tile, enc *fkw.Encoding) int64 {
	if enc.Block == 0 {
		return c.Channels
	}
	best := int64(1)
	for _, n := range vary.Divisors(c.Channels, c.Channels) {
		if 4*n*t.Rows*t.Vectors*c.Lanes <= c.Target.L2/sumsPart {
			best = n
		}
	}
	return best
}

// apartName is the algorithm's in points of parameters.
const apartName = PixelsAnchor + " apart"

// space is what kernels may vary: the tile, how many channels are summed at a time, and by how many filters.
func (c *apart) space(encodings []*fkw.Encoding) *params.Space {
	all := c.fitting(encodings[0])
	var nears []int64
	for _, enc := range encodings {
		nears = append(nears, enc.Block)
	}
	s := &params.Space{Algorithm: apartName, Params: []params.Param{{Name: vary.Rows, Values: vary.Sized(all, vary.RowsOf)}, {Name: vary.Vectors, Values: vary.Sized(all, vary.VectorsOf)},
		{Name: vary.Channels, Values: nears}, {Name: vary.Filters, Values: vary.Divisors(c.Channels, c.Channels)}}}
	s.Fits = func(v []int64) bool {
		sums := 4 * v[3] * v[0] * v[1] * c.Lanes
		return slices.Contains(all, micro.Tile{Rows: v[0], Vectors: v[1]}) && (v[2] == 0 && v[3] == c.Channels || v[2] > 0 && sums <= c.Target.L2)
	}
	return s
}

// pointIn is that of a kernel in a space.
func (t apartTile) pointIn(s *params.Space) (*params.Point, *params.Space) {
	return vary.PointIn(s, func(name string) int64 {
		switch name {
		case vary.Rows:
			return t.Rows
		case vary.Vectors:
			return t.Vectors
		case vary.Channels:
			return t.enc.Block
		}
		return t.filters
	})
}

// given is the tile of the parameters that are given, an error where they are none of the block's.
func (c *apart) given(env *lower.Env, space *params.Space, encodings []*fkw.Encoding) ([]apartTile, error) {
	if err := space.Check(env.Given); err != nil {
		return nil, err
	}
	t, _ := vary.GivenTile(env.Given)
	near, _ := env.Given.Get(vary.Channels)
	filters, _ := env.Given.Get(vary.Filters)
	i := slices.IndexFunc(encodings, func(enc *fkw.Encoding) bool { return enc.Block == near })
	if i < 0 { // another chip's kernel reads them in another order
		return nil, nil
	}
	return []apartTile{{t, encodings[i], filters}}, nil
}
