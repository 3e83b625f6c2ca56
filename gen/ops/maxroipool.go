package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func maxRoiPoolRow() *Row {
	return &Row{
		Name: "MaxRoiPool", Versions: []int{1, 22}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{in("X", floats), in("rois", floats)},
		Attrs:  []AttrSpec{intsAttr("pooled_shape").required(), floatAttr("spatial_scale")},
		Build:  maxRoiPool,
	}
}

// roiPool is a MaxRoiPool: each region, [number in the batch, x1, y1, x2, y2] with its last
// elements, is divided into bins, whose elements are whole ones: neighbouring bins may share
// some. A bin without an element of the tensor gives 0.
type roiPool struct {
	c     *Ctx
	x     ir.Shape
	n     sym.Expr // of regions
	size  []int64  // bins along height and width
	scale float64
	t     ir.DType
}

func maxRoiPool(c *Ctx) (*Meaning, error) {
	x, rois, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	if len(x) != 4 || len(rois) != 2 {
		return nil, fmt.Errorf("operands have ranks %d and %d; want ranks 4 and 2", len(x), len(rois))
	}
	if err := c.hasShape(1, ir.Shape{rois[0], sym.Const(5)}); err != nil {
		return nil, err
	}
	if err := c.someOf(x[0], 0, rois[:1]); err != nil {
		return nil, err
	}
	p := &roiPool{c: c, x: x, n: rois[0], t: wide(c.Type(0)), scale: float64(c.Node.Float("spatial_scale", 1))}
	if p.size, err = c.positives("pooled_shape", 2); err != nil {
		return nil, err
	}
	return stages(p.bins(0), p.bins(1), p.pool()), nil
}

// bins is the stage of the bins along height (0) or width (1), for each region and bin: the
// first element, and the first one behind.
func (p *roiPool) bins(k int) *te.Stage {
	as := axes(ir.Shape{p.n, sym.Const(p.size[k])})
	edge := func(n int64) te.Expr {
		x := cast(p.t, te.Operand(1, p.c.Type(1), iv(0), sym.Const(n)))
		return away(mul(x, num(x, p.scale)))
	}
	start := edge(int64(2 - k))
	one := num(start, 1)
	length := call("max", add(sub(edge(int64(4-k)), start), one), one)
	bin := div(length, num(length, float64(p.size[k])))
	extent := count(p.t, p.x[2+k])
	at := func(round string, i sym.Expr) te.Expr {
		y := add(start, call(round, mul(count(p.t, i), bin)))
		return cast(ir.I64, call("min", call("max", y, num(y, 0)), extent))
	}
	return &te.Stage{
		Name: [2]string{"rows", "columns"}[k], Axes: as,
		Results: []te.Expr{at("floor", iv(1)), at("ceil", sym.Add(iv(1), sym.Const(1)))},
	}
}

// away rounds to the nearest whole number, halves away from zero.
func away(x te.Expr) te.Expr {
	size := call("floor", add(call("abs", x), num(x, 0.5)))
	return sel(test("lt", x, num(x, 0)), call("neg", size), size)
}

// pool runs over the whole tensor for each bin: where a bin begins is known in the run only.
func (p *roiPool) pool() *te.Stage {
	typ := p.c.Type(0)
	edge := func(k, part int) te.Expr {
		return te.Load{Source: te.Source{Stage: true, N: k, Part: part}, Type: ir.I64, Index: []sym.Expr{iv(0), iv(2 + k)}}
	}
	name := func(k, part int) sym.Expr { return gv(1 + 2*k + part) }
	var inside []te.Within
	empty := te.Expr(te.Int(ir.Bool, 0))
	for k := range 2 {
		inside = append(inside, te.Within{E: rv(k), Lo: name(k, 0), Hi: name(k, 1)})
		empty = te.Fn(ir.Bool, "or", empty, test("ge", edge(k, 0), edge(k, 1)))
	}
	value := te.Expr(te.Select{Cond: inside, Then: p.c.load0(gv(0), iv(1), rv(0), rv(1)), Else: te.Lowest(typ)})
	for k := range 2 {
		for part := range 2 {
			value = te.Let{Var: name(k, part).String(), Value: edge(k, part), Lo: sym.Const(0), Hi: p.x[2+k], Body: value}
		}
	}
	batch := cast(ir.I64, te.Operand(1, p.c.Type(1), iv(0), sym.Const(0)))
	value = te.Let{Var: gv(0).String(), Value: batch, Lo: sym.Const(0), Hi: sym.Sub(p.x[0], sym.Const(1)), Body: value}
	return &te.Stage{
		Name: "MaxRoiPool", Axes: axes(ir.Shape{p.n, p.x[1], sym.Const(p.size[0]), sym.Const(p.size[1])}),
		Reduce: reduceAxes(p.x[2:]), Combine: te.Max(typ), Values: []te.Expr{value},
		Results: []te.Expr{sel(empty, te.Number(typ, 0), te.Acc{Type: typ})},
	}
}
