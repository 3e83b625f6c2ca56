package contract

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/weights"
)

// Order is how a contraction's weights lie.
func (c *Contraction) Order() *weights.Ordered {
	step, base := c.WeightSteps()
	o := &weights.Ordered{From: c.Weights.Const, Dims: []int64{c.Channels}, Steps: []int64{step(c.Block.Stage.Axes[c.Channel].Var)}, Base: base}
	for _, a := range c.Reduce {
		n, _ := a.Extent.Const()
		o.Dims, o.Steps = append(o.Dims, n), append(o.Steps, step(a.Var))
	}
	return o
}

// WeightSteps are what a neighbour along an axis adds to W's row-major offset, from a base on.
func (c *Contraction) WeightSteps() (step func(v string) int64, base int64) {
	off := layout.Flat(c.Weights.Shape, c.W.Index)
	zero := map[string]sym.Expr{}
	for _, a := range slices.Concat(c.Block.Stage.Axes, c.Reduce) {
		zero[a.Var] = sym.Const(0)
	}
	base, _ = off.Subst(zero, nil).Const()
	return func(v string) int64 {
		e := sym.Step(off, v, nil)
		n, _ := e.Const()
		return n
	}, base
}
