package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// recognise is nil where the block is no contraction.
func recognise(b *block.Block, t *target.Target) *contraction {
	c, refusal := examine(b, t)
	if refusal != "" {
		return nil
	}
	return c
}

// examine recognises a contraction, or says why the block is none.
func examine(b *block.Block, t *target.Target) (_ *contraction, refusal string) {
	s := b.Stage
	switch {
	case len(b.Placed) > 0:
		return nil, "it is computed row by row with the nodes fused to it"
	case s.Update != nil || s.Combine == nil || s.Combine.Name != "sum" || len(s.Values) != 1:
		return nil, "it is no contraction"
	case s.Values[0].DType() != ir.F32:
		return nil, fmt.Sprintf("it sums %s, and tiles sum f32", s.Values[0].DType())
	case t.Tile(ir.F32) == nil:
		return nil, fmt.Sprintf("the facts of the chip %s name no instruction for tiles of f32", t.Name)
	case !static(s.Reduce):
		return nil, "how long its sums are is known at run time only"
	}
	mul, ok := s.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return nil, "it is no contraction"
	}
	l0, ok0 := loadAsF32(mul.Args[0])
	l1, ok1 := loadAsF32(mul.Args[1])
	if !ok0 || !ok1 {
		return nil, "an operand is computed where it is read, by a node fused to it"
	}
	if isWeights(b, l0) {
		l0, l1 = l1, l0
	}
	switch {
	case !isWeights(b, l1):
		return nil, "non-constant operands, in an order that tiles do not read, or of few rows"
	case isWeights(b, l0):
		return nil, "both operands are constants"
	case !zeroDefault(l0):
		return nil, "it is padded with what is not zero"
	}
	c := &contraction{b: b, t: t, instr: t.Tile(ir.F32), x: l0, w: l1, wv: b.Operands[l1.Source.N], block: t.ChannelBlock(), inChannel: -1, inReduce: -1}
	c.inPiece, c.outPiece = c.block, c.block
	c.dropUnitAxes()
	return c, c.roles()
}

// dropUnitAxes removes reduction axes of one point from the indices.
func (c *contraction) dropUnitAxes() {
	zero := map[string]sym.Expr{}
	for _, a := range c.b.Stage.Reduce {
		if a.Extent.Is(1) {
			zero[a.Var] = sym.Const(0)
		} else {
			c.reduce = append(c.reduce, a)
		}
	}
	c.x = te.SubstIndices(c.x, zero, nil).(te.Load)
	c.w = te.SubstIndices(c.w, zero, nil).(te.Load)
	c.load = c.x
}

func static(axes []te.Axis) bool {
	for _, a := range axes {
		if _, ok := a.Extent.Const(); !ok {
			return false
		}
	}
	return true
}

func isWeights(b *block.Block, l te.Load) bool {
	v := b.Operands[l.Source.N]
	return v.Const != nil && len(l.Guard) == 0
}

func zeroDefault(l te.Load) bool {
	d, ok := l.Default.(te.Const)
	return len(l.Guard) == 0 || ok && d.Bits == 0
}

func uses(l te.Load, v string) bool {
	for _, e := range l.Index {
		if e.Uses(v) {
			return true
		}
	}
	return false
}

// roles finds what each axis is, or says why the stage is no contraction.
func (c *contraction) roles() (refusal string) {
	s := c.b.Stage
	c.channel, c.pixel = -1, -1
	for i, a := range s.Axes {
		inX, inW := uses(c.x, a.Var), uses(c.w, a.Var)
		switch {
		case a.Extent.Is(1) && !inW:
		case inW && c.channel >= 0:
			return "its weights have two axes of the result, as those of a batch of products"
		case inX && inW && groupSize(c.x, a) > 1:
			c.channel = i
			c.split(a, groupSize(c.x, a))
		case inX && inW:
			c.channel, c.window = i, true
			if c.inChannel = dimOf(c.x, a.Var); c.inChannel < 0 {
				return "weights and operand share an axis that the operand does not have alone"
			}
		case inW:
			c.channel = i
		case inX:
			c.pixel = i
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
	for r, a := range c.reduce {
		if !uses(c.x, a.Var) || !uses(c.w, a.Var) {
			return "it sums along an axis that one operand does not have"
		}
		if d := c.inputChannel(a.Var); d >= 0 && c.inChannel < 0 {
			c.inChannel, c.inReduce = d, r
		}
	}
	if !c.affine() {
		return "it is read at indices that are no sums of axes"
	}
	return ""
}

// dimOf is the dimension whose index is the variable alone, or -1.
func dimOf(l te.Load, v string) int {
	for d, e := range l.Index {
		if e.Equal(sym.Var(v)) {
			return d
		}
	}
	return -1
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
