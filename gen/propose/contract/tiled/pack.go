package tiled

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/weights"
)

// PackedWeights are W with axes in the order of the contraction's: groups, channels, and the sum's.
type PackedWeights struct {
	Value *ir.Value
	Parts layout.Parts
	Index []sym.Expr // of W in the contraction's axes
	// stride is what a neighbour along each axis adds to W's row-major offset, from base on.
	strides []int64
	base    int64
	to      ir.DType
}

// PackWeights orders W as the micro-kernel reads it: group of X's channels, so many lanes of result channels, the K loops, these lanes.
func (c *Laid) PackWeights(p *Tiling) *PackedWeights {
	w := &PackedWeights{to: c.PackedType()}
	step, base := c.WeightSteps()
	w.base = base
	var shape ir.Shape
	axis := func(v string, at sym.Expr, extent, points int64) int {
		shape, w.Index, w.strides = append(shape, sym.Const(extent)), append(w.Index, at), append(w.strides, points*step(v))
		return len(shape) - 1
	}
	channel := c.Block.Stage.Axes[c.Channel].Var
	at := sym.Var(channel)
	if c.Groups > 1 {
		g := axis(channel, sym.FloorDiv(at, sym.Const(c.Channels), nil), c.Groups, c.Channels)
		w.Parts = append(w.Parts, layout.Part{Axis: g})
		at = sym.Mod(at, sym.Const(c.Channels), nil)
	}
	ch := axis(channel, at, c.Channels, 1)
	w.Parts = append(w.Parts, layout.Part{Axis: ch})
	lanes := p.Packing.Lanes
	switch whole := (c.Channels + lanes - 1) / lanes; {
	case p.apart:
		w.Parts = append(w.Parts, layout.Part{Axis: ch, Size: p.Vectors})
	case whole < p.Packing.Groups: // those of registers that are apart, in tiles of several
		w.Parts = append(w.Parts, layout.Part{Axis: ch, Size: p.Packing.Groups})
	}
	of := map[int]int{}
	for r, a := range c.Reduce {
		n, _ := a.Extent.Const()
		of[r] = axis(a.Var, sym.Var(a.Var), n, 1)
	}
	for _, k := range c.kAxes() {
		part := layout.Part{Axis: of[k.reduce]}
		if k.within {
			part.Size = k.extent
		}
		w.Parts = append(w.Parts, part)
	}
	w.Parts = append(w.Parts, layout.Part{Axis: ch, Size: lanes})
	w.Value = &ir.Value{Name: c.Weights.Name, Type: w.to, Shape: shape, HasShape: true, Const: c.Weights.Const}
	return w
}

// Constant is a constant as it is stored.
func (w *PackedWeights) Constant(v *ir.Value) *ir.Value {
	ch := w.Parts[len(w.Parts)-1]
	dims, _ := w.Value.Shape.Static()
	along := w.Parts.Along(ch.Axis)
	p := &weights.Packed{From: v.Const, To: w.to, Channels: dims[ch.Axis], Lanes: ch.Size, Set: (dims[ch.Axis] + along - 1) / along * along,
		Offset: w.base, Stride: w.strides[ch.Axis]}
	var sum layout.Parts // axes besides groups and channels
	for _, x := range w.Parts {
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
	groups, _ := w.Parts.Elements(w.Value.Shape).Const()
	return ir.ConstValue(v.Name+".packed", p.Tensor(w.to, groups/steps/ch.Size, steps, ch.Size))
}
