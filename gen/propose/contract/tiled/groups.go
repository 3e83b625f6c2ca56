package tiled

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/contract"
)

// groupAxis is the loop over the groups.
func (c *Laid) groupAxis() te.Axis {
	return te.Axis{Var: contract.GroupVar, Extent: sym.Const(c.Groups)}
}

// minPiece is how many channels must lie together at least for a copy by pieces.
const minPiece = 4

// piece is how many of n channels of each group lie together in storage by blocks: groups that are no
// whole blocks begin within them.
func (c *Laid) piece(n int64) int64 {
	if c.Groups == 1 || c.Window {
		return c.ChannelBlock
	}
	return sym.GCD(n, c.ChannelBlock)
}

// pieces finds X's; false where they are too small.
func (c *Laid) pieces() bool {
	if !c.Blocked() || c.InReduce < 0 {
		return true
	}
	n, _ := c.Reduce[c.InReduce].Extent.Const()
	c.inPiece = c.piece(n)
	return c.inPiece >= minPiece
}

// straddles reports whether groups of X begin within blocks: what a task reads is copied so that its first channel
// begins one.
func (c *Laid) straddles() bool { return c.Blocked() && c.inPiece != c.ChannelBlock }

// copyLayout is that of the copy of what a task reads of X.
func (c *Laid) copyLayout() layout.Layout {
	if !c.Blocked() {
		return c.XLayout
	}
	return layout.Blocked(c.InChannel, c.inPiece)
}
