package lower

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// packWeights orders the weights as the micro-kernel reads them: group of X's channels, so many lanes
// of result channels, the K loops, these lanes. What lies beyond the channels is zero.
func (c *contraction) packWeights(groups, lanes int64) *ir.Value {
	ks, steps := c.kAxes(), c.kSteps()
	p := &packed{from: c.wv.Const, to: c.packedType(), channels: c.channels, lanes: lanes, set: groups * lanes, together: 1, points: make([]int64, steps)}
	var strides []int64
	p.stride, strides, p.offset = c.weightStrides(ks)
	at := make([]int64, len(ks))
	for step := range p.points {
		inside := true
		for i, k := range ks {
			p.points[step] += at[i] * strides[i]
			inside = inside && c.reduceInside(ks, at, k.reduce)
		}
		if !inside {
			p.points[step] = -1
		}
		for i := len(ks) - 1; i >= 0; i-- {
			if at[i]++; at[i] < ks[i].extent {
				break
			}
			at[i] = 0
		}
	}
	return ir.ConstValue(c.wv.Name+".packed", p.tensor(c.packedType(), c.groups*groups, steps, lanes))
}

// weightStrides are what a result channel and each K loop add to W's row-major offset.
func (c *contraction) weightStrides(ks []kAxis) (channel int64, strides []int64, base int64) {
	off := layout.Flat(c.wv.Shape, c.w.Index)
	zero := map[string]sym.Expr{}
	for _, a := range append(append([]te.Axis{}, c.b.Stage.Axes...), c.reduce...) {
		zero[a.Var] = sym.Const(0)
	}
	base, _ = off.Subst(zero, nil).Const()
	stride := func(v string) int64 {
		e, _ := sym.Coefficient(off, v, nil)
		n, _ := e.Const()
		return n
	}
	for _, k := range ks {
		strides = append(strides, stride(c.reduce[k.reduce].Var)*k.unit)
	}
	return stride(c.b.Stage.Axes[c.channel].Var), strides, base
}

// reduceInside reports whether the K loops' position lies within the reduction axis: the last
// block of channels may not be full.
func (c *contraction) reduceInside(ks []kAxis, at []int64, reduce int) bool {
	v := int64(0)
	for i, k := range ks {
		if k.reduce == reduce {
			v += at[i] * k.unit
		}
	}
	n, _ := c.reduce[reduce].Extent.Const()
	return v < n
}
