// Package tiled proposes kernels of contractions in register tiles, of all weights: what a task computes, what it copies of X, and how W is packed.
// Those of pruned weights are planned by it, too.
package tiled

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/propose/vars"
)

// Laid is a contraction whose values lie in given layouts.
type Laid struct {
	*contract.Contraction
	Nest    *nest.Nest
	XLayout layout.Layout
	// inPiece and outPiece are how many channels of X and of the results lie together wherever a block begins or a
	// group does (groups.go): blocks where there is one group.
	inPiece, outPiece int64
	Runs              int64 // runs of pixels that a tile has; 0 or 1: a part of one (runs.go)
	Band              int64 // rows that a task computes of one copy of X (band.go); 0 or 1: one
	// merged are axes that run as part of the pixel axis.
	merged map[int]bool
	// Kept is how many points of the sum are stored of pruned weights, on average; 0: they are dense.
	Kept int64
	// Every: a copy of X has all points, also those that a convolution of one point skips.
	Every bool
	// Pooling is the windows of a pooling at which it is placed, as in Env.
	Pooling [2]int64
	// copy is of what a task reads of X; nil where tiles read X itself.
	copy *Padding
	// Given are parameters that decide in place of the plan, nil where it decides itself, and Choice is what tiles are chosen for.
	Given  *params.Point
	Choice *micro.Tiled
}

// Lay is nil where the block is none that can be lowered in these layouts.
func Lay(b *block.Block, env *lower.Env) *Laid {
	r := contract.Recognise(b, env.Target)
	if r == nil || r.Window && !env.Windows || !r.Window && !env.Contractions {
		return nil
	}
	c := &Laid{Contraction: r, inPiece: r.ChannelBlock, outPiece: r.ChannelBlock}
	if lower.ReadsImages(b, env.Layouts) {
		return nil
	}
	c.Pooling = env.Pooling
	c.Nest = nest.StartNest(b, env)
	c.Nest.Buffers(b, env.Layouts)
	c.Nest.AddRanges(append(slices.Clone(b.Stage.Axes), c.groupAxis()))
	c.XLayout = env.Layouts(b.Operands[c.X.Source.N])
	if c.Blocked() && c.XLayout != layout.Blocked(c.InChannel, c.ChannelBlock) {
		return nil
	}
	if c.Window && !c.Blocked() || !c.pieces() || !c.resultsLie(env.Layouts) {
		return nil
	}
	for i, k := range c.kAxes() {
		c.Nest.AddRanges([]te.Axis{{Var: vars.K(i), Extent: sym.Const(k.extent)}})
	}
	return c
}

// Blocked reports whether X is stored by blocks of channels, and not row-major.
func (c *Laid) Blocked() bool { return c.XLayout != layout.RowMajor }

// resultsLie reports whether tiles can store the results in their layout.
func (c *Laid) resultsLie(lay lower.Layouts) bool {
	out := lay(c.Block.Results[0])
	for _, r := range c.Block.Results {
		if lay(r) != out {
			return false
		}
	}
	if out == layout.RowMajor {
		return true
	}
	c.outPiece = c.piece(c.Channels)
	return out == layout.Blocked(c.Channel, c.ChannelBlock) && c.outPiece >= minPiece
}

// kAxis is one loop of the reduction: the axis of the stage it walks, in steps of Unit.
type kAxis struct {
	reduce int
	extent int64
	unit   int64
	within bool // another loop of the axis
}

// kAxes are the reduction's loops, outermost first. Blocked input channels are two: pieces of
// blocks outermost, the channels of a piece innermost.
func (c *Laid) kAxes() []kAxis {
	var out []kAxis
	lane := kAxis{reduce: -1}
	for r, a := range c.Reduce {
		n, _ := a.Extent.Const()
		if r == c.InReduce && c.Blocked() {
			blocks := (n + c.inPiece - 1) / c.inPiece
			out = append(out, kAxis{r, blocks, c.inPiece, false})
			lane = kAxis{r, c.inPiece, 1, true}
			continue
		}
		out = append(out, kAxis{r, n, 1, false})
	}
	if lane.reduce >= 0 {
		out = append(out, lane)
	}
	return out
}
