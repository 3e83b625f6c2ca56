package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func deformRows() []*Row {
	return []*Row{
		{
			Name: "DeformConv", Versions: []int{19, 22}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats), in("W", floats), in("offset", floats), opt(in("B", floats)), opt(in("mask", floats))},
			Attrs: []AttrSpec{
				intsAttr("dilations"), intAttr("group"), intsAttr("kernel_shape"), intAttr("offset_group"), intsAttr("pads"), intsAttr("strides"),
			},
			Weights: &Weights{Operand: 1, Bias: 3, Kernel: true, Linear: true},
			Build:   deformConv,
		},
		{
			Name: "RoiAlign", Versions: []int{10, 16, 22}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats), in("rois", floats), {Name: "batch_indices", Types: int64s}},
			Attrs: []AttrSpec{
				strAttr("coordinate_transformation_mode").from(16), strAttr("mode"), intAttr("output_height"), intAttr("output_width"),
				intAttr("sampling_ratio"), floatAttr("spatial_scale"),
			},
			Build: roiAlign,
		},
		maxRoiPoolRow(),
	}
}

// deformed is a convolution that reads between the elements: three stages give the points,
// what is there, and the contraction with the weights.
type deformed struct {
	c       *Ctx
	x, w    ir.Shape
	win     *window
	group   int64
	offsets int64 // groups of channels with offsets of their own
	rank    int
}

func deformConv(c *Ctx) (*Meaning, error) {
	x, w, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	if err := c.checkKernel(x, w); err != nil {
		return nil, err
	}
	d := &deformed{c: c, x: x, w: w, rank: len(x) - 2, offsets: c.Node.Int("offset_group", 1)}
	if d.win, err = c.newWindow(x[2:], w[2:]); err != nil {
		return nil, err
	}
	if d.group, err = c.convGroups(x, w); err != nil {
		return nil, err
	}
	if c.Has(3) {
		if err := c.isVector(3, w[0]); err != nil {
			return nil, err
		}
	}
	if d.offsets < 1 {
		return nil, fmt.Errorf("attribute offset_group is %d; want at least 1", d.offsets)
	}
	each := sym.FloorDiv(x[1], sym.Const(d.offsets), c.Facts)
	if err := c.require(SameDim, sym.Scale(each, d.offsets), x[1], "channels of X must be a multiple of attribute offset_group"); err != nil {
		return nil, err
	}
	if err := d.checkOffsets(); err != nil {
		return nil, err
	}
	return stages(d.points(), d.columns(each), d.product()), nil
}

// checkOffsets checks the shapes of offsets and mask.
func (d *deformed) checkOffsets() error {
	points := sym.Scale(product(d.w[2:]...), d.offsets)
	shape := append(ir.Shape{d.x[0], sym.Scale(points, int64(d.rank))}, d.win.out...)
	if err := d.c.hasShape(2, shape); err != nil {
		return err
	}
	if !d.c.Has(4) {
		return nil
	}
	return d.c.hasShape(4, append(ir.Shape{d.x[0], points}, d.win.out...))
}

// pointShape is batch, offset group, kernel and result: what points have loops over.
func (d *deformed) pointShape(second sym.Expr) ir.Shape {
	s := append(ir.Shape{d.x[0], second}, d.w[2:]...)
	return append(s, d.win.out...)
}

// number is the place of a kernel's element among those of all offset groups.
func (d *deformed) number(group sym.Expr) sym.Expr {
	for k := range d.rank {
		group = sym.Add(sym.Mul(group, d.w[2+k]), iv(2+k))
	}
	return group
}

// outIndex are the indices of the result in the loops of points.
func (d *deformed) outIndex() []sym.Expr {
	var out []sym.Expr
	for k := range d.rank {
		out = append(out, iv(2+d.rank+k))
	}
	return out
}

func (d *deformed) sampler() *sampler {
	return &sampler{c: d.c, x: d.x, mode: "linear", padding: "zeros", t: wide(d.c.Type(0))}
}

func (d *deformed) points() *te.Stage {
	s := d.sampler()
	st := &te.Stage{Name: "points", Axes: axes(d.pointShape(sym.Const(d.offsets)))}
	for k := range d.rank {
		channel := sym.Add(sym.Scale(d.number(iv(1)), int64(d.rank)), sym.Const(int64(k)))
		index := append([]sym.Expr{iv(0), channel}, d.outIndex()...)
		at := count(s.t, d.win.at(k, iv(2+d.rank+k), iv(2+k)))
		st.Results = append(st.Results, s.split(add(at, cast(s.t, te.Operand(2, d.c.Type(2), index...))), d.x[2+k])...)
	}
	return st
}

// columns are the elements that a kernel's elements meet, by channel; each is how many
// channels an offset group has.
func (d *deformed) columns(each sym.Expr) *te.Stage {
	s := d.sampler()
	as := axes(d.pointShape(d.x[1]))
	group := sym.FloorDiv(iv(1), each, d.c.with(as))
	if d.offsets == 1 {
		group = sym.Const(0)
	}
	at := te.AxisVars(as)
	at[1] = group
	e := s.element(at, iv(0), iv(1))
	if d.c.Has(4) {
		index := append([]sym.Expr{iv(0), d.number(group)}, d.outIndex()...)
		e = mul(e, cast(s.t, te.Operand(4, d.c.Type(4), index...)))
	}
	return &te.Stage{Name: "columns", Axes: as, Results: []te.Expr{e}}
}

func (d *deformed) product() *te.Stage {
	c, t := d.c, wide(d.c.Type(0))
	as := axes(append(ir.Shape{d.x[0], d.w[0]}, d.win.out...))
	red := reduceAxes(d.w[1:])
	channel := rv(0)
	if d.group > 1 {
		f := c.with(as, red)
		each := sym.FloorDiv(d.w[0], sym.Const(d.group), f)
		channel = sym.Add(sym.Mul(sym.FloorDiv(iv(1), each, f), d.w[1]), channel)
	}
	index := append([]sym.Expr{iv(0), channel}, te.AxisVars(red)[1:]...)
	index = append(index, te.AxisVars(as)[2:]...)
	weight := cast(t, te.Operand(1, c.Type(1), append([]sym.Expr{iv(1)}, te.AxisVars(red)...)...))
	result := te.Expr(te.Acc{Type: t})
	if c.Has(3) {
		result = add(result, cast(t, te.Operand(3, c.Type(3), iv(1))))
	}
	return &te.Stage{
		Name: "DeformConv", Axes: as, Reduce: red, Combine: te.Sum(t),
		Values: []te.Expr{mul(te.FromStage(1, t, index...), weight)}, Results: []te.Expr{cast(c.Type(0), result)},
	}
}
