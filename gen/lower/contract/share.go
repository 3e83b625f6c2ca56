package contract

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/lower/micro"
)

// share decides what a task computes. Groups of result channels are tasks where all weights would leave the
// second-level cache no room, and outermost then: one group's stay there. They are, too, where it is X that stays there: what
// neighbouring tasks write, a processor has at hand for operators that walk channels, as depthwise convolutions do. Else a task
// has all groups of some pixels. Short pixel axes are cut where there would be few tasks for threads to share.
func (c *laid) share(p *tiling) {
	if p.converted {
		return // it is decided
	}
	steps := c.kSteps()
	if c.kept > 0 {
		steps = c.kept
	}
	weights := steps * p.tileLanes * p.groups // of a group of channels
	p.groupTasks = c.window || c.runs > 1 || weights*4 > c.t.L2/2 || !p.copied && c.staysInCache()
	if !c.window && c.runs <= 1 && c.packedType() != ir.F32 {
		c.shareHalves(p)
	}
	c.cutPixels(p)
}

// cutPixels cuts short pixel axes, and gives how many tasks there are then: of pixels of which only the run knows how many, enough.
func (c *laid) cutPixels(p *tiling) (tasks int64) {
	tasks = c.groups
	if p.groupTasks {
		tasks *= p.groups / max(p.setGroups, 1)
	}
	for i, a := range c.b.Stage.Axes {
		if i != c.channel && i != c.pixel && !c.merged[i] {
			n, _ := a.Extent.Const()
			if c.band > 1 && i == c.row() {
				n = (n + c.band - 1) / c.band
			}
			tasks *= max(n, 1)
		}
	}
	n, known := p.pixels.Const()
	tiles := n / p.Rows
	switch {
	case !known:
		return tasks * micro.MinTasks
	case p.copied || tiles < 2:
		return tasks
	}
	chunks := min((micro.MinTasks+tasks-1)/tasks, tiles)
	if tiles > 2*tilesPerTask {
		chunks = max(chunks, (tiles+tilesPerTask-1)/tilesPerTask)
	}
	p.perTask = (tiles + chunks - 1) / chunks
	return tasks * chunks
}

// staysInCache reports whether X stays in the second-level cache beside as much else.
func (c *laid) staysInCache() bool {
	n, known := c.n.In[c.x.Source.N].Size.Const()
	return known && 4*n <= c.t.L2/2
}
