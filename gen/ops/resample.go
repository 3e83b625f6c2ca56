package ops

import (
	"slices"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// resample is one step of a Resize: the stages that change some of the axes.
type resample struct {
	*resizing
	axes  []te.Axis
	facts sym.Facts // with the axes
	// before is the stage that the step before gave, -1 for the first; last: this one
	// gives the result.
	before int
	last   bool
	m      *Meaning
}

// spot is where a point of an axis comes from: the element at or before it, and how
// far behind that one it is, in elements.
type spot struct {
	base  sym.Expr
	t     te.Expr                    // nil for the nearest element
	bind  func(body te.Expr) te.Expr // nil, or what base needs around its uses
	out   te.Expr                    // nil, or a bool that reports that it is outside of the tensor
	exact bool                       // base is inside
}

// load reads the step before, or operand 0.
func (s *resample) load(index []sym.Expr) te.Expr {
	if s.before >= 0 {
		return te.FromStage(s.before, s.t, index...)
	}
	return s.c.load0(index...)
}

func (s *resample) stage(name string, e te.Expr, reduce []te.Axis, value te.Expr) {
	st := &te.Stage{Name: name, Axes: s.axes, Results: []te.Expr{e}}
	if reduce != nil {
		st.Reduce, st.Combine, st.Values = reduce, te.Sum(value.DType()), []te.Expr{value}
	}
	s.m.Stages = append(s.m.Stages, st)
}

// result is the step's element: rounded to the operator's type where it is the last.
func (s *resample) result(e te.Expr) te.Expr {
	if !s.last || e.DType() == s.typ {
		return e
	}
	if !s.typ.IsFloat() {
		e = call("round", e)
	}
	return cast(s.typ, e)
}

// name of the steps' stages.
func (s *resample) name() string {
	if s.last {
		return s.c.Row.Name
	}
	return "resample"
}

// interpolate reads the elements next to each point, and weighs them.
func (s *resample) interpolate(group []*resizedAxis) {
	index := te.AxisVars(s.axes)
	places := make([]*spot, len(group))
	for i, a := range group {
		places[i] = s.place(a)
	}
	e := s.weighted(group, places, index)
	for _, p := range places {
		if p.out != nil {
			e = sel(p.out, num(e, s.extrapolation), e)
		}
	}
	for _, p := range places {
		if p.bind != nil {
			e = p.bind(e)
		}
	}
	s.stage(s.name(), s.result(e), nil, nil)
}

// weighted is the sum over the last axis' elements of the sums over the others': neighbours along that axis, which mostly lie side by side, share those.
func (s *resample) weighted(group []*resizedAxis, places []*spot, index []sym.Expr) te.Expr {
	if len(group) == 0 {
		if e := s.load(index); s.mode == "nearest" || len(s.changed) == 0 {
			return e
		} else {
			return cast(s.t, e)
		}
	}
	last := len(group) - 1
	a, p := group[last], places[last]
	read := func(at sym.Expr) te.Expr {
		moved := slices.Clone(index)
		moved[a.k] = at
		return s.weighted(group[:last], places[:last], moved)
	}
	if s.mode == "nearest" {
		return read(s.inside(a, p.base, p.exact))
	}
	first, weights := interpolation(s.mode, p.t, s.cubicA)
	if s.exclude {
		weights = s.excluded(a, p.base, first, weights)
	}
	return weigh(weights, func(n int) te.Expr {
		return read(s.inside(a, sym.Add(p.base, sym.Const(int64(first+n))), false))
	})
}

// excluded makes the weights outside of the tensor 0 and the others' sum 1.
func (s *resample) excluded(a *resizedAxis, base sym.Expr, first int, ws []te.Expr) []te.Expr {
	out := make([]te.Expr, len(ws))
	var sum te.Expr
	for n, w := range ws {
		out[n] = s.unlessOutside(a, sym.Add(base, sym.Const(int64(first+n))), w)
		if sum == nil {
			sum = out[n]
		} else {
			sum = add(sum, out[n])
		}
	}
	for n := range out {
		out[n] = div(out[n], oneForZero(sum))
	}
	return out
}

func (s *resample) unlessOutside(a *resizedAxis, at sym.Expr, w te.Expr) te.Expr {
	return te.Select{Cond: []te.Within{{E: at, Lo: sym.Const(0), Hi: a.in}}, Then: w, Else: num(w, 0)}
}

// oneForZero replaces a sum of weights that are all 0.
func oneForZero(sum te.Expr) te.Expr { return sel(test("eq", sum, num(sum, 0)), num(sum, 1), sum) }

// inside is the index nearest to at in the tensor.
func (s *resample) inside(a *resizedAxis, at sym.Expr, exact bool) sym.Expr {
	if exact {
		return at
	}
	last := sym.Sub(a.in, sym.Const(1))
	// Indices grow along the axis: its ends tell whether they leave the tensor.
	end := func(i sym.Expr) sym.Expr { return at.Subst(map[string]sym.Expr{s.axisVar(a): i}, s.facts) }
	low := !sym.AtLeast(end(sym.Const(0)), 0, s.facts)
	high := !sym.AtMost(sym.Sub(end(sym.Sub(a.out, sym.Const(1))), last), 0, s.facts)
	if low {
		at = sym.Max(at, sym.Const(0), s.facts)
	}
	if high {
		at = sym.Min(at, last, s.facts)
	}
	return at
}

// filter is antialiased: the filter is as wide as the elements that become one. Its
// weights depend on the axis alone.
func (s *resample) filter(a *resizedAxis) {
	radius := int64(1)
	if s.mode == "cubic" {
		radius = 2
	}
	shrink := sym.CeilDiv(sym.Scale(a.scale.den, radius), a.scale.num, s.facts)
	half := sym.Max(shrink, sym.Const(radius), s.facts)
	taps := reduceAxes(ir.Shape{sym.Scale(half, 2)})
	along := func(p *spot, r sym.Expr) sym.Expr { return sym.Add(p.base, sym.Const(1), sym.Scale(half, -1), r) }

	n := len(s.m.Stages)
	alone := *s
	alone.axes = []te.Axis{s.axes[a.k], {Var: "j", Extent: taps[0].Extent}}
	p := alone.place(a)
	w := s.filterWeight(a, p, sym.Sub(along(p, sym.Var("j")), p.base))
	if s.exclude {
		w = s.unlessOutside(a, along(p, sym.Var("j")), w)
	}
	if p.bind != nil {
		w = p.bind(w)
	}
	s.m.Stages = append(s.m.Stages, &te.Stage{Name: "weights", Axes: alone.axes, Results: []te.Expr{w}})
	s.m.Stages = append(s.m.Stages, &te.Stage{
		Name: "sum of weights", Axes: alone.axes[:1], Reduce: taps, Combine: te.Sum(s.t),
		Values:  []te.Expr{te.FromStage(n, s.t, iv(a.k), rv(0))},
		Results: []te.Expr{oneForZero(te.Acc{Type: s.t})},
	})

	p = s.place(a)
	index := te.AxisVars(s.axes)
	index[a.k] = s.inside(a, along(p, rv(0)), false)
	value := mul(te.FromStage(n, s.t, iv(a.k), rv(0)), cast(s.t, s.load(index)))
	if p.bind != nil {
		value = p.bind(value)
	}
	e := te.Expr(div(te.Acc{Type: s.t}, te.FromStage(n+1, s.t, iv(a.k))))
	if p.out != nil {
		e = sel(p.out, num(e, s.extrapolation), e)
	}
	s.stage(s.name(), s.result(e), taps, value)
}

// filterWeight is the weight of the element that is offset behind the point's base.
func (s *resample) filterWeight(a *resizedAxis, p *spot, offset sym.Expr) te.Expr {
	narrow := call("min", quotient(s.t, a.scale.num, a.scale.den), te.Number(s.t, 1))
	d := call("abs", mul(sub(count(s.t, offset), p.t), narrow))
	zero, one := num(d, 0), num(d, 1)
	if s.mode == "linear" {
		return call("max", sub(one, d), zero)
	}
	far := sel(test("lt", d, num(d, 2)), cubicFar(d, s.cubicA), zero)
	return sel(test("le", d, one), cubicNear(d, s.cubicA), far)
}

// place gives the element that the point of the axis lies at or behind.
func (s *resample) place(a *resizedAxis) *spot {
	if s.coords == "tf_crop_and_resize" {
		return s.cropped(a)
	}
	x := s.coordinate(a, iv(a.k))
	if s.mode != "nearest" {
		return &spot{base: x.floor(s.facts), t: x.fraction(s.t, s.facts)}
	}
	return &spot{base: s.rounded(a, x)}
}

func (s *resample) axisVar(a *resizedAxis) string { return "i" + strconv.Itoa(a.k) }

func (s *resample) rounded(a *resizedAxis, x frac) sym.Expr {
	switch s.nearest {
	case "round_prefer_floor":
		return x.plusHalf(-1).ceil(s.facts)
	case "round_prefer_ceil":
		return x.plusHalf(1).floor(s.facts)
	case "ceil":
		return x.ceil(s.facts)
	case "grow": // up where it shrinks
		up := sym.Mul(sym.Below(sym.Sub(a.scale.num, a.scale.den), s.facts), sym.Sub(x.den, sym.Const(1)))
		return sym.FloorDiv(sym.Add(x.num, up), x.den, s.facts)
	}
	return x.floor(s.facts)
}

// coordinate is the exact place of point i of the axis in the operand.
func (s *resample) coordinate(a *resizedAxis, i sym.Expr) frac {
	n, d := a.scale.num, a.scale.den
	one := sym.Const(1)
	middle := sym.Mul(sym.Add(sym.Scale(i, 2), one), d) // 2 * (i + 1/2) * d
	switch s.coords {
	case "asymmetric":
		return frac{sym.Mul(i, d), n}
	case "tf_half_pixel_for_nn":
		return frac{middle, sym.Scale(n, 2)}
	case "align_corners":
		// i * (in - 1) / (width - 1); i is 0 where width is 1
		below := sym.Max(sym.Sub(a.width.num, a.width.den), one, s.facts)
		return frac{sym.Mul(sym.Mul(i, sym.Sub(a.in, one)), a.width.den), below}
	case "half_pixel_symmetric":
		// the middle of the operand is the middle of the result before it was rounded
		center := sym.Mul(sym.Sub(a.in, one), n)
		return frac{sym.Add(center, sym.Mul(sym.Add(sym.Scale(i, 2), one, sym.Scale(a.out, -1)), d)), sym.Scale(n, 2)}
	}
	half := sym.Sub(middle, n)
	if s.coords == "pytorch_half_pixel" { // 0 where the result has one element
		half = sym.Mul(half, sym.Min(sym.Sub(a.out, one), one, s.facts))
	}
	return frac{half, sym.Scale(n, 2)}
}
