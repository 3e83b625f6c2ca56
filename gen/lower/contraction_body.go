package lower

import (
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

const (
	tileVar  = "tp" // number of the tile within the task
	restVar  = "tq" // number of the pixel among those that fill no tile
	chunkVar = "tc" // number of the task along the pixels, or along an axis that tasks share
	// tilesPerTask is how many tiles of a long pixel axis one task computes at most, but for those of short ones.
	tilesPerTask = 8
	// usualPixels is what an extent counts as that only the run knows. Of such pixels those that
	// fill no tile are computed one by one, so that tiles of more than mostRows do not pay.
	usualPixels, mostRows = 56, 8
)

// plan of one contraction's loops.
type tiling struct {
	tile
	lanes             int64 // of a vector
	groups, tileLanes int64 // so many tiles along the result channels, of so many lanes each
	pixels            sym.Expr
	x                 instr.Operand
	micro             []loop.KLoop
	rowStep, runStep  int64
	xBuf, wBuf, acc   *loop.Buffer
	xAt               sym.Expr // of the first pixel and K point, in the axes' variables
	wAt               sym.Expr
	copied            bool  // X is a copy of what the task's pixels need
	converted         bool  // and a task has some pixels or groups, whatever rows these are of: see shareConverted
	setGroups         int64 // groups of channels of a task, where these are fewer than all
	// perTask is the most tiles of a task along the pixels; groupTasks: tasks compute one group of channels each.
	perTask    int64
	groupTasks bool
	// apart: each register of W walks memory by itself. What is read once a run comes from memory, which gives a
	// processor more where it reads several places at a time.
	apart bool
	// packed is how W lies in memory.
	packed Packing
}

// pack decides how W lies in memory: as is given, or in groups of a tile's channels or, apart, of a register's.
func (p *tiling) pack(given *Packing, t ir.DType) {
	switch {
	case given != nil:
		p.packed = *given
	case p.apart:
		p.packed = Packing{Lanes: p.lanes, Groups: p.groups * p.vectors, Parts: 1, Type: t}
	default:
		p.packed = Packing{Lanes: p.tileLanes, Groups: p.groups, Parts: 1, Type: t}
	}
}

// weightsAt is where the weights of the group of channels at hand begin.
func (p *tiling) weightsAt(steps int64, f sym.Facts) sym.Expr {
	group := sym.Var(groupVar)
	if p.apart || p.packed.Lanes == p.tileLanes {
		return sym.Scale(group, steps*p.tileLanes)
	}
	tiles := sym.Const(p.packed.Lanes / p.tileLanes) // of a packed group
	return sym.Add(sym.Scale(sym.FloorDiv(group, tiles, f), steps*p.packed.Lanes), sym.Scale(sym.Mod(group, tiles, f), p.tileLanes))
}

// usualPixels is the number of pixels that the tile is chosen for.
func (p *tiling) usualPixels() int64 {
	if n, ok := p.pixels.Const(); ok {
		return n
	}
	return usualPixels
}

// chunk is the most pixels of a task: all of them, or as many as fill some tiles.
func (p *tiling) chunk() int64 {
	n, known := p.pixels.Const()
	if known && (p.copied && !p.converted || n/p.rows <= p.perTask) {
		return n
	}
	return p.perTask * p.rows
}

// chunks is the number of tasks along the pixels. The last one of a known number takes the rest too, but where it would have to convert
// more than others do.
func (p *tiling) chunks(f sym.Facts) sym.Expr {
	n, known := p.pixels.Const()
	switch {
	case !known:
		return sym.CeilDiv(p.pixels, sym.Const(p.chunk()), f)
	case n == p.chunk():
		return sym.Const(1)
	}
	tiles := n / p.rows
	if p.converted {
		tiles = (n + p.rows - 1) / p.rows
	}
	return sym.Const((tiles + p.perTask - 1) / p.perTask)
}

// first is the first pixel of a task.
func (p *tiling) first() sym.Expr {
	if n, known := p.pixels.Const(); known && n == p.chunk() {
		return sym.Const(0)
	}
	return sym.Scale(sym.Var(chunkVar), p.chunk())
}

// body builds the kernel's statements around the tile.
func (c *contraction) body(k *loop.Kernel, p *tiling, copyIn []loop.Stmt) {
	c.share(p)
	chunk := te.Axis{Var: chunkVar, Extent: p.chunks(c.n.facts)}
	c.n.addRanges([]te.Axis{chunk, {Var: tileVar, Extent: sym.Const(max(p.chunk()/p.rows, 1))}, {Var: restVar, Extent: sym.Const(p.rows)}})
	tiles := c.tiles(p)
	group := te.Axis{Var: groupVar, Extent: sym.Const(p.groups)}
	var outer []te.Axis
	if c.groups > 1 {
		outer = append(outer, c.groupAxis())
	}
	for i, a := range c.b.Stage.Axes {
		if c.runs > 1 && i == c.row() {
			continue // tiles walk it
		}
		if c.band > 1 && i == c.row() {
			rows, _ := a.Extent.Const()
			outer = append(outer, te.Axis{Var: bandVar, Extent: sym.Const(rows / c.band)})
			tiles = loops([]te.Axis{{Var: axisVar(i), Extent: sym.Const(c.band)}}, tiles)
			continue
		}
		if i != c.channel && i != c.pixel && !c.merged[i] {
			outer = append(outer, te.Axis{Var: axisVar(i), Extent: a.Extent})
		}
	}
	var tasks []te.Axis
	if p.groupTasks {
		group, tiles = c.groupSets(p, group, tiles)
		tasks = append(append(tasks, group), append(outer, chunk)...)
		tiles = append(copyIn, tiles...)
	} else {
		tasks = append(append(tasks, outer...), chunk)
		tiles = append(copyIn, loops([]te.Axis{group}, tiles)...)
	}
	k.Grid = tasks
	k.Body = append([]loop.Stmt{loop.Alloc{Buf: p.acc}}, tiles...)
}

// tiles computes the pixels of a task: full tiles, then the exact rest. Of a known number the rest is a
// smaller tile, of the last task; of another one, pixel by pixel.
func (c *contraction) tiles(p *tiling) []loop.Stmt {
	if c.runs > 1 {
		return c.tilesOfRuns(p)
	}
	n, known := p.pixels.Const()
	if known && p.chunk() == n {
		return append(c.fullTiles(p, sym.Const(n/p.rows)), c.rest(p, n)...)
	}
	left := sym.Sub(p.pixels, p.first())
	if !known {
		here := sym.Min(sym.Const(p.chunk()), left, c.n.facts)
		full := sym.FloorDiv(here, sym.Const(p.rows), c.n.facts)
		single := loops([]te.Axis{{Var: restVar, Extent: sym.Mod(here, sym.Const(p.rows), c.n.facts)}},
			c.oneTile(p, sym.Add(sym.Scale(full, p.rows), sym.Var(restVar)), 1))
		return append(c.fullTiles(p, full), single...)
	}
	full := n / p.rows
	tiles := c.fullTiles(p, sym.Min(sym.Const(p.perTask), sym.Sub(sym.Const(full), sym.Scale(sym.Var(chunkVar), p.perTask)), c.n.facts))
	rest := c.rest(p, n)
	if rest == nil {
		return tiles
	}
	chunks, _ := p.chunks(c.n.facts).Const()
	last := chunks - 1
	return append(tiles, loop.If{Cond: []te.Within{{E: sym.Var(chunkVar), Lo: sym.Const(last), Hi: sym.Const(last + 1)}}, Then: rest})
}

// fullTiles are n tiles from the task's first pixel on.
func (c *contraction) fullTiles(p *tiling, n sym.Expr) []loop.Stmt {
	if n.Is(0) {
		return nil
	}
	return loops([]te.Axis{{Var: tileVar, Extent: n}}, c.oneTile(p, sym.Scale(sym.Var(tileVar), p.rows), p.rows))
}

// rest is the tile after the last full one of n pixels.
func (c *contraction) rest(p *tiling, n int64) []loop.Stmt {
	if n%p.rows == 0 {
		return nil
	}
	return c.oneTile(p, sym.Sub(sym.Const(n-n%p.rows), p.first()), n%p.rows)
}

// oneTile is a call of the micro-kernel, from a pixel of the task on, and what the block does with the sums.
func (c *contraction) oneTile(p *tiling, local sym.Expr, rows int64) []loop.Stmt {
	start := sym.Add(p.first(), local)
	at := map[string]sym.Expr{}
	if c.pixel >= 0 {
		at[axisVar(c.pixel)] = start
		if p.copied {
			at[axisVar(c.pixel)] = local
		}
	}
	call := c.call(p, c.micro(p, rows), at)
	if c.pixel >= 0 {
		at[axisVar(c.pixel)] = sym.Add(start, sym.Var(rowVar))
	}
	if c.band > 1 {
		at[axisVar(c.row())] = c.rowOfBand()
	}
	return append([]loop.Stmt{call}, loops([]te.Axis{{Var: rowVar, Extent: sym.Const(rows)}}, c.keep(p, at, sym.Var(rowVar)))...)
}

// micro is the micro-kernel of a tile of so many rows.
func (c *contraction) micro(p *tiling, rows int64) *loop.MicroKernel {
	m := &loop.MicroKernel{Instr: c.instr, X: p.x, Rows: rows, Vectors: p.vectors, RowStep: p.rowStep, K: p.micro, Stored: c.storedWeights()}
	if p.apart {
		m.VecStep = c.kSteps() * p.lanes
	}
	if !c.window {
		prefetch(c.t, m)
	}
	return m
}

// call runs the micro-kernel from where the axes' variables are at.
func (c *contraction) call(p *tiling, m *loop.MicroKernel, at map[string]sym.Expr) loop.Stmt {
	return loop.Tile{Micro: m, X: p.xBuf, XAt: p.xAt.Subst(at, c.n.facts), W: p.wBuf, At: p.wAt, Acc: p.acc}
}

// keep is what the block does with the sums of a row of the tile, the pixel where the axes' variables are at.
func (c *contraction) keep(p *tiling, at map[string]sym.Expr, row sym.Expr) []loop.Stmt {
	e := &nest{facts: c.n.facts, out: c.n.out, at: c.n.at.Subst(at, c.n.facts)}
	for _, r := range c.n.results {
		e.results = append(e.results, substMem(r, at, c.n.facts))
	}
	sum := loop.Mem{Buf: p.acc, Index: sym.Add(sym.Scale(row, p.tileLanes), sym.Scale(sym.Var(vecVar), c.outPiece), sym.Var(laneVar))}
	store := e.stores(func(int) te.Expr { return sum }, e.at)
	out := loops([]te.Axis{{Var: vecVar, Extent: sym.Const(p.tileLanes / c.outPiece)}}, c.channelBlock(e, p.tileLanes, store))
	return append(out, c.padding(e, at)...)
}

// channelBlock runs the statements, which store the results of one channel, for those of a block. Where the last
// block is not full, it stores zeros where storage goes on beyond the channels; row-major
// storage does not, and beyond the channels of a group are those of the next one.
func (c *contraction) channelBlock(e *nest, tileLanes int64, store []loop.Stmt) []loop.Stmt {
	lanes := func(n int64, body []loop.Stmt) []loop.Stmt {
		return loops([]te.Axis{{Var: laneVar, Extent: sym.Const(n)}}, body)
	}
	first := sym.Add(sym.Scale(sym.Var(groupVar), tileLanes), sym.Scale(sym.Var(vecVar), c.outPiece))
	left := c.channels % c.outPiece
	if left == 0 && c.channels%tileLanes == 0 {
		return lanes(c.outPiece, store)
	}
	if left == 0 {
		return []loop.Stmt{loop.If{Cond: []te.Within{{E: first, Lo: sym.Const(0), Hi: sym.Const(c.channels)}}, Then: lanes(c.outPiece, store)}}
	}
	last := lanes(left, store)
	if c.outBlocked && c.groups == 1 {
		beyond := e.at.Subst(map[string]sym.Expr{laneVar: sym.Add(sym.Var(laneVar), sym.Const(left))}, c.n.facts)
		last = append(last, lanes(c.block-left, e.zeros(beyond))...)
	}
	if c.channels < c.block {
		return last
	}
	whole := []te.Within{{E: first, Lo: sym.Const(0), Hi: sym.Const(c.channels - left)}}
	return []loop.Stmt{loop.If{Cond: whole, Then: lanes(c.block, store), Else: last}}
}
