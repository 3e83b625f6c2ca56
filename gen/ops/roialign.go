package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// regions is a RoiAlign: each region is divided into bins, each of which takes the mean
// or the greatest of points that lie evenly in it.
type regions struct {
	c        *Ctx
	x        ir.Shape
	n        sym.Expr // of regions
	samples  int64    // points of a bin along an axis, or 0: one for each pixel that it is long
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
	r.as = axes(ir.Shape{r.n, x[1], sym.Const(r.size[0]), sym.Const(r.size[1])})
	if r.samples == 0 {
		return r.adaptive(), nil
	}
	s := sym.Const(r.samples)
	r.over = reduceAxes(ir.Shape{s, s})
	return stages(r.points(0), r.points(1), r.pool()), nil
}

func (r *regions) attributes() error {
	for i, name := range [2]string{"output_height", "output_width"} {
		if r.size[i] = r.c.Node.Int(name, 1); r.size[i] < 1 {
			return fmt.Errorf("attribute %s is %d; want at least 1", name, r.size[i])
		}
	}
	if r.samples = r.c.Node.Int("sampling_ratio", 0); r.samples < 0 || r.samples > mostSamples {
		return fmt.Errorf("attribute sampling_ratio is %d; want 1 to %d, or 0 for a number of points by the size of each region", r.samples, mostSamples)
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

// mostSamples bounds the points of a bin along an axis that a node may ask for.
const mostSamples = 1 << 20

// points is the stage of the points along height (0) or width (1), for each region, bin
// and number: the elements before and after, and their weights, 0 outside of the tensor.
func (r *regions) points(k int) *te.Stage {
	as := axes(ir.Shape{r.n, sym.Const(r.size[k]), sym.Const(r.samples)})
	start, length := r.extent(k)
	bin := mul(length, num(length, 1/float64(r.size[k])))
	at := add(count(r.t, iv(1)), quotient(r.t, sym.Add(sym.Scale(iv(2), 2), sym.Const(1)), sym.Const(2*r.samples)))
	y := add(start, mul(at, bin))
	return &te.Stage{Name: [2]string{"rows", "columns"}[k], Axes: as, Results: r.neighbours(k, y)}
}

// extent is where a region begins along an axis, and its length.
func (r *regions) extent(k int) (start, length te.Expr) {
	edge := func(n int64) te.Expr {
		x := cast(r.t, te.Operand(1, r.c.Type(1), iv(0), sym.Const(n)))
		if x = mul(x, num(x, r.scale)); r.shifted {
			x = sub(x, num(x, 0.5))
		}
		return x
	}
	start = edge(int64(1 - k))
	length = sub(edge(int64(3-k)), start)
	if !r.shifted {
		length = call("max", length, num(length, 1))
	}
	return start, length
}

// neighbours are the element before a point, and the weights of that and of the element after it, both 0 outside of the tensor.
func (r *regions) neighbours(k int, y te.Expr) []te.Expr {
	d := r.x[2+k]
	last := count(r.t, sym.Sub(d, sym.Const(1)))
	inside := te.Fn(ir.Bool, "and", test("ge", y, num(y, -1)), test("le", y, count(r.t, d)))
	y = call("min", call("max", y, num(y, 0)), last)
	base := call("floor", y)
	after := sub(y, base)
	zero := num(y, 0)
	return []te.Expr{cast(ir.I64, base), sel(inside, sub(num(y, 1), after), zero), sel(inside, after, zero)}
}

// pool combines the points of a bin. The greatest is that of the single weighted elements,
// as ONNX's definition has it.
func (r *regions) pool() *te.Stage {
	load := func(k, part int) te.Expr {
		t := r.t
		if part == 0 {
			t = ir.I64
		}
		return te.Load{Source: te.Source{Stage: true, N: k, Part: part}, Type: t, Index: []sym.Expr{iv(0), iv(2 + k), rv(k)}}
	}
	value := r.inBatch(r.sample(load))
	result := te.Expr(te.Acc{Type: r.t})
	if !r.max {
		result = mul(result, num(result, 1/float64(r.samples*r.samples)))
	}
	return r.stage(value, result)
}

// sample is the value of a point. Of an axis, load gives the parts that neighbours has.
func (r *regions) sample(load func(k, part int) te.Expr) te.Expr {
	unit := sym.Const(1)
	var value te.Expr
	for i := range 4 {
		row, col := int64(i/2), int64(i%2)
		index := []sym.Expr{gv(0), iv(1)}
		for k, n := range [2]int64{row, col} { // the element after the last one has weight 0
			index = append(index, sym.Min(sym.Add(gv(1+k), sym.Const(n)), sym.Sub(r.x[2+k], unit), nil))
		}
		w := mul(load(0, 1+int(row)), load(1, 1+int(col)))
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
			Var: gv(1 + k).String(), Value: load(k, 0), Lo: sym.Const(0), Hi: sym.Sub(r.x[2+k], unit), Body: value,
		}
	}
	return value
}

// inBatch binds the number of the region's image; no index counts from the end.
func (r *regions) inBatch(value te.Expr) te.Expr {
	return te.Let{
		Var: gv(0).String(), Value: te.Operand(2, ir.I64, iv(0)), Lo: sym.Const(0), Hi: sym.Sub(r.x[0], sym.Const(1)), Body: value,
	}
}

// stage combines the values of a bin's points.
func (r *regions) stage(value, result te.Expr) *te.Stage {
	comb := te.Sum(r.t)
	if r.max {
		comb = te.Max(r.t)
	}
	return &te.Stage{
		Name: "RoiAlign", Axes: r.as, Reduce: r.over, Combine: comb,
		Values: []te.Expr{value}, Results: []te.Expr{cast(r.c.Type(0), result)},
	}
}
