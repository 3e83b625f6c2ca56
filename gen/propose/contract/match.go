package contract

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/target"
)

// Recognise is nil where the block is no contraction.
func Recognise(b *block.Block, t *target.Target) *Contraction {
	c, refusal := Examine(b, t)
	if refusal != "" {
		return nil
	}
	return c
}

// Examine recognises a contraction with weights that tiles of f32 compute, or says why the block is none.
func Examine(b *block.Block, t *target.Target) (_ *Contraction, refusal string) {
	if len(b.Placed) > 0 {
		return nil, "it is computed row by row with the nodes fused to it"
	}
	m, refusal := match.Find(b.Stage, b.Operands, nil)
	switch {
	case refusal != "":
		return nil, refusal
	case m.Sum() != ir.F32:
		return nil, fmt.Sprintf("it sums %s; tiles sum f32", m.Sum())
	case t.Tile(ir.F32) == nil:
		return nil, fmt.Sprintf("the facts of the chip %s name no instruction for tiles of f32", t.Name)
	case m.Factors[0].Zero != nil || m.Factors[1].Zero != nil:
		return nil, "an operand is computed where it is read, by a node fused to it"
	}
	r := m.Roles(0)
	if r.X.IsWeights() {
		r = m.Roles(1)
	}
	switch {
	case !r.W.IsWeights():
		return nil, "its operands are not constant, and tiles cannot read their order, or they have few rows"
	case r.X.IsWeights():
		return nil, "both operands are constants"
	case !match.ZeroDefault(r.X.Load):
		return nil, "its padding is not zero"
	}
	c := &Contraction{Block: b, Target: t, Instr: t.Tile(ir.F32), X: r.X.Load, W: r.W.Load, Weights: b.Operands[r.W.Load.Source.N], ChannelBlock: t.ChannelBlock(), InChannel: -1, InReduce: -1, Reduce: m.Reduce}
	c.dropUnitAxes()
	return c, c.take(r)
}

// dropUnitAxes removes reduction axes of one point from the indices.
func (c *Contraction) dropUnitAxes() {
	zero := map[string]sym.Expr{}
	for _, a := range c.Block.Stage.Reduce {
		if a.Extent.Is(1) {
			zero[a.Var] = sym.Const(0)
		}
	}
	c.X = te.SubstIndices(c.X, zero, nil).(te.Load)
	c.W = te.SubstIndices(c.W, zero, nil).(te.Load)
	c.Load = c.X
}

// take gives the contraction its axes by what they are to the factors, or says why they suit no tile.
func (c *Contraction) take(r *match.Roles) (refusal string) {
	s := c.Block.Stage
	c.Channel, c.Pixel = -1, r.Row
	for i, a := range s.Axes {
		if r.Of[i] == match.OfNone || r.Of[i] == match.OfRows {
			continue
		}
		if c.Channel >= 0 {
			return "its weights have two axes of the result, as in a batch of products, in an order that tiles cannot read"
		}
		c.Channel = i
		switch r.Of[i] {
		case match.OfGroups:
			c.split(a, r.Group)
		case match.OfBoth:
			c.Window = true
			if c.InChannel = match.DimOf(c.X, a.Var); c.InChannel < 0 {
				return "weights and operand share an axis that is combined with another one in the operand"
			}
		}
	}
	if c.Channel < 0 {
		return "its weights have no axis of the result, so there is no axis for vectors"
	}
	channels, ok := s.Axes[c.Channel].Extent.Const()
	if !ok {
		return "the number of channels of the result is known only at run time"
	}
	if channels < 1 {
		return "the result has no channels"
	}
	if c.Groups == 0 {
		c.Groups, c.Channels = 1, channels
	}
	if !r.Summed {
		return "it sums along an axis that one operand does not have"
	}
	for i, a := range c.Reduce {
		if d := c.inputChannel(a.Var); d >= 0 && c.InChannel < 0 {
			c.InChannel, c.InReduce = d, i
		}
	}
	if !c.affine() {
		return "its indices are not sums of axes"
	}
	return ""
}

// GroupVar numbers the groups of a grouped convolution.
const GroupVar = "co"

// split takes the channel axis as groups that read different channels of X: X no longer depends
// on the channel within its group, so that each group is a contraction of its own.
func (c *Contraction) split(a te.Axis, size int64) {
	extent, _ := a.Extent.Const()
	c.Groups, c.Channels = extent/size, size
	first := map[string]sym.Expr{a.Var: sym.Scale(sym.Var(GroupVar), size)}
	c.X = te.SubstIndices(c.X, first, nil).(te.Load)
}

// inputChannel is the dimension of X that the reduction's axis walks from the group's first channel on, alone; or -1.
func (c *Contraction) inputChannel(v string) int {
	if c.Groups == 1 {
		return match.DimOf(c.X, v)
	}
	for d, e := range c.X.Index {
		if e.Uses(GroupVar) && !sym.Sub(e, sym.Var(v)).Uses(v) {
			return d
		}
	}
	return -1
}

// affine reports whether every index of X and W is a sum of axes times constants.
func (c *Contraction) affine() bool {
	for _, l := range []te.Load{c.X, c.W} {
		for _, e := range l.Index {
			terms, _ := e.Terms()
			for _, t := range terms {
				if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomVar {
					return false
				}
			}
		}
	}
	return true
}
