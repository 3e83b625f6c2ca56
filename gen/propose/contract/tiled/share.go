package tiled

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/propose/micro"
)

// share decides what a task computes. Groups of result channels are tasks where all weights would leave the
// second-level cache no room, and outermost then: one group's stay there. They are, too, where it is X that stays there: what
// neighbouring tasks write, a processor has at hand for operators that walk channels, as depthwise convolutions do. Else a task
// has all groups of some pixels. Short pixel axes are cut where there would be few tasks for threads to share.
func (c *Laid) share(p *Tiling) {
	if p.converted {
		return // it is decided
	}
	steps := c.kSteps()
	if c.Kept > 0 {
		steps = c.Kept
	}
	weights := steps * p.TileLanes * p.Groups // of a group of channels
	p.GroupTasks = c.Window || c.Runs > 1 || weights*4 > c.Target.L2/2 || !p.copied && c.staysInCache()
	if !c.Window && c.Runs <= 1 && c.PackedType() != ir.F32 {
		c.shareHalves(p)
	}
	c.CutPixels(p)
}

// CutPixels cuts short pixel axes, and gives how many tasks there are then: of pixels of which only the run knows how many, enough.
func (c *Laid) CutPixels(p *Tiling) (tasks int64) {
	tasks = c.Groups
	if p.GroupTasks {
		tasks *= p.Groups / max(p.SetGroups, 1)
	}
	for i, a := range c.Block.Stage.Axes {
		if i != c.Channel && i != c.Pixel && !c.merged[i] {
			n, _ := a.Extent.Const()
			if c.Band > 1 && i == c.Row() {
				n = (n + c.Band - 1) / c.Band
			}
			tasks *= max(n, 1)
		}
	}
	n, known := p.Pixels.Const()
	tiles := n / p.Rows
	switch {
	case !known:
		return tasks * micro.MinTasks
	case p.copied || tiles < 2:
		return tasks
	}
	chunks := min((micro.MinTasks+tasks-1)/tasks, tiles)
	if tiles > 2*TilesPerTask {
		chunks = max(chunks, (tiles+TilesPerTask-1)/TilesPerTask)
	}
	p.PerTask = (tiles + chunks - 1) / chunks
	return tasks * chunks
}

// ShareKept decides what a task computes of a contraction over stored weights: one group of
// filters if grouped, else all. It returns the number of tasks. Pixels to widen are cut already.
func (c *Laid) ShareKept(p *Tiling, grouped bool) (tasks int64) {
	p.GroupTasks, p.SetGroups = grouped, 0
	if !p.converted {
		p.PerTask = TilesPerTask
		return c.CutPixels(p)
	}
	tasks = c.besides()
	if grouped {
		tasks *= p.Groups
	}
	n, known := p.Pixels.Const()
	if !known {
		return tasks * micro.MinTasks
	}
	return tasks * max((n+p.chunk()-1)/max(p.chunk(), 1), 1)
}

// staysInCache reports whether X stays in the second-level cache beside as much else.
func (c *Laid) staysInCache() bool {
	n, known := c.Nest.In[c.X.Source.N].Size.Const()
	return known && 4*n <= c.Target.L2/2
}
