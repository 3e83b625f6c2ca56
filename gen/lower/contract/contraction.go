// Package contract proposes kernels of contractions with constant weights in register tiles: convolutions, matrix products, depthwise
// convolutions, Winograd's, those of pruned weights, and those at which a pooling is placed.
package contract

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/lower/nest"
	"rules_dnn/gen/lower/vars"
	"rules_dnn/gen/lower/workgroup"
	"rules_dnn/gen/params"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// contraction is a stage recognised as a contraction of an operand X with a
// constant W, by the roles of its axes and not by its operator: convolutions, Gemm and MatMul
// with constant weights; as a window, depthwise convolutions.
type contraction struct {
	b *block.Block
	// reduce are the reduction axes of more than one point.
	reduce []te.Axis
	// window: the channel axis walks X and W together, and no axis sums over channels.
	window bool
	t      *target.Target
	instr  *instr.Row
	// load is that of X, and x what it is within one of several groups.
	load, x, w te.Load
	wv         *ir.Value
	channel    int // the axis that only W has, or of a window W and X: result channels
	// groups of channels each; several read other channels of X each.
	groups, channels int64
	pixel            int // the axis whose points share a load of W: the innermost other one; -1: none
	// inChannel is the X dimension that one reduction axis walks alone (input channels),
	// and that axis; -1 where there is none.
	inChannel, inReduce int
	block               int64 // channels of a vector group in storage
}

// laid is a contraction whose values lie in given layouts.
type laid struct {
	*contraction
	n    *nest.Nest
	layX layout.Layout
	// inPiece and outPiece are how many channels of X and of the results lie together wherever a block begins or a
	// group does (groups.go): blocks where there is one group.
	inPiece, outPiece int64
	runs              int64 // runs of pixels that a tile has; 0 or 1: a part of one (runs.go)
	band              int64 // rows that a task computes of one copy of X (band.go); 0 or 1: one
	// merged are axes that run as part of the pixel axis.
	merged map[int]bool
	// kept is how many points of the sum are stored of pruned weights, on average; 0: they are dense.
	kept int64
	// windows are as in Env.
	windows [2]int64
	// copy is of what a task reads of X; nil where tiles read X itself.
	copy *padding
	// given are parameters that decide in place of the plan, nil where it decides itself, and choice is what tiles are chosen for.
	given  *params.Point
	choice *micro.Tiled
}

// Contraction proposes schedules for a block that is a contraction, one for each tile that env asks for, and follows them; none where
// the block is no such thing. The weights are packed into a constant of the tile's order.
func Contraction(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if !env.Wants(contractionAnchor) && !env.Wants(lower.WindowAnchor) || !env.Packing.Transforms(0) {
		return nil, nil
	}
	if env.Varies() {
		return varied(b, env)
	}
	if env.Only == "" && env.Target.InStep() {
		if shared, err := workgroup.SharedSums(b, env); shared || err != nil {
			return nil, err // whatever the layouts
		}
	}
	c := newLaid(b, env)
	if c == nil {
		return nil, nil
	}
	p, choices := c.plan(env, nil)
	if p == nil {
		return nil, nil
	}
	first, own := c, p
	space := sync.OnceValue(func() *params.Space { return first.spaceOf(own) })
	out := []*lower.Lowered{}
	for i, t := range choices {
		if env.Only != "" && lower.Unhashed(env.Only) != lower.TiledName(c.anchor(), t) {
			continue
		}
		if i > 0 {
			c = newLaid(b, env)
			if p, _ = c.plan(env, &t); p == nil {
				continue
			}
		}
		l, err := c.propose(p, env, space)
		if errors.As(err, new(*follow.TileError)) {
			continue // it is read in steps that no micro-kernel has
		}
		if err != nil {
			return nil, c.error("%w", err)
		}
		out = append(out, l)
	}
	return out, nil
}

// propose is the kernel of a plan.
func (c *laid) propose(p *tiling, env *lower.Env, space func() *params.Space) (*lower.Lowered, error) {
	out := c.proposal(p, env)
	l, err := env.Proposed(c.anchor(), p.Tile, out, c.b)
	if err == nil {
		l.ArgsOf = out.Args
		l.Point = c.pointOf(p, out, space)
	}
	return l, err
}

// packedOperand is the number of W's packed constant: its own, or another one where the results read it too.
func (c *contraction) packedOperand() int {
	twice := false
	for _, e := range c.b.Stage.Results {
		te.Walk(e, func(e te.Expr) {
			l, ok := e.(te.Load)
			twice = twice || ok && l.Source == c.w.Source
		})
	}
	if twice {
		return len(c.b.Operands)
	}
	return c.w.Source.N
}

// Anchors of this file.
const (
	contractionAnchor = "contraction"
)

func (c *laid) anchor() string {
	if c.window {
		return lower.WindowAnchor
	}
	return contractionAnchor
}

// newLaid is nil where the block is none that can be lowered in these layouts.
func newLaid(b *block.Block, env *lower.Env) *laid {
	r := recognise(b, env.Target)
	if r == nil || r.window && !env.Windows || !r.window && !env.Contractions {
		return nil
	}
	c := &laid{contraction: r, inPiece: r.block, outPiece: r.block}
	if lower.ReadsImages(b, env.Layouts) {
		return nil
	}
	c.windows = env.Pooling
	c.n = nest.StartNest(b, env)
	c.n.Buffers(b, env.Layouts)
	c.n.AddRanges(append(slices.Clone(b.Stage.Axes), c.groupAxis()))
	c.layX = env.Layouts(b.Operands[c.x.Source.N])
	if c.blocked() && c.layX != layout.Blocked(c.inChannel, c.block) {
		return nil
	}
	if c.window && !c.blocked() || !c.pieces() || !c.resultsLie(env.Layouts) {
		return nil
	}
	for i, k := range c.kAxes() {
		c.n.AddRanges([]te.Axis{{Var: vars.K(i), Extent: sym.Const(k.extent)}})
	}
	return c
}

// blocked reports whether X is stored by blocks of channels, and not row-major.
func (c *laid) blocked() bool { return c.layX != layout.RowMajor }

// resultsLie reports whether tiles can store the results in their layout.
func (c *laid) resultsLie(lay lower.Layouts) bool {
	out := lay(c.b.Results[0])
	for _, r := range c.b.Results {
		if lay(r) != out {
			return false
		}
	}
	if out == layout.RowMajor {
		return true
	}
	c.outPiece = c.piece(c.channels)
	return out == layout.Blocked(c.channel, c.block) && c.outPiece >= minPiece
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
func (c *laid) kAxes() []kAxis {
	var out []kAxis
	lane := kAxis{reduce: -1}
	for r, a := range c.reduce {
		n, _ := a.Extent.Const()
		if r == c.inReduce && c.blocked() {
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

func (c *contraction) error(format string, args ...any) error {
	return fmt.Errorf("block %s: %w", c.b.Label(), fmt.Errorf(format, args...))
}
