// Package contract recognises contractions with constant weights, by the roles of their axes: convolutions, matrix products, depthwise
// convolutions. Packages below it propose kernels of them: tiled, in register tiles; depthwise, of few products a sum; winograd, of windows that are
// transformed; pruned, of weights many of which are zero; pooled, those at which a pooling is placed.
package contract

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// Contraction is a stage recognised as a contraction of an operand X with a
// constant W, by the roles of its axes and not by its operator: convolutions, Gemm and MatMul
// with constant weights; as a window, depthwise convolutions.
type Contraction struct {
	Block *block.Block
	// Reduce are the reduction axes of more than one point.
	Reduce []te.Axis
	// Window: the channel axis walks X and W together, and no axis sums over channels.
	Window bool
	Target *target.Target
	Instr  *instr.Row // of tiles
	// Load is that of X, and X what it is within one of several groups.
	Load, X, W te.Load
	Weights    *ir.Value // what W loads of
	Channel    int       // the axis that only W has, or of a window W and X: result channels
	// Groups of channels each; several read other channels of X each.
	Groups, Channels int64
	Pixel            int // the axis whose points share a load of W: the innermost other one; -1: none
	// InChannel is the X dimension that one reduction axis walks alone (input channels),
	// and that axis; -1 where there is none.
	InChannel, InReduce int
	ChannelBlock        int64 // channels of a vector group in storage
}

// PackedOperand is the number of W's packed constant: its own, or another one where the results read it too.
func (c *Contraction) PackedOperand() int {
	twice := false
	for _, e := range c.Block.Stage.Results {
		te.Walk(e, func(e te.Expr) {
			l, ok := e.(te.Load)
			twice = twice || ok && l.Source == c.W.Source
		})
	}
	if twice {
		return len(c.Block.Operands)
	}
	return c.W.Source.N
}

// Errorf is an error that names the block.
func (c *Contraction) Errorf(format string, args ...any) error {
	return fmt.Errorf("block %s: %w", c.Block.Label(), fmt.Errorf(format, args...))
}
