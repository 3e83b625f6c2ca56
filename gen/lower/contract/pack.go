package contract

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/sym"
)

// packedWeights are W with axes in the order of the contraction's: groups, channels, and the sum's.
type packedWeights struct {
	value *ir.Value
	parts layout.Parts
	index []sym.Expr // of W in the contraction's axes
	// stride is what a neighbour along each axis adds to W's row-major offset, from base on.
	strides []int64
	base    int64
	to      ir.DType
}

// weights orders W as the micro-kernel reads it: group of X's channels, so many lanes of result channels, the K loops, these lanes.
func (c *laid) weights(p *tiling) *packedWeights {
	w := &packedWeights{to: c.packedType()}
	step, base := c.weightSteps()
	w.base = base
	var shape ir.Shape
	axis := func(v string, at sym.Expr, extent, points int64) int {
		shape, w.index, w.strides = append(shape, sym.Const(extent)), append(w.index, at), append(w.strides, points*step(v))
		return len(shape) - 1
	}
	channel := c.b.Stage.Axes[c.channel].Var
	at := sym.Var(channel)
	if c.groups > 1 {
		g := axis(channel, sym.FloorDiv(at, sym.Const(c.channels), nil), c.groups, c.channels)
		w.parts = append(w.parts, layout.Part{Axis: g})
		at = sym.Mod(at, sym.Const(c.channels), nil)
	}
	ch := axis(channel, at, c.channels, 1)
	w.parts = append(w.parts, layout.Part{Axis: ch})
	lanes := p.packed.Lanes
	switch whole := (c.channels + lanes - 1) / lanes; {
	case p.apart:
		w.parts = append(w.parts, layout.Part{Axis: ch, Size: p.Vectors})
	case whole < p.packed.Groups: // those of registers that are apart, in tiles of several
		w.parts = append(w.parts, layout.Part{Axis: ch, Size: p.packed.Groups})
	}
	of := map[int]int{}
	for r, a := range c.reduce {
		n, _ := a.Extent.Const()
		of[r] = axis(a.Var, sym.Var(a.Var), n, 1)
	}
	for _, k := range c.kAxes() {
		part := layout.Part{Axis: of[k.reduce]}
		if k.within {
			part.Size = k.extent
		}
		w.parts = append(w.parts, part)
	}
	w.parts = append(w.parts, layout.Part{Axis: ch, Size: lanes})
	w.value = &ir.Value{Name: c.wv.Name, Type: w.to, Shape: shape, HasShape: true, Const: c.wv.Const}
	return w
}

// weightSteps are what a neighbour along an axis adds to W's row-major offset, from a base on.
func (c *contraction) weightSteps() (step func(v string) int64, base int64) {
	off := layout.Flat(c.wv.Shape, c.w.Index)
	zero := map[string]sym.Expr{}
	for _, a := range slices.Concat(c.b.Stage.Axes, c.reduce) {
		zero[a.Var] = sym.Const(0)
	}
	base, _ = off.Subst(zero, nil).Const()
	return func(v string) int64 {
		e := sym.Step(off, v, nil)
		n, _ := e.Const()
		return n
	}, base
}

// pack is a constant as it is stored.
func (w *packedWeights) pack(v *ir.Value) *ir.Value {
	ch := w.parts[len(w.parts)-1]
	dims, _ := w.value.Shape.Static()
	along := w.parts.Along(ch.Axis)
	p := &weights.Packed{From: v.Const, To: w.to, Channels: dims[ch.Axis], Lanes: ch.Size, Set: (dims[ch.Axis] + along - 1) / along * along,
		Offset: w.base, Stride: w.strides[ch.Axis]}
	var sum layout.Parts // axes besides groups and channels
	for _, x := range w.parts {
		if x.Axis > ch.Axis {
			sum = append(sum, layout.Part{Axis: x.Axis - ch.Axis - 1, Size: x.Size})
		}
	}
	dims = dims[ch.Axis+1:]
	steps, _ := sum.Elements(ir.Dims(dims...)).Const()
	p.Points = make([]int64, steps)
	extents := sum.Extents(dims)
	for step := range p.Points {
		for d, at := range sum.At(extents, int64(step)) {
			if at >= dims[d] {
				p.Points[step] = -1
				break
			}
			p.Points[step] += at * w.strides[ch.Axis+1+d]
		}
	}
	groups, _ := w.parts.Elements(w.value.Shape).Const()
	return ir.ConstValue(v.Name+".packed", p.Tensor(w.to, groups/steps/ch.Size, steps, ch.Size))
}
