package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func gridRows() []*Row {
	return []*Row{
		{
			Name: "GridSample", Versions: []int{16, 20, 22}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", anyType), {Name: "grid", Types: floats}},
			Attrs:  []AttrSpec{intAttr("align_corners"), strAttr("mode"), strAttr("padding_mode")},
			Build:  gridSample,
		},
	}
}

// sampler reads a tensor at points between its elements.
type sampler struct {
	c             *Ctx
	mode, padding string
	corners       bool // the ends -1 and 1 of coordinates are elements, not their borders
	x             ir.Shape
	t             ir.DType // in which coordinates compute
}

func gridSample(c *Ctx) (*Meaning, error) {
	x, grid, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	if len(x) < 3 || len(grid) != len(x) {
		return nil, fmt.Errorf("operands have ranks %d and %d; want equal ranks of at least 3", len(x), len(grid))
	}
	rank := len(x) - 2
	if err := c.require(SameDim, grid[0], x[0], "batch dimension of grid"); err != nil {
		return nil, err
	}
	if err := c.require(SameDim, grid[rank+1], sym.Const(int64(rank)), "last dimension of grid, which has a coordinate for each spatial axis"); err != nil {
		return nil, err
	}
	s := &sampler{c: c, x: x, t: wide(c.Type(1))}
	if err := s.attributes(); err != nil {
		return nil, err
	}
	points := s.points(grid)
	out := axes(append(ir.Shape{x[0], x[1]}, grid[1:rank+1]...))
	at := te.AxisVars(out)
	e := s.element(append([]sym.Expr{at[0]}, at[2:]...), at[0], at[1])
	return stages(points, &te.Stage{Name: "GridSample", Axes: out, Results: []te.Expr{cast(c.Type(0), e)}}), nil
}

func (s *sampler) attributes() error {
	modes := []string{"linear", "nearest", "cubic"}
	if s.c.Version < 20 {
		modes = []string{"bilinear", "nearest", "bicubic"}
	}
	var err error
	if s.mode, err = s.c.choice("mode", modes...); err != nil {
		return err
	}
	if s.padding, err = s.c.choice("padding_mode", "zeros", "border", "reflection"); err != nil {
		return err
	}
	s.corners, err = s.c.flag("align_corners", 0)
	return err
}

// reach is how far outside of the tensor a point's element may be: further out all
// that is read is padding.
const reach = 3

// points is the stage of what all channels share: for each point and spatial axis the
// element at or before it, and how far behind that one it is.
func (s *sampler) points(grid ir.Shape) *te.Stage {
	rank := len(s.x) - 2
	st := &te.Stage{Name: "points", Axes: axes(grid[:rank+1])}
	for k := range rank {
		// coordinates are listed from the last axis to the first
		n := append(te.AxisVars(st.Axes), sym.Const(int64(rank-1-k)))
		x := s.padded(s.scaled(cast(s.t, te.Operand(1, s.c.Type(1), n...)), s.x[2+k]), s.x[2+k])
		st.Results = append(st.Results, s.split(x, s.x[2+k])...)
	}
	return st
}

// scaled makes an element's number of a coordinate from -1 to 1 along an axis of extent d.
func (s *sampler) scaled(n te.Expr, d sym.Expr) te.Expr {
	half, one := num(n, 0.5), num(n, 1)
	var x te.Expr
	if s.corners {
		x = mul(mul(add(n, one), half), count(s.t, sym.Sub(d, sym.Const(1))))
	} else {
		x = mul(sub(mul(add(n, one), count(s.t, d)), one), half)
	}
	if s.mode == "nearest" {
		return call("round", x)
	}
	return x
}

// padded moves a point that is outside of the tensor's borders, unless zeros are there.
func (s *sampler) padded(x te.Expr, d sym.Expr) te.Expr {
	if s.padding == "zeros" {
		return x
	}
	lo, hi := num(x, -0.5), sub(count(s.t, d), num(x, 0.5))
	last := count(s.t, sym.Sub(d, sym.Const(1)))
	if s.corners {
		lo, hi = num(x, 0), last
	}
	inner := call("min", call("max", x, num(x, 0)), last)
	if s.padding == "reflection" {
		period := mul(num(x, 2), sub(hi, lo))
		at := call("mod", sub(x, lo), period)
		inner = add(lo, call("min", at, sub(period, at)))
	}
	outside := te.Fn(ir.Bool, "or", test("lt", x, lo), test("gt", x, hi))
	return sel(outside, inner, x)
}

// split is the element at or before a point of an axis of extent d, and how far behind
// that one the point is.
func (s *sampler) split(x te.Expr, d sym.Expr) []te.Expr {
	x = call("min", call("max", x, num(x, -reach)), count(s.t, sym.Add(d, sym.Const(reach-1))))
	base := call("floor", x)
	return []te.Expr{cast(ir.I64, base), sub(x, base)}
}

// element is the sum of the elements around point `at` of stage 0, by their weights.
func (s *sampler) element(at []sym.Expr, batch, channel sym.Expr) te.Expr {
	e := s.sum(at, floating(s.c.Type(0)), []sym.Expr{batch, channel}, nil)
	for k := len(s.x) - 3; k >= 0; k-- {
		base := te.Load{Source: te.Source{Stage: true, Part: 2 * k}, Type: ir.I64, Index: at}
		e = te.Let{
			Var: gv(k).String(), Value: base, Body: e,
			Lo: sym.Const(-reach), Hi: sym.Add(s.x[2+k], sym.Const(reach-1)),
		}
	}
	return e
}

// sum weighs elements along the next axis, each a sum along the later ones.
func (s *sampler) sum(at []sym.Expr, t ir.DType, index []sym.Expr, guard []te.Within) te.Expr {
	k := len(index) - 2
	if k == len(s.x)-2 {
		return s.read(t, index, guard)
	}
	if s.mode == "nearest" {
		i, g := s.inside(gv(k), s.x[2+k])
		return s.sum(at, t, append(index[:len(index):len(index)], i), append(guard[:len(guard):len(guard)], g...))
	}
	frac := cast(t, te.Load{Source: te.Source{Stage: true, Part: 2*k + 1}, Type: s.t, Index: at})
	first, weights := interpolation(s.mode, frac, -0.75)
	return weigh(weights, func(n int) te.Expr {
		i, g := s.inside(sym.Add(gv(k), sym.Const(int64(first+n))), s.x[2+k])
		return s.sum(at, t, append(index[:len(index):len(index)], i), append(guard[:len(guard):len(guard)], g...))
	})
}

func (s *sampler) read(t ir.DType, index []sym.Expr, guard []te.Within) te.Expr {
	typ := s.c.Type(0)
	load := guarded(0, typ, index, guard, te.Number(typ, 0))
	if s.mode == "nearest" {
		return load
	}
	return cast(t, load)
}

// inside is an index in an axis of extent d, by the padding, or under a guard.
func (s *sampler) inside(at, d sym.Expr) (sym.Expr, []te.Within) {
	f, one := s.facts(), sym.Const(1)
	last := sym.Sub(d, one)
	switch s.padding {
	case "zeros":
		return at, []te.Within{{E: at, Lo: sym.Const(0), Hi: d}}
	case "border":
		return sym.Min(sym.Max(at, sym.Const(0), f), last, f), nil
	}
	period, shift := sym.Scale(d, 2), one
	if s.corners { // element -1 is element 1
		period, shift = sym.Max(sym.Scale(last, 2), one, f), sym.Const(0)
	}
	m := sym.Mod(at, period, f)
	back := sym.Max(sym.Sub(sym.Sub(period, shift), m), sym.Const(0), f)
	return sym.Min(sym.Min(m, back, f), last, f), nil
}

// facts say that points may be before the first element.
func (s *sampler) facts() sym.Facts {
	f := s.c.with()
	for k, d := range s.x[2:] {
		_, hi := d.Bounds(s.c.Facts)
		f[gv(k).String()] = sym.Range{Lo: -reach, Hi: min(hi, sym.MaxDim) + reach - 1}
	}
	return f
}
