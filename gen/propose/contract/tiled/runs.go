package tiled

import "rules_dnn/gen/propose/micro"

// Pixels that a micro-kernel walks at one step are those of a row of results, where windows or strides lie between rows.
// Of small images a row has fewer than a tile wants: such a tile has some whole rows, each a run of pixels.

// runsOf is how many runs of pixels there are that a tile may have some of, at most so many vectors wide; 1 where
// runs are no constant steps apart, or a task's copy of them all would leave no room for W.
func (c *Laid) runsOf(p *Tiling) (runs, mostWide int64) {
	r := c.Row()
	if c.Window || r < 0 || r == c.Channel || c.merged[r] || c.merged[c.Pixel] {
		return 1, 0
	}
	rows, known := c.Block.Stage.Axes[r].Extent.Const()
	width, fixed := p.Pixels.Const()
	if !known || !fixed || rows < 2 {
		return 1, 0
	}
	local := map[string]int64{c.Block.Stage.Axes[c.Pixel].Var: width}
	for _, a := range c.Reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	if n, ok := c.copied(local, rows); (p.copied || c.Converts()) && (!ok || 4*n > c.Target.L2/2) {
		return 1, 0
	}
	// Tasks are groups of channels: threads want some.
	return rows, c.Channels / c.Instr.Lanes / micro.FewTasks
}
