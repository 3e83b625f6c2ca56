// Package sel chooses a layout for every value and a kernel for every block.
package sel

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
)

// Options switch parts off so that their effect can be measured.
type Options struct{ Anchors, Layouts bool }

// Choice is the result: layouts by value, and how each block is lowered.
type Choice struct {
	Layouts map[*ir.Value]layout.Layout
	target  *target.Target
	anchors bool
}

// Run chooses. Inputs, outputs and constants are row-major. What a contraction writes,
// or reads along its input channels, keeps a block of channels together, so that its
// tile loads and stores whole vectors; blocks between such values follow.
func Run(g *block.Graph, t *target.Target, o Options) (*Choice, error) {
	c := &Choice{Layouts: map[*ir.Value]layout.Layout{}, target: t, anchors: o.Anchors}
	if !o.Layouts || !o.Anchors {
		return c, nil
	}
	fixed := map[*ir.Value]bool{}
	for _, v := range append(append([]*ir.Value{}, g.Inputs...), g.Outputs...) {
		fixed[v] = true
	}
	blocked := layout.Layout{Axis: 1, Block: lower.ChannelBlock(t)}
	for _, b := range g.Blocks {
		if x, ch, ok := lower.IsContraction(b, t); ok && ch == 1 {
			c.block(b.Operands[x], blocked, fixed)
			c.blockAll(b.Results, blocked, fixed)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, b := range g.Blocks {
			if c.follows(b, blocked, fixed) {
				changed = true
			}
		}
	}
	return c, nil
}

func (c *Choice) block(v *ir.Value, l layout.Layout, fixed map[*ir.Value]bool) bool {
	if fixed[v] || v.Const != nil || v.Type != ir.F32 || len(v.Shape) < 3 || !l.Fits(v.Shape) || c.Layouts[v] == l {
		return false
	}
	if n, _ := v.Shape[l.Axis].Const(); n < l.Block {
		return false
	}
	c.Layouts[v] = l
	return true
}

// blockAll blocks all results of a block or none: they share one layout.
func (c *Choice) blockAll(vs []*ir.Value, l layout.Layout, fixed map[*ir.Value]bool) bool {
	for _, v := range vs {
		if fixed[v] {
			return false
		}
	}
	changed := false
	for _, v := range vs {
		changed = c.block(v, l, fixed) || changed
	}
	return changed
}

// follows blocks the results of a block that reads a blocked value of the same channels.
func (c *Choice) follows(b *block.Block, l layout.Layout, fixed map[*ir.Value]bool) bool {
	for _, v := range b.Operands {
		r := b.Results[0]
		if c.Layouts[v] == l && len(r.Shape) == len(v.Shape) && r.Shape[l.Axis].Equal(v.Shape[l.Axis]) {
			return c.blockAll(b.Results, l, fixed)
		}
	}
	return false
}

// Lower makes the block's kernel: by an anchor where one applies, by the generic nest otherwise.
// The values are the kernel's buffers: operands, then results.
func (c *Choice) Lower(b *block.Block, f sym.Facts) (*loop.Kernel, []*ir.Value, error) {
	k, args, err := c.lower(b, f)
	if lanes := int64(c.target.Lanes(ir.F32)); err == nil && lanes >= 4 {
		k.Body = loop.Vectorise(k.Body, lanes, k.Facts)
	}
	return k, args, err
}

func (c *Choice) lower(b *block.Block, f sym.Facts) (*loop.Kernel, []*ir.Value, error) {
	lay := func(v *ir.Value) layout.Layout { return c.Layouts[v] }
	if c.anchors {
		k, args, err := lower.Contraction(b, lay, f, c.target)
		if k != nil || err != nil {
			return k, args, err
		}
	}
	k, err := lower.Generic(b, lay, f)
	return k, append(append([]*ir.Value{}, b.Operands...), b.Results...), err
}
