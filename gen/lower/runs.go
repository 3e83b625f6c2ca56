package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Pixels that a micro-kernel walks at one step are those of a row of results, where windows or strides lie between rows.
// Of small images a row has fewer than a tile wants: such a tile has some whole rows, each a run of pixels.

// runVar is the run within the tile.
const runVar = "tu"

// runsOf is how many runs of pixels there are that a tile may have some of, at most so many vectors wide; 1 where
// runs are no constant steps apart, or a task's copy of them all would leave no room for W.
func (c *contraction) runsOf(p *tiling, logical map[string]sym.Expr) (runs, mostWide int64) {
	r := c.row()
	if c.window || r < 0 || r == c.channel || c.merged[r] || c.merged[c.pixel] {
		return 1, 0
	}
	rows, known := c.b.Stage.Axes[r].Extent.Const()
	width, fixed := p.pixels.Const()
	if !known || !fixed || rows < 2 {
		return 1, 0
	}
	local := map[string]int64{axisVar(c.pixel): width}
	for _, a := range c.reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	if n, ok := c.copied(c.loadAt(logical), local, r, rows); (p.copied || c.converts()) && (!ok || 4*n > c.t.L2/2) {
		return 1, 0
	}
	// Tasks are groups of channels: threads want some.
	return rows, c.channels / c.instr.Lanes / fewTasks
}

// tilesOfRuns computes all runs: full tiles, then the exact rest.
func (c *contraction) tilesOfRuns(p *tiling) []loop.Stmt {
	all, _ := c.b.Stage.Axes[c.row()].Extent.Const()
	tile := sym.Var(tileVar)
	c.n.addRanges([]te.Axis{{Var: tileVar, Extent: sym.Const(all / c.runs)}, {Var: runVar, Extent: sym.Const(c.runs)}})
	out := loops([]te.Axis{{Var: tileVar, Extent: sym.Const(all / c.runs)}}, c.tileOfRuns(p, sym.Scale(tile, c.runs), c.runs))
	if rest := all % c.runs; rest > 0 {
		out = append(out, c.tileOfRuns(p, sym.Const(all-rest), rest)...)
	}
	return out
}

// tileOfRuns is a call of the micro-kernel for some runs from one on, and what the block does with the sums.
func (c *contraction) tileOfRuns(p *tiling, first sym.Expr, runs int64) []loop.Stmt {
	width, _ := p.pixels.Const()
	m := c.micro(p, runs*width)
	if runs > 1 {
		m.Run, m.RunStep = width, p.runStep
	}
	row, pixel := axisVar(c.row()), axisVar(c.pixel)
	call := c.call(p, m, map[string]sym.Expr{row: first, pixel: sym.Const(0)})
	at := map[string]sym.Expr{row: sym.Add(first, sym.Var(runVar)), pixel: sym.Var(rowVar)}
	sums := c.keep(p, at, sym.Add(sym.Scale(sym.Var(runVar), width), sym.Var(rowVar)))
	return append([]loop.Stmt{call}, loops([]te.Axis{{Var: runVar, Extent: sym.Const(runs)}, {Var: rowVar, Extent: sym.Const(width)}}, sums)...)
}
