package ops

import (
	"math"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// cropped is the place of a point under tf_crop_and_resize, whose region is known in the
// run only.
func (s *resample) cropped(a *resizedAxis) *spot {
	x := s.cropCoordinate(a)
	last := sym.Sub(a.in, sym.Const(1))
	outside := te.Fn(ir.Bool, "or", test("lt", x, num(x, 0)), test("gt", x, count(s.t, last)))
	base := call("floor", x)
	if s.mode == "nearest" {
		base = s.roundedFloat(x)
	}
	name := "g" + strconv.Itoa(a.k)
	p := &spot{base: sym.Var(name), out: outside, exact: true, bind: binder(name, base, sym.Const(0), last)}
	if s.mode != "nearest" {
		p.t = sub(x, cast(s.t, te.Index{Type: ir.I64, E: p.base}))
	}
	return p
}

// binder binds a variable to a whole float, brought into [lo, hi]; a NaN counts as lo.
func binder(name string, value te.Expr, lo, hi sym.Expr) func(te.Expr) te.Expr {
	t := value.DType()
	index := func(e sym.Expr) te.Expr { return count(ir.I64, e) }
	// First as a float, since a float may be greater than any integer.
	near := call("min", call("max", value, count(t, sym.Sub(lo, sym.Const(1)))), count(t, sym.Add(hi, sym.Const(1))))
	whole := call("max", call("min", cast(ir.I64, near), index(hi)), index(lo))
	return func(body te.Expr) te.Expr { return te.Let{Var: name, Value: whole, Lo: lo, Hi: hi, Body: body} }
}

// roundedFloat is the nearest whole number, by nearest_mode.
func (s *resample) roundedFloat(x te.Expr) te.Expr {
	switch half := num(x, 0.5); s.nearest {
	case "round_prefer_floor":
		return call("ceil", sub(x, half))
	case "round_prefer_ceil":
		return call("floor", add(x, half))
	case "ceil":
		return call("ceil", x)
	}
	return call("floor", x)
}

// cropCoordinate is start * (in - 1) + i * (end - start) * (in - 1) / (width - 1), and
// the middle of the region where width is 1.
func (s *resample) cropCoordinate(a *resizedAxis) te.Expr {
	roi := func(n int) te.Expr { return cast(s.t, te.Operand(s.roi, s.c.Type(s.roi), sym.Const(int64(n)))) }
	start, end := roi(a.listed), roi(s.roiLen+a.listed)
	reach := count(s.t, sym.Sub(a.in, sym.Const(1)))
	length := mul(sub(end, start), reach)
	part := func(of sym.Expr) te.Expr { // length * i / (width - 1)
		i := count(s.t, sym.Mul(iv(a.k), a.width.den))
		return div(mul(i, length), count(s.t, of))
	}
	middle := mul(length, num(length, 0.5))
	below := sym.Sub(a.width.num, a.width.den)
	along := part(below)
	if below.Is(0) {
		along = middle
	} else if !s.c.isNot(below, 0) {
		cond := []te.Within{{E: below, Lo: sym.Const(1), Hi: sym.Const(math.MaxInt64)}}
		along = te.Select{Cond: cond, Then: along, Else: middle}
	}
	return add(along, mul(start, reach))
}
