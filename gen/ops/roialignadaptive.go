package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Results of the stage of a region's bins along an axis.
const (
	binStart  = iota // where the bin begins
	binLength        // how long it is
	binPoints        // how many points it has, a whole number as a float: any, also none, infinite or NaN
	binFirst         // the first point that may lie in the tensor
	binCount         // how many points from that one on may
)

// farthest bounds the number of a bin's first point in the tensor: a bin of more points before it is taken for one outside.
const farthest = 1 << 30

// adaptive is a RoiAlign whose bins have a point for each pixel that they are long, or for a part of one. Points lie
// more than half a pixel apart wherever a bin has more than one, so that the number of those in the tensor is bounded by its size, however
// large the region is; what lies outside is 0.
func (r *regions) adaptive() *Meaning {
	r.over = nil
	var most ir.Shape
	for k := range 2 {
		most = append(most, r.mostInside(k))
	}
	r.over = reduceAxes(most)
	return stages(r.bins(0), r.bins(1), r.poolInside())
}

// mostInside bounds the points of a bin that lie in the tensor, from -1 to its extent, and the points before and
// after them that rounding may add.
func (r *regions) mostInside(k int) sym.Expr { return sym.Add(sym.Scale(r.x[2+k], 2), sym.Const(5)) }

// bins is the stage of the bins along height (0) or width (1), for each region and bin.
func (r *regions) bins(k int) *te.Stage {
	start, length := r.extent(k)
	bin := div(length, num(length, float64(r.size[k])))
	points := call("ceil", bin)
	from := add(start, mul(count(r.t, iv(1)), bin))
	zero, one := num(bin, 0), num(bin, 1)
	// The number of the point at -1, in points; of NaN all comparisons are false.
	before := mul(sub(num(from, -1), from), div(points, bin))
	near := test("lt", before, num(before, farthest))
	first := sel(te.Fn(ir.Bool, "and", test("gt", before, num(before, 2)), near), sub(call("floor", before), one), zero)
	left := sub(points, first)
	some := te.Fn(ir.Bool, "and", test("ge", left, one), te.Fn(ir.Bool, "not", test("ge", before, num(before, farthest))))
	most := count(r.t, r.mostInside(k))
	return &te.Stage{
		Name: [2]string{"rows", "columns"}[k], Axes: axes(ir.Shape{r.n, sym.Const(r.size[k])}),
		Results: []te.Expr{from, bin, points, cast(ir.I64, first), cast(ir.I64, sel(some, call("min", left, most), zero))},
	}
}

// poolInside combines the points of a bin that lie in the tensor. A mean counts all points. The greatest of some that leaves
// others out is at least their 0; where there is no point at all, the result is 0, too.
func (r *regions) poolInside() *te.Stage {
	load := func(k, part int) te.Expr {
		t := r.t
		if part >= binFirst {
			t = ir.I64
		}
		return te.Load{Source: te.Source{Stage: true, N: k, Part: part}, Type: t, Index: []sym.Expr{iv(0), iv(2 + k)}}
	}
	var sides [2][]te.Expr
	for k := range sides {
		number := count(r.t, sym.Add(gv(3+2*k), rv(k)))
		// A bin without points has no number here; its gradient needs a divisor all the same.
		points, one := load(k, binPoints), num(number, 1)
		at := div(mul(add(number, num(number, 0.5)), load(k, binLength)), sel(test("lt", points, one), one, points))
		sides[k] = r.neighbours(k, add(load(k, binStart), at))
	}
	inside := make([]te.Within, 2)
	for k := range inside {
		inside[k] = te.Within{E: rv(k), Lo: sym.Const(0), Hi: gv(4 + 2*k)}
	}
	neutral := te.Number(r.t, 0)
	if r.max {
		neutral = te.Lowest(r.t)
	}
	value := te.Expr(te.Select{Cond: inside, Then: r.sample(func(k, part int) te.Expr { return sides[k][part] }), Else: neutral})
	for k := range sides {
		bounds := [2]sym.Expr{sym.Const(farthest), r.mostInside(k)}
		for i, hi := range bounds {
			value = te.Let{Var: gv(3 + 2*k + i).String(), Value: load(k, binFirst+i), Lo: sym.Const(0), Hi: hi, Known: true, Body: value}
		}
	}
	return r.stage(r.inBatch(value), r.ofAll(load))
}

// ofAll is the result of a bin by what was combined of its points in the tensor.
func (r *regions) ofAll(load func(k, part int) te.Expr) te.Expr {
	acc := te.Expr(te.Acc{Type: r.t})
	all := mul(load(0, binPoints), load(1, binPoints))
	one, zero := num(acc, 1), num(acc, 0)
	if !r.max {
		return div(acc, sel(test("lt", all, one), one, all))
	}
	seen := mul(cast(r.t, load(0, binCount)), cast(r.t, load(1, binCount)))
	return sel(test("lt", seen, all), call("max", acc, zero), sel(test("ge", seen, one), acc, zero))
}
