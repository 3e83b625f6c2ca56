package tiled

import "rules_dnn/gen/propose/micro"

// Windows of neighbouring rows overlap: a task that copies the input of one row of results copies most of it again for
// the next. A band is rows of results that one task computes from one copy.

// keptRows is how many rows bands of pruned weights should have.
const keptRows = 4

// Row is the axis whose points make a band: the one before the pixels.
func (c *Laid) Row() int { return c.Pixel - 1 }

// MostBands bounds how many parts of the rows are tried, as a model may have any number of rows.
const MostBands = 1 << 16

// bandOf is the most rows that divide all rows and whose copy stays in the first-level cache beside as much else; 1
// where windows do not overlap along the axis.
func (c *Laid) bandOf(p *Tiling, local map[string]int64) int64 {
	r := c.Row()
	if r < 0 || r == c.Channel || c.merged[r] || c.merged[c.Pixel] {
		return 1
	}
	rows, known := c.Block.Stage.Axes[r].Extent.Const()
	if _, width := p.Pixels.Const(); !known || !width {
		return 1
	}
	if n, ok := c.GivenBand(); ok {
		return n
	}
	best, room, few := int64(1), c.Target.L1D/2, int64(micro.MinTasks)
	if w := c.Pooling[0]; w > 0 {
		if best = w; rows%w != 0 {
			return 1
		}
		room = c.Target.L2 / 2 // beside what a pooling reads
	}
	if c.Kept > 0 { // little is computed with what is copied: bands of some rows at least copy it less often
		room, few = c.Target.L2/2, max(micro.FewTasks, min(micro.MinTasks, rows/keptRows))
	}
	tasks := c.Groups
	if c.Window {
		tasks = (c.Channels + c.ChannelBlock - 1) / c.ChannelBlock
	}
	one, ok := c.copied(local, 1)
	for b := int64(2); ok && b <= min(rows, MostBands) && tasks*rows/b >= few; b++ {
		n, ok := c.copied(local, b)
		if !ok || 4*n > room {
			break // more rows copy more
		}
		if rows%b == 0 && n < b*one && (c.Pooling[0] == 0 || b%c.Pooling[0] == 0) {
			best = b
		}
	}
	return best
}
