package contract

import (
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// convVar numbers the groups of a grouped convolution.
const convVar = "co"

// split takes the channel axis as groups that read different channels of X: X no longer depends
// on the channel within its group, so that each group is a contraction of its own.
func (c *contraction) split(a te.Axis, size int64) {
	extent, _ := a.Extent.Const()
	c.groups, c.channels = extent/size, size
	first := map[string]sym.Expr{a.Var: sym.Scale(sym.Var(convVar), size)}
	c.x = te.SubstIndices(c.x, first, nil).(te.Load)
}

// groupAxis is the loop over the groups.
func (c *laid) groupAxis() te.Axis { return te.Axis{Var: convVar, Extent: sym.Const(c.groups)} }

// inputChannel is the dimension of X that the reduction's axis walks from the group's first channel on, alone; or -1.
func (c *contraction) inputChannel(v string) int {
	if c.groups == 1 {
		return match.DimOf(c.x, v)
	}
	for d, e := range c.x.Index {
		if e.Uses(convVar) && !sym.Sub(e, sym.Var(v)).Uses(v) {
			return d
		}
	}
	return -1
}

// minPiece is how many channels must lie together at least for a copy by pieces.
const minPiece = 4

// piece is how many of n channels of each group lie together in storage by blocks: groups that are no
// whole blocks begin within them.
func (c *laid) piece(n int64) int64 {
	if c.groups == 1 || c.window {
		return c.block
	}
	return sym.GCD(n, c.block)
}

// pieces finds X's; false where they are too small.
func (c *laid) pieces() bool {
	if !c.blocked() || c.inReduce < 0 {
		return true
	}
	n, _ := c.reduce[c.inReduce].Extent.Const()
	c.inPiece = c.piece(n)
	return c.inPiece >= minPiece
}

// straddles reports whether groups of X begin within blocks: what a task reads is copied so that its first channel
// begins one.
func (c *laid) straddles() bool { return c.blocked() && c.inPiece != c.block }

// copyLayout is that of the copy of what a task reads of X.
func (c *laid) copyLayout() layout.Layout {
	if !c.blocked() {
		return c.layX
	}
	return layout.Blocked(c.inChannel, c.inPiece)
}
