package lower

import (
	"fmt"

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
	// tilesPerTask is how many tiles of a long pixel axis one task computes.
	tilesPerTask = 8
	// usualPixels is what an extent counts as that only the run knows. Of such pixels those that
	// fill no tile are computed one by one, so that tiles of more than mostRows do not pay.
	usualPixels, mostRows = 56, 8
)

// plan of one contraction's loops.
type tiling struct {
	tile
	lanes, groups, perGroup int64
	pixels                  sym.Expr
	x                       instr.Operand
	micro                   []loop.KLoop
	rowStep                 int64
	xBuf, wBuf, acc         *loop.Buffer
	xAt                     sym.Expr // of the first pixel and K point, in the axes' variables
	wAt                     sym.Expr
	padded                  []te.Within // what holds of a channel that exists; empty: all do
	copied                  bool        // X is a copy of what the task's pixels need
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
	if known && (p.copied || n/p.rows <= 2*tilesPerTask) {
		return n
	}
	return tilesPerTask * p.rows
}

// chunks is the number of tasks along the pixels. The last one of a known number takes the rest too.
func (p *tiling) chunks(f sym.Facts) sym.Expr {
	n, known := p.pixels.Const()
	switch {
	case !known:
		return sym.CeilDiv(p.pixels, sym.Const(p.chunk()), f)
	case n == p.chunk():
		return sym.Const(1)
	}
	return sym.Const((n/p.rows + tilesPerTask - 1) / tilesPerTask)
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
	chunk := te.Axis{Var: chunkVar, Extent: p.chunks(c.n.facts)}
	c.n.addRanges([]te.Axis{chunk, {Var: tileVar, Extent: sym.Const(max(p.chunk()/p.rows, 1))}, {Var: restVar, Extent: sym.Const(p.rows)}})
	tiles := c.tiles(p)
	group := te.Axis{Var: groupVar, Extent: sym.Const(p.groups)}
	var outer []te.Axis
	if c.groups > 1 {
		outer = append(outer, c.groupAxis())
	}
	for i, a := range c.b.Stage.Axes {
		if i != c.channel && i != c.pixel && !c.merged[i] {
			outer = append(outer, te.Axis{Var: axisVar(i), Extent: a.Extent})
		}
	}
	var tasks []te.Axis
	if weights, _ := p.wBuf.Size.Const(); weights/c.groups*4 <= c.t.L2/2 && !c.window {
		tasks = append(append(tasks, outer...), chunk)
		tiles = append(copyIn, loops([]te.Axis{group}, tiles)...)
	} else {
		tasks = append(append(tasks, group), append(outer, chunk)...)
		tiles = append(copyIn, tiles...)
	}
	k.Grid = tasks
	k.Body = append([]loop.Stmt{loop.Alloc{Buf: p.acc}}, tiles...)
}

// tiles computes the pixels of a task: full tiles, then the exact rest. Of a known number the rest is a
// smaller tile, of the last task; of another one, pixel by pixel.
func (c *contraction) tiles(p *tiling) []loop.Stmt {
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
	tiles := c.fullTiles(p, sym.Min(sym.Const(tilesPerTask), sym.Sub(sym.Const(full), sym.Scale(sym.Var(chunkVar), tilesPerTask)), c.n.facts))
	rest := c.rest(p, n)
	if rest == nil {
		return tiles
	}
	last := (full+tilesPerTask-1)/tilesPerTask - 1
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
	m := &loop.MicroKernel{Instr: c.instr, X: p.x, Rows: rows, Vectors: p.vectors, RowStep: p.rowStep, K: p.micro}
	at := map[string]sym.Expr{}
	if c.pixel >= 0 {
		at[axisVar(c.pixel)] = start
		if p.copied {
			at[axisVar(c.pixel)] = local
		}
	}
	body := []loop.Stmt{loop.Tile{Micro: m, X: p.xBuf, XAt: p.xAt.Subst(at, c.n.facts), W: p.wBuf, At: p.wAt, Acc: p.acc}}
	if c.pixel >= 0 {
		at[axisVar(c.pixel)] = sym.Add(start, sym.Var(rowVar))
	}
	e := &nest{facts: c.n.facts, out: c.n.out, at: c.n.at.Subst(at, c.n.facts)}
	for _, r := range c.n.results {
		e.results = append(e.results, substMem(r, at, c.n.facts))
	}
	sum := loop.Mem{Buf: p.acc, Index: sym.Add(sym.Scale(sym.Var(rowVar), p.perGroup), sym.Scale(sym.Var(vecVar), c.block), sym.Var(laneVar))}
	store := e.stores(func(int) te.Expr { return sum }, e.at)
	if len(p.padded) > 0 {
		store = []loop.Stmt{loop.If{Cond: p.padded, Then: store, Else: c.padding(e)}}
	}
	return append(body, loops([]te.Axis{{Var: rowVar, Extent: sym.Const(rows)}, {Var: vecVar, Extent: sym.Const(p.perGroup / c.block)},
		{Var: laneVar, Extent: sym.Const(c.block)}}, store)...)
}

// padding writes zeros where storage goes on beyond the channels; row-major storage does not, and
// beyond the channels of a group are those of the next one.
func (c *contraction) padding(e *nest) []loop.Stmt {
	if c.outBlocked && c.groups == 1 {
		return e.zeros(e.at)
	}
	return nil
}

// copyPadded copies what one task reads of X into scratch, with zeros where the guard does not
// hold, and gives the offset of X's element within it. It fails where a guard is not
// on an index of X.
func (c *contraction) copyPadded(x te.Load, local map[string]int64) (body []loop.Stmt, scratch *loop.Buffer, shape ir.Shape, index []sym.Expr, ok bool) {
	var axes []te.Axis
	zero := map[string]sym.Expr{}
	for v := range local {
		zero[v] = sym.Const(0)
	}
	at := make([]sym.Expr, len(x.Index)) // X's index of a scratch element
	conds := make([][]te.Within, len(x.Index))
	for d, e := range x.Index {
		ext := int64(1)
		for v, n := range local {
			k, linear := sym.Coefficient(e, v, c.n.facts)
			kc, isConst := k.Const()
			if !linear || !isConst || kc < 0 {
				return nil, nil, nil, nil, false
			}
			ext += kc * (n - 1)
		}
		v := fmt.Sprintf("x%d", d)
		axes = append(axes, te.Axis{Var: v, Extent: sym.Const(ext)})
		c.n.addRanges(axes[d : d+1])
		base := e.Subst(zero, c.n.facts)
		at[d] = sym.Add(base, sym.Var(v))
		index = append(index, sym.Sub(e, base))
	}
	for _, w := range x.Guard {
		d := -1
		for i, e := range x.Index {
			if _, isConst := sym.Sub(w.E, e).Const(); isConst {
				d = i
			}
		}
		if d < 0 {
			return nil, nil, nil, nil, false
		}
		shift, _ := sym.Sub(w.E, x.Index[d]).Const()
		conds[d] = append(conds[d], te.Within{E: sym.Add(at[d], sym.Const(shift)), Lo: w.Lo, Hi: w.Hi})
	}
	for _, a := range axes {
		shape = append(shape, a.Extent)
	}
	body, scratch = c.copyLoops(axes, shape, at, conds)
	return body, scratch, shape, index, true
}

// copyLoops walks the scratch in X's own layout. The conditions of the last axis are asked
// for each of its points, those of the others once a row.
func (c *contraction) copyLoops(axes []te.Axis, shape ir.Shape, at []sym.Expr, conds [][]te.Within) ([]loop.Stmt, *loop.Buffer) {
	scratch := &loop.Buffer{Name: "scratch", Type: ir.F32, Write: true, Size: c.layX.Elements(shape)}
	index := te.AxisVars(axes)
	walk := append([]te.Axis{}, axes...)
	var lane []te.Axis
	if c.layX.Block != 0 {
		lane = []te.Axis{{Var: "xl", Extent: sym.Const(c.block)}}
		walk[c.inChannel].Extent = sym.CeilDiv(axes[c.inChannel].Extent, sym.Const(c.block), nil)
		ch := sym.Add(sym.Scale(index[c.inChannel], c.block), sym.Var("xl"))
		split := map[string]sym.Expr{axes[c.inChannel].Var: ch}
		c.n.addRanges(append(lane, walk[c.inChannel]))
		index[c.inChannel] = ch
		at = append([]sym.Expr{}, at...)
		at[c.inChannel] = at[c.inChannel].Subst(split, c.n.facts)
	}
	x := c.x.Source.N
	to := c.layX.Offset(shape, index, c.n.facts)
	from := loop.Mem{Buf: c.n.in[x], Index: c.layX.Offset(c.b.Operands[x].Shape, at, c.n.facts)}
	fill := func(v te.Expr) []loop.Stmt {
		return loops(lane, []loop.Stmt{loop.Store{Buf: scratch, Index: to, Value: v}})
	}
	zero := te.Number(ir.F32, 0)
	last := len(walk) - 1
	row := func(body []loop.Stmt) []loop.Stmt { return loops(walk[last:], body) }
	inner := row(c.when(conds[last], fill(from), fill(zero)))
	var above []te.Within
	for _, w := range conds[:last] {
		above = append(above, w...)
	}
	return loops(walk[:last], c.when(above, inner, row(fill(zero)))), scratch
}

func (c *contraction) when(cond []te.Within, then, otherwise []loop.Stmt) []loop.Stmt {
	sel, uncertain := c.n.choose(cond, te.Int(ir.Bool, 1), te.Int(ir.Bool, 0)).(te.Select)
	if !uncertain {
		return then
	}
	return []loop.Stmt{loop.If{Cond: sel.Cond, Then: then, Else: otherwise}}
}
