package lower

import (
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Windows of neighbouring rows overlap: a task that copies the input of one row of results copies most of it again for
// the next. A band is rows of results that one task computes from one copy.

// bandVar numbers the bands; the row's own variable counts within one.
const bandVar = "tb"

// minTasks is how many tasks bands leave at least, for threads to share.
const minTasks = 16

// row is the axis whose points make a band: the one before the pixels.
func (c *contraction) row() int { return c.pixel - 1 }

// rowOfBand is the row in the variables of loops.
func (c *contraction) rowOfBand() sym.Expr {
	return sym.Add(sym.Scale(sym.Var(bandVar), c.band), sym.Var(axisVar(c.row())))
}

// bandOf is the most rows that divide all rows and whose copy stays in the first-level cache beside as much else; 1
// where windows do not overlap along the axis.
func (c *contraction) bandOf(p *tiling, logical map[string]sym.Expr, local map[string]int64) int64 {
	r := c.row()
	if r < 0 || r == c.channel || c.merged[r] || c.merged[c.pixel] {
		return 1
	}
	rows, known := c.b.Stage.Axes[r].Extent.Const()
	if _, width := p.pixels.Const(); !known || !width {
		return 1
	}
	x, best := c.loadAt(logical), int64(1)
	tasks := c.groups
	if c.window {
		tasks = (c.channels + c.block - 1) / c.block
	}
	one, ok := c.copied(x, local, r, 1)
	for b := int64(2); ok && b <= rows && tasks*rows/b >= minTasks; b++ {
		n, _ := c.copied(x, local, r, b)
		if rows%b == 0 && n < b*one && 4*n <= c.t.L1D/2 {
			best = b
		}
	}
	if best > 1 {
		c.n.addRanges([]te.Axis{{Var: bandVar, Extent: sym.Const(rows / best)}, {Var: axisVar(r), Extent: sym.Const(best)}})
	}
	return best
}

// copied is how many elements a task copies that computes so many rows.
func (c *contraction) copied(x te.Load, local map[string]int64, row int, rows int64) (int64, bool) {
	all := map[string]int64{axisVar(row): rows}
	for v, n := range local {
		all[v] = n
	}
	elements := int64(1)
	for _, e := range x.Index {
		n, _, ok := c.walked(e, all, nil)
		if !ok || n > 1<<20 {
			return 0, false
		}
		elements *= n
	}
	return elements, elements < 1<<20
}
