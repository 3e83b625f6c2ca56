package contract

import "rules_dnn/gen/lower/micro"

// Windows of neighbouring rows overlap: a task that copies the input of one row of results copies most of it again for
// the next. A band is rows of results that one task computes from one copy.

// keptRows is how many rows bands of pruned weights should have.
const keptRows = 4

// row is the axis whose points make a band: the one before the pixels.
func (c *laid) row() int { return c.pixel - 1 }

// mostBands bounds how many parts of the rows are tried, as a model may have any number of rows.
const mostBands = 1 << 16

// bandOf is the most rows that divide all rows and whose copy stays in the first-level cache beside as much else; 1
// where windows do not overlap along the axis.
func (c *laid) bandOf(p *tiling, local map[string]int64) int64 {
	r := c.row()
	if r < 0 || r == c.channel || c.merged[r] || c.merged[c.pixel] {
		return 1
	}
	rows, known := c.b.Stage.Axes[r].Extent.Const()
	if _, width := p.pixels.Const(); !known || !width {
		return 1
	}
	if n, ok := c.givenBand(); ok {
		return n
	}
	best, room, few := int64(1), c.t.L1D/2, int64(micro.MinTasks)
	if w := c.windows[0]; w > 0 {
		if best = w; rows%w != 0 {
			return 1
		}
		room = c.t.L2 / 2 // beside what a pooling reads
	}
	if c.kept > 0 { // little is computed with what is copied: bands of some rows at least copy it less often
		room, few = c.t.L2/2, max(micro.FewTasks, min(micro.MinTasks, rows/keptRows))
	}
	tasks := c.groups
	if c.window {
		tasks = (c.channels + c.block - 1) / c.block
	}
	one, ok := c.copied(local, 1)
	for b := int64(2); ok && b <= min(rows, mostBands) && tasks*rows/b >= few; b++ {
		n, ok := c.copied(local, b)
		if !ok || 4*n > room {
			break // more rows copy more
		}
		if rows%b == 0 && n < b*one && (c.windows[0] == 0 || b%c.windows[0] == 0) {
			best = b
		}
	}
	return best
}
