package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// regions is a RoiAlign: each region is divided into bins, each of which takes the mean
// or the greatest of points that lie evenly in it.
type regions struct {
	c        *Ctx
	x        ir.Shape
	n        sym.Expr // of regions
	samples  int64    // points of a bin along an axis
	shifted  bool     // coordinates are those of pixels' corners
	size     [2]int64 // bins along height and width
	max      bool
	scale    float64
	t        ir.DType
	as, over []te.Axis
}

func roiAlign(c *Ctx) (*Meaning, error) {
	x, rois, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	if len(x) != 4 || len(rois) != 2 {
		return nil, fmt.Errorf("operands have ranks %d and %d; want ranks 4 and 2", len(x), len(rois))
	}
	if err := c.hasShape(1, ir.Shape{rois[0], sym.Const(4)}); err != nil {
		return nil, err
	}
	if err := c.isVector(2, rois[0]); err != nil {
		return nil, err
	}
	for _, axis := range []int{0, 2, 3} {
		if err := c.someOf(x[axis], axis, rois[:1]); err != nil {
			return nil, err
		}
	}
	r := &regions{c: c, x: x, n: rois[0], t: wide(c.Type(0)), scale: float64(c.Node.Float("spatial_scale", 1))}
	if err := r.attributes(); err != nil {
		return nil, err
	}
	s := sym.Const(r.samples)
	r.as = axes(ir.Shape{r.n, x[1], sym.Const(r.size[0]), sym.Const(r.size[1])})
	r.over = reduceAxes(ir.Shape{s, s})
	return stages(r.points(0), r.points(1), r.pool()), nil
}

func (r *regions) attributes() error {
	for i, name := range [2]string{"output_height", "output_width"} {
		if r.size[i] = r.c.Node.Int(name, 1); r.size[i] < 1 {
			return fmt.Errorf("attribute %s is %d; want at least 1", name, r.size[i])
		}
	}
	if r.samples = r.c.Node.Int("sampling_ratio", 0); r.samples < 1 {
		return fmt.Errorf("attribute sampling_ratio is %d (as many points as each region is large); supported are numbers of at least 1: "+
			"set it to 2, which most networks were trained with", r.samples)
	}
	mode, err := r.c.choice("mode", "avg", "max")
	if err != nil {
		return err
	}
	r.max = mode == "max"
	shift := "output_half_pixel"
	if r.c.Version >= 16 {
		shift, err = r.c.choice("coordinate_transformation_mode", "half_pixel", "output_half_pixel")
	}
	r.shifted = shift == "half_pixel"
	return err
}

// points is the stage of the points along height (0) or width (1), for each region, bin
// and number: the elements before and after, and their weights, 0 outside of the tensor.
func (r *regions) points(k int) *te.Stage {
	as := axes(ir.Shape{r.n, sym.Const(r.size[k]), sym.Const(r.samples)})
	edge := func(n int64) te.Expr {
		x := cast(r.t, te.Operand(1, r.c.Type(1), iv(0), sym.Const(n)))
		if x = mul(x, num(x, r.scale)); r.shifted {
			x = sub(x, num(x, 0.5))
		}
		return x
	}
	start := edge(int64(1 - k))
	length := sub(edge(int64(3-k)), start)
	if !r.shifted {
		length = call("max", length, num(length, 1))
	}
	bin := mul(length, num(length, 1/float64(r.size[k])))
	at := add(count(r.t, iv(1)), quotient(r.t, sym.Add(sym.Scale(iv(2), 2), sym.Const(1)), sym.Const(2*r.samples)))
	y := add(start, mul(at, bin))
	d := r.x[2+k]
	last := count(r.t, sym.Sub(d, sym.Const(1)))
	inside := te.Fn(ir.Bool, "and", test("ge", y, num(y, -1)), test("le", y, count(r.t, d)))
	y = call("min", call("max", y, num(y, 0)), last)
	base := call("floor", y)
	after := sub(y, base)
	zero := num(y, 0)
	return &te.Stage{Name: [2]string{"rows", "columns"}[k], Axes: as, Results: []te.Expr{
		cast(ir.I64, base), sel(inside, sub(num(y, 1), after), zero), sel(inside, after, zero),
	}}
}

// pool combines the points of a bin. The greatest is that of the single weighted elements,
// as ONNX's definition has it.
func (r *regions) pool() *te.Stage {
	load := func(k, part int, t ir.DType) te.Expr {
		return te.Load{Source: te.Source{Stage: true, N: k, Part: part}, Type: t, Index: []sym.Expr{iv(0), iv(2 + k), rv(k)}}
	}
	unit := sym.Const(1)
	var value te.Expr
	for i := range 4 {
		row, col := int64(i/2), int64(i%2)
		index := []sym.Expr{gv(0), iv(1)}
		for k, n := range [2]int64{row, col} { // the element after the last one has weight 0
			index = append(index, sym.Min(sym.Add(gv(1+k), sym.Const(n)), sym.Sub(r.x[2+k], unit), nil))
		}
		w := mul(load(0, 1+int(row), r.t), load(1, 1+int(col), r.t))
		x := mul(w, cast(r.t, r.c.load0(index...)))
		switch {
		case value == nil:
			value = x
		case r.max:
			value = call("max", value, x)
		default:
			value = add(value, x)
		}
	}
	for k := 1; k >= 0; k-- {
		value = te.Let{
			Var: gv(1 + k).String(), Value: load(k, 0, ir.I64), Lo: sym.Const(0), Hi: sym.Sub(r.x[2+k], unit), Body: value,
		}
	}
	value = te.Let{ // no index counts from the end
		Var: gv(0).String(), Value: te.Operand(2, ir.I64, iv(0)), Lo: sym.Const(0), Hi: sym.Sub(r.x[0], unit), Body: value,
	}
	result := te.Expr(te.Acc{Type: r.t})
	comb := te.Max(r.t)
	if !r.max {
		comb, result = te.Sum(r.t), mul(result, num(result, 1/float64(r.samples*r.samples)))
	}
	return &te.Stage{
		Name: "RoiAlign", Axes: r.as, Reduce: r.over, Combine: comb,
		Values: []te.Expr{value}, Results: []te.Expr{cast(r.c.Type(0), result)},
	}
}
