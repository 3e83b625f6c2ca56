package contract

import "rules_dnn/gen/lower/micro"

// Pixels that a micro-kernel walks at one step are those of a row of results, where windows or strides lie between rows.
// Of small images a row has fewer than a tile wants: such a tile has some whole rows, each a run of pixels.

// runsOf is how many runs of pixels there are that a tile may have some of, at most so many vectors wide; 1 where
// runs are no constant steps apart, or a task's copy of them all would leave no room for W.
func (c *laid) runsOf(p *tiling) (runs, mostWide int64) {
	r := c.row()
	if c.window || r < 0 || r == c.channel || c.merged[r] || c.merged[c.pixel] {
		return 1, 0
	}
	rows, known := c.b.Stage.Axes[r].Extent.Const()
	width, fixed := p.pixels.Const()
	if !known || !fixed || rows < 2 {
		return 1, 0
	}
	local := map[string]int64{c.b.Stage.Axes[c.pixel].Var: width}
	for _, a := range c.reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	if n, ok := c.copied(local, rows); (p.copied || c.converts()) && (!ok || 4*n > c.t.L2/2) {
		return 1, 0
	}
	// Tasks are groups of channels: threads want some.
	return rows, c.channels / c.instr.Lanes / micro.FewTasks
}
