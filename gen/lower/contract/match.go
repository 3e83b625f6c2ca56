package contract

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// recognise is nil where the block is no contraction.
func recognise(b *block.Block, t *target.Target) *contraction {
	c, refusal := Examine(b, t)
	if refusal != "" {
		return nil
	}
	return c
}

// Examine recognises a contraction with weights that tiles of f32 compute, or says why the block is none.
func Examine(b *block.Block, t *target.Target) (_ *contraction, refusal string) {
	if len(b.Placed) > 0 {
		return nil, "it is computed row by row with the nodes fused to it"
	}
	m, refusal := match.Find(b.Stage, b.Operands, nil)
	switch {
	case refusal != "":
		return nil, refusal
	case m.Sum() != ir.F32:
		return nil, fmt.Sprintf("it sums %s, and tiles sum f32", m.Sum())
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
		return nil, "non-constant operands, in an order that tiles do not read, or of few rows"
	case r.X.IsWeights():
		return nil, "both operands are constants"
	case !match.ZeroDefault(r.X.Load):
		return nil, "it is padded with what is not zero"
	}
	c := &contraction{b: b, t: t, instr: t.Tile(ir.F32), x: r.X.Load, w: r.W.Load, wv: b.Operands[r.W.Load.Source.N], block: t.ChannelBlock(), inChannel: -1, inReduce: -1, reduce: m.Reduce}
	c.inPiece, c.outPiece = c.block, c.block
	c.dropUnitAxes()
	return c, c.take(r)
}

// dropUnitAxes removes reduction axes of one point from the indices.
func (c *contraction) dropUnitAxes() {
	zero := map[string]sym.Expr{}
	for _, a := range c.b.Stage.Reduce {
		if a.Extent.Is(1) {
			zero[a.Var] = sym.Const(0)
		}
	}
	c.x = te.SubstIndices(c.x, zero, nil).(te.Load)
	c.w = te.SubstIndices(c.w, zero, nil).(te.Load)
	c.load = c.x
}

// take gives the contraction its axes by what they are to the factors, or says why they suit no tile.
func (c *contraction) take(r *match.Roles) (refusal string) {
	s := c.b.Stage
	c.channel, c.pixel = -1, r.Row
	for i, a := range s.Axes {
		if r.Of[i] == match.OfNone || r.Of[i] == match.OfRows {
			continue
		}
		if c.channel >= 0 {
			return "its weights have two axes of the result, as those of a batch of products, in an order that tiles do not read"
		}
		c.channel = i
		switch r.Of[i] {
		case match.OfGroups:
			c.split(a, r.Group)
		case match.OfBoth:
			c.window = true
			if c.inChannel = match.DimOf(c.x, a.Var); c.inChannel < 0 {
				return "weights and operand share an axis that the operand does not have alone"
			}
		}
	}
	if c.channel < 0 {
		return "its weights have no axis of the result: there is nothing to keep in vectors"
	}
	channels, ok := s.Axes[c.channel].Extent.Const()
	if !ok {
		return "how many channels the result has is known at run time only"
	}
	if channels < 1 {
		return "the result has no channels"
	}
	if c.groups == 0 {
		c.groups, c.channels = 1, channels
	}
	if !r.Summed {
		return "it sums along an axis that one operand does not have"
	}
	for i, a := range c.reduce {
		if d := c.inputChannel(a.Var); d >= 0 && c.inChannel < 0 {
			c.inChannel, c.inReduce = d, i
		}
	}
	if !c.affine() {
		return "it is read at indices that are no sums of axes"
	}
	return ""
}

// affine reports whether every index of X and W is a sum of axes times constants.
func (c *contraction) affine() bool {
	for _, l := range []te.Load{c.x, c.w} {
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

// order is how a contraction's weights lie.
func (c *contraction) order() *weights.Ordered {
	step, base := c.weightSteps()
	o := &weights.Ordered{From: c.wv.Const, Dims: []int64{c.channels}, Steps: []int64{step(c.b.Stage.Axes[c.channel].Var)}, Base: base}
	for _, a := range c.reduce {
		n, _ := a.Extent.Const()
		o.Dims, o.Steps = append(o.Dims, n), append(o.Steps, step(a.Var))
	}
	return o
}
