package pruned

import (
	"errors"
	"fmt"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/target/instr"
)

// PixelLayouts calls want for the layouts in which pixels lie apart, of what a contraction of pruned weights reads and gives.
func PixelLayouts(b *block.Block, env *lower.Env, want func(*ir.Value, layout.Layout)) error {
	if env.Target.Images != nil {
		return nil
	}
	apart := env.InRows()
	c := tiled.Lay(b, apart)
	if c == nil || c.Window || c.Groups > 1 || !c.Target.SumsStoredOf(c.Weights.Type) {
		return nil
	}
	if many, err := env.Pruned.Sparse(c.Weights); !many {
		return err
	}
	of, ok := cut(b.Results[0].Shape, c.Instr.Lanes)
	if !ok {
		return nil
	}
	apart.Layouts = func(*ir.Value) layout.Layout { return of.Layout() }
	if newApart(b, apart) == nil {
		return nil
	}
	for _, v := range append([]*ir.Value{b.Operands[c.X.Source.N]}, b.Results...) {
		want(v, of.Layout())
	}
	return nil
}

// PrunedApart proposes schedules for a contraction whose weights were pruned, each filter's in its own way, where pixels of the results lie apart.
func Apart(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if env.Packing != nil && env.Packing.Kept == "" {
		return nil, nil
	}
	c := newApart(b, env)
	if c == nil {
		return nil, nil
	}
	if many, err := env.Pruned.Sparse(c.Weights); !many {
		return nil, err
	}
	encodings, err := c.encodings(env)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	if len(encodings) == 0 || env.Varies() && env.Given.Algorithm != apartName {
		return nil, nil
	}
	space := sync.OnceValue(func() *params.Space {
		return env.SpaceOr(apartName, func() *params.Space { return c.space(encodings) })
	})
	var all []apartTile
	if env.Varies() {
		if all, err = c.given(env, space(), encodings); err != nil {
			return nil, err
		}
	} else if all = c.tiles(encodings); env.Only == "" {
		all = all[:min(len(all), max(apartTiles, env.Tiles))]
	}
	var out []*lower.Lowered
	for _, t := range all {
		if !env.Varies() && env.Only != "" && lower.Unhashed(env.Only) != lower.TiledName(PixelsAnchor, t.Tile) {
			continue
		}
		l, err := c.kernel(t, env)
		if errors.As(err, new(*follow.TileError)) {
			continue
		}
		if err != nil {
			return nil, c.Errorf("%w", err)
		}
		l.Point = func() (*params.Point, *params.Space) { return t.pointIn(space()) }
		out = append(out, l)
	}
	return out, nil
}

// apartTiles is how many tiles are tried: what they copy and read further away is estimated of their kernels alone.
const apartTiles = 4

// depth is how many channels X has.
func (c *apart) depth() int64 {
	n, _ := c.Reduce[0].Extent.Const()
	return n
}

// bandRows is how many rows of blocks a task has: the fewest bands, as many rows in each, whose copies take far less than a third-level cache has room
// for. The second-level one holds what a tile's pixels need, which all filters read. Where a pooling reads the results, bands have whole tiles, and there are a few of them.
func (c *apart) bandRows(x micro.Tile) int64 {
	if c.Pooling[0] > 0 {
		return c.pooledBand(x)
	}
	around := c.high - c.Rows
	for b := min(c.Rows, mostCopied*c.Target.L2/(4*max(c.depth(), 1)*c.copied(c.Columns)*c.Lanes)-around); b > x.Rows; b-- {
		if c.Rows%b == 0 {
			return b
		}
	}
	return min(x.Rows, c.Rows)
}

// copies reports whether a task may copy what so many rows read.
func (c *apart) copies(rows int64) bool {
	return c.bytes(rows, c.Columns) <= mostCopied*c.Target.L2
}

// bytes is how many a task copies of so many rows and columns of blocks.
func (c *apart) bytes(rows, columns int64) int64 {
	return 4 * c.depth() * (rows + c.high - c.Rows) * c.copied(columns) * c.Lanes
}

// copied is how many columns a task copies for so many, and maybe one more: channels that lie powers of two apart would find few places in a cache.
func (c *apart) copied(columns int64) int64 { return (columns + c.wide - c.Columns) | 1 }

// stripOf is how many columns of blocks a task has: all, or whole tiles. What tiles read of all channels that they sum at a time is read again by each
// filter; where it is much of the second-level cache it lies in few pieces in a strip's copy, and so finds more room there than rows of a wide one do.
func (c *apart) stripOf(t apartTile) int64 {
	best, rows := c.Columns, c.bandRows(t.Tile)
	if c.Pooling[0] > 0 || t.enc.Block > 0 || c.bytes(t.Rows, t.Vectors) <= c.Target.L2/2 {
		return best
	}
	for s := t.Vectors; s < c.Columns; s += t.Vectors {
		if c.Columns%s == 0 && s > leastStrip*(c.wide-c.Columns) && c.bytes(rows, s) <= c.Target.L2*3/2 {
			best = s
		}
	}
	return best
}

// leastStrip is how many times as many columns a strip has at least as are copied beside it.
const leastStrip = 3

// pooledBand is how many rows a task has whose results a pooling reads.
func (c *apart) pooledBand(x micro.Tile) int64 {
	best := x.Rows
	for b := x.Rows; b <= max(x.Rows, c.Rows/fewBands) && c.copies(b); b += x.Rows {
		if c.Rows%b == 0 {
			best = b
		}
	}
	return best
}

// mostCopied is how many times as much as the second-level cache holds a task copies at most, and fewBands how many tasks there are at least, of blocks of so many rows.
const mostCopied, fewBands = 4, 2

// kernel is the kernel of a tile.
func (c *apart) kernel(t apartTile, env *lower.Env) (*lower.Lowered, error) {
	own, of := *c.sparse, *c
	own.enc, of.sparse = t.enc, &own // which its arrays are made with later
	of.strip = c.stripOf(t)
	return of.propose(t, env)
}

// propose is the kernel of a tile whose encoding is the contraction's.
func (c *apart) propose(t apartTile, env *lower.Env) (*lower.Lowered, error) {
	band := c.bandRows(t.Tile)
	out, n := lower.NewProposal(env.Symbols), c.PackedOperand()
	c.sparse.shape()
	results := c.Operands(out, &tiled.PackedWeights{Value: c.weights})
	if c.lies {
		x := *c.x5
		x.Shape = c.split(x.Shape)
		out.Work.Operands[c.X.Source.N] = &x
	}
	s, task := c.schedule(t, band, env.Pruned.Alone)
	if sets := c.filterTasks((c.Rows + band - 1) / band * (c.Columns / c.strip)); sets > 1 {
		s = c.deal(s, sets)
	}
	st := c.copyApart()
	out.AddStage(st, c.scheduleCopy(band, task))
	out.AddStage(c.sumApart(results, n), s)
	c.valuesApart(&out.Sched, env.Layouts)
	c.sumStored(&out.Sched, n)
	return c.follow(PixelsAnchor, t.Tile, out, n, env)
}

// scheduleCopy is that of the copy, of the rows that a task reads.
func (c *apart) scheduleCopy(band int64, task map[string]sym.Expr) sched.Stage {
	s := sched.Stage{At: sched.Ref{Stage: 1, Loop: c.lastTask()}, Inside: true}
	rows := band + c.high - c.Rows
	s.Regions = []sched.Region{{Axis: "i0", First: c.X.Index[0].Subst(task, c.Nest.Facts), Extent: 1}, {Axis: "i2", First: task[c.Block.Stage.Axes[RowDim].Var], Extent: rows}}
	if c.strip < c.Columns {
		s.Regions = append(s.Regions, sched.Region{Axis: "i3", First: sym.Scale(sym.Var(stripVar), c.strip), Extent: c.copied(c.strip)})
	}
	for d := range ImageRank + 1 {
		l := sched.Loop{Var: fmt.Sprintf("x%d", d), Axis: fmt.Sprintf("i%d", d)}
		if d == RowDim && c.Rows%band != 0 {
			l.Size, l.Edge = rows, sched.Clip
		}
		s.Loops = append(s.Loops, l)
	}
	return s
}

// stripVar numbers the strips of columns that tasks have.
const stripVar = "ts"

// lastTask is the loop over the tasks that have copies of their own.
func (c *apart) lastTask() string {
	if c.strip < c.Columns {
		return stripVar
	}
	return vars.Band
}

// bandPart and rowPart are the parts of rows that are cut into bands of no whole tiles.
const bandPart, rowPart = "j4", "j5"

// schedule has a task for each band of rows of blocks, of all filters. A tile's pixels are those of all filters, one after the other: what these read
// stays in the second-level cache. Where that has no room for all channels, a set of filters sums those of one block after the other.
func (c *apart) schedule(t apartTile, band int64, alone bool) (sched.Stage, map[string]sym.Expr) {
	s := sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: c.Instr.Name, X: instr.Vector, Alone: alone, Early: c.Target.LoadsEarly()}}
	s.Tile.Held, _ = c.held(t.Tile, t.enc)
	s.Tile.Claims = t.enc.Block == 0 && c.claims()
	axes := c.Block.Stage.Axes
	row, column := axes[RowDim].Var, axes[ColumnDim].Var
	var all lower.LoopList
	all.Add(sched.Task, vars.Axis(0), axes[0].Var, 0, sched.Exact)
	bands, rows := row, row
	if band%t.Rows != 0 && band < c.Rows { // which do not end with tiles
		bands, rows = bandPart, rowPart
		s.Splits = append(s.Splits, sched.Split{Axis: row, Outer: bands, Inner: rows, Size: band})
	}
	all.Add(sched.Task, vars.Band, bands, 0, sched.Exact)
	across := int64(0)
	if c.strip < c.Columns {
		across = c.strip / t.Vectors
		all.Add(sched.Task, stripVar, column, 0, sched.Exact)
	}
	cut := band%t.Rows != 0 || c.Rows%band != 0
	if bands == row {
		all.Add(sched.Serial, vars.Tile, row, (band+t.Rows-1)/t.Rows, lower.EdgeIf(cut, sched.Clip))
	} else {
		all.Add(sched.Serial, vars.Tile, rows, 0, sched.Exact)
	}
	if across != 1 {
		all.Add(sched.Serial, acrossVar, column, across, sched.Exact)
	}
	filters := int64(0) // of a set
	if t.enc.Block > 0 {
		s.Sums, filters = sched.Worker, t.filters
		all.Add(sched.Serial, vars.Set, axes[c.Channel].Var, 0, sched.Exact)
		all.Add(sched.Serial, blockVar, keptPart, 0, sched.Exact)
	}
	all.Add(sched.Serial, vars.Group, axes[c.Channel].Var, filters, sched.Exact)
	all.Add(sched.Rows, vars.Row, rows, t.Rows, lower.EdgeIf(cut, sched.Peel))
	all.Add(sched.Columns, vars.Vec, column, t.Vectors, sched.Exact)
	all.Add(sched.Lanes, vars.Lane, apartLane, 0, sched.Exact)
	s.Loops = all
	task := map[string]sym.Expr{contract.GroupVar: sym.Const(0), axes[0].Var: sym.Var(vars.Axis(0)), row: sym.Scale(sym.Var(vars.Band), band)}
	return s, task
}
