package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

func resizeRows() []*Row {
	return []*Row{
		{
			Name: "Resize", Versions: []int{10, 11, 13, 18, 19}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				in("X", anyType),
				until(10, structural("scales", f32s)),
				since(11, until(12, Param{Name: "roi", Types: roiTypes})), since(13, opt(Param{Name: "roi", Types: roiTypes})),
				since(11, until(12, structural("scales", f32s))), since(13, opt(structural("scales", f32s))),
				since(11, opt(structural("sizes", int64s))),
			},
			Attrs: []AttrSpec{
				strAttr("mode"), strAttr("coordinate_transformation_mode").from(11), floatAttr("cubic_coeff_a").from(11),
				intAttr("exclude_outside").from(11), floatAttr("extrapolation_value").from(11), strAttr("nearest_mode").from(11),
				intAttr("antialias").from(18), intsAttr("axes").from(18), strAttr("keep_aspect_ratio_policy").from(18),
			},
			Build: resize,
		},
		{
			Name: "Upsample", Versions: []int{7, 9, 10}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", slices.Concat(bools, oldNumbers)), since(9, structural("scales", f32s))},
			Attrs:  []AttrSpec{strAttr("mode"), AttrSpec{Name: "scales", Zero: []float32(nil)}.until(8).required()},
			Build:  upsample,
		},
	}
}

var (
	f32s     = []ir.DType{ir.F32}
	roiTypes = []ir.DType{ir.F16, ir.F32, ir.F64}
)

// resizing is one Resize: what its attributes say, and the axes that change.
type resizing struct {
	c                     *Ctx
	mode, nearest, coords string
	antialias, exclude    bool
	cubicA, extrapolation float64
	x, out                ir.Shape
	changed               []*resizedAxis // ascending
	roi                   int            // the operand, 0 where none is read
	roiLen                int            // how many axes it speaks of
	typ, t                ir.DType       // of elements, and in which weights compute
}

// resizedAxis is an axis whose coordinates change.
type resizedAxis struct {
	k, listed int // its number, and its place among the axes that operands speak of
	in, out   sym.Expr
	scale     frac
	width     frac // scale * in: out before it was rounded
}

func upsample(c *Ctx) (*Meaning, error) {
	mode, err := c.choice("mode", "nearest", "linear")
	if err != nil {
		return nil, err
	}
	scales := c.Node.Floats("scales")
	if c.Version >= 9 {
		if scales, err = c.floatsOperand(1); err != nil {
			return nil, err
		}
	}
	return c.oldResize(mode, scales)
}

// oldResize is the meaning before definition 11: coordinates are multiples of 1/scale,
// rounded down when the tensor grows and up when it shrinks.
func (c *Ctx) oldResize(mode string, scales []float32) (*Meaning, error) {
	r, err := c.newResizing(mode, "asymmetric")
	if err != nil {
		return nil, err
	}
	r.nearest = "grow"
	if err := r.scaled(between(0, len(r.x)), scales); err != nil {
		return nil, err
	}
	return r.build()
}

func (c *Ctx) newResizing(mode, coords string) (*resizing, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	typ := c.Type(0)
	return &resizing{c: c, mode: mode, coords: coords, x: x, out: slices.Clone(x), typ: typ, t: floating(typ)}, nil
}

func resize(c *Ctx) (*Meaning, error) {
	if c.Version < 11 {
		mode, err := c.choice("mode", "nearest", "linear")
		if err != nil {
			return nil, err
		}
		scales, err := c.floatsOperand(1)
		if err != nil {
			return nil, err
		}
		return c.oldResize(mode, scales)
	}
	r, err := c.resizeAttrs()
	if err != nil {
		return nil, err
	}
	list := between(0, len(r.x))
	if c.Node.Has("axes") {
		if list, err = normAxes("attribute axes", c.Node.Ints("axes"), len(r.x)); err != nil {
			return nil, err
		}
	}
	if err := r.readRoi(list); err != nil {
		return nil, err
	}
	if err := r.target(list); err != nil {
		return nil, err
	}
	return r.build()
}

func (c *Ctx) resizeAttrs() (*resizing, error) {
	mode, err := c.choice("mode", "nearest", "linear", "cubic")
	if err != nil {
		return nil, err
	}
	modes := []string{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"}
	switch {
	case c.Version < 13:
		modes = append(modes, "tf_half_pixel_for_nn")
	case c.Version >= 19:
		modes = append(modes, "half_pixel_symmetric")
	}
	coords, err := c.choice("coordinate_transformation_mode", modes...)
	if err != nil {
		return nil, err
	}
	r, err := c.newResizing(mode, coords)
	if err != nil {
		return nil, err
	}
	if r.nearest, err = c.choice("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"); err != nil {
		return nil, err
	}
	if r.exclude, err = c.flag("exclude_outside", 0); err != nil {
		return nil, err
	}
	if r.antialias, err = c.flag("antialias", 0); err != nil {
		return nil, err
	}
	if r.antialias && mode == "nearest" {
		return nil, fmt.Errorf("attribute antialias is 1 with mode %q; it needs \"linear\" or \"cubic\"", mode)
	}
	r.cubicA = float64(c.Node.Float("cubic_coeff_a", -0.75))
	r.extrapolation = float64(c.Node.Float("extrapolation_value", 0))
	return r, nil
}

// readRoi checks the region that tf_crop_and_resize crops; other modes ignore it.
func (r *resizing) readRoi(list []int) error {
	if r.coords != "tf_crop_and_resize" {
		return nil
	}
	if !r.c.Has(1) {
		return fmt.Errorf("operand 1 (roi) is absent; coordinate_transformation_mode tf_crop_and_resize needs it")
	}
	r.roi, r.roiLen = 1, len(list)
	return r.c.isVector(1, sym.Const(int64(2*len(list))))
}

// target reads scales or sizes, whichever is given and not empty.
func (r *resizing) target(list []int) error {
	given := func(i int) (bool, error) {
		if !r.c.Has(i) {
			return false, nil
		}
		s, err := r.c.Shape(i)
		return err == nil && !product(s...).Is(0), err
	}
	scales, err := given(2)
	if err != nil {
		return err
	}
	sizes, err := given(3)
	switch {
	case err != nil:
		return err
	case scales == sizes:
		return fmt.Errorf("operands 2 (scales) and 3 (sizes): exactly one of them wanted")
	case sizes:
		to, err := r.c.dimsOperand(3)
		if err != nil {
			return err
		}
		return r.sized(list, to)
	}
	xs, err := r.c.floatsOperand(2)
	if err != nil {
		return err
	}
	return r.scaled(list, xs)
}

// floatsOperand are the elements of a structural float32 operand.
func (c *Ctx) floatsOperand(i int) ([]float32, error) {
	v := c.Node.Inputs[i]
	if v.Const == nil {
		return nil, &UnknownError{fmt.Sprintf("the value of operand %d (%q)", i, v.Name)}
	}
	xs, err := literals(v.Const)
	if err != nil {
		return nil, fmt.Errorf("operand %d (%q): %w", i, v.Name, err)
	}
	out := make([]float32, len(xs))
	for k, x := range xs {
		out[k] = float32(float(x))
	}
	return out, nil
}

// scaled multiplies the listed axes; a dimension that is no multiple is rounded down.
func (r *resizing) scaled(list []int, scales []float32) error {
	if len(scales) != len(list) {
		return fmt.Errorf("scales has %d elements for %d axes", len(scales), len(list))
	}
	for i, k := range list {
		s, err := scaleFraction(scales[i])
		if err != nil {
			return err
		}
		width := frac{sym.Mul(r.x[k], s.num), s.den}
		r.add(&resizedAxis{k: k, listed: i, in: r.x[k], out: width.floor(r.c.Facts), scale: s, width: width})
	}
	return nil
}

// sized gives the listed axes sizes, or the greatest or least sizes that keep their
// ratio.
func (r *resizing) sized(list []int, to ir.Shape) error {
	if len(to) != len(list) {
		return fmt.Errorf("operand 3 (sizes) has %d elements for %d axes", len(to), len(list))
	}
	for _, k := range list {
		if err := r.c.require(AtLeast, r.x[k], sym.Const(1), "dimension %d, which is resized to a size", k); err != nil {
			return err
		}
	}
	policy, err := r.c.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
	if err != nil {
		return err
	}
	if policy != "stretch" && len(list) > 0 {
		return r.sizedAlike(list, to, policy == "not_larger")
	}
	for i, k := range list {
		r.add(&resizedAxis{
			k: k, listed: i, in: r.x[k], out: to[i], scale: frac{to[i], r.x[k]}, width: frac{to[i], sym.Const(1)},
		})
	}
	return nil
}

// sizedAlike scales all listed axes by the least (or greatest) of their scales.
func (r *resizing) sizedAlike(list []int, to ir.Shape, least bool) error {
	best := 0
	for i := 1; i < len(list); i++ {
		d := sym.Sub(sym.Mul(to[i], r.x[list[best]]), sym.Mul(to[best], r.x[list[i]]))
		if !least {
			d = sym.Scale(d, -1)
		}
		switch {
		case sym.AtMost(d, -1, r.c.Facts):
			best = i
		case !sym.AtLeast(d, 0, r.c.Facts):
			return &UnknownError{fmt.Sprintf("which of %s/%s and %s/%s is less, as keep_aspect_ratio_policy wants to know,",
				to[best], r.x[list[best]], to[i], r.x[list[i]])}
		}
	}
	s := frac{to[best], r.x[list[best]]}
	for i, k := range list {
		width := frac{sym.Mul(s.num, r.x[k]), s.den}
		out := width.plusHalf(1).floor(r.c.Facts)
		if r.x[k].Equal(s.den) {
			width, out = frac{s.num, sym.Const(1)}, s.num
		}
		r.add(&resizedAxis{k: k, listed: i, in: r.x[k], out: out, scale: s, width: width})
	}
	return nil
}

// add takes an axis up, unless it stays as it is.
func (r *resizing) add(a *resizedAxis) {
	r.out[a.k] = a.out
	if a.scale.isOne() && a.in.Equal(a.out) && r.wholeRoi(a) {
		return
	}
	r.changed = append(r.changed, a)
	slices.SortFunc(r.changed, func(a, b *resizedAxis) int { return a.k - b.k })
}

// wholeRoi tells that the axis is not cropped.
func (r *resizing) wholeRoi(a *resizedAxis) bool {
	if r.roi == 0 {
		return true
	}
	v := r.c.Node.Inputs[r.roi]
	if v.Const == nil {
		return false
	}
	xs, err := literals(v.Const)
	return err == nil && len(xs) == 2*r.roiLen && float(xs[a.listed]) == 0 && float(xs[r.roiLen+a.listed]) == 1
}

// build makes a stage for each group of axes, such that none reads many elements for one.
func (r *resizing) build() (*Meaning, error) {
	taps := map[string]int{"nearest": 1, "linear": 2, "cubic": 4}[r.mode]
	var groups [][]*resizedAxis
	loads := 9
	for _, a := range r.changed {
		if loads *= taps; r.antialiased(a) {
			groups, loads = append(groups, []*resizedAxis{a}), 9
		} else if loads > 8 {
			groups, loads = append(groups, []*resizedAxis{a}), taps
		} else {
			groups[len(groups)-1] = append(groups[len(groups)-1], a)
		}
	}
	if groups == nil {
		groups = append(groups, nil)
	}
	m := &Meaning{}
	shape := slices.Clone(r.x)
	for i, g := range groups {
		s := &resample{resizing: r, before: len(m.Stages) - 1, last: i == len(groups)-1, m: m}
		for _, a := range g {
			shape[a.k] = a.out
		}
		s.axes = axes(shape)
		s.facts = r.c.with(s.axes)
		if len(g) == 1 && r.antialiased(g[0]) {
			s.filter(g[0])
		} else {
			s.interpolate(g)
		}
	}
	m.Outputs = []te.Source{{Stage: true, N: len(m.Stages) - 1}}
	return m, nil
}

// antialiased tells that the axis may shrink, and its filter widens with it.
func (r *resizing) antialiased(a *resizedAxis) bool {
	return r.antialias && !sym.AtLeast(sym.Sub(a.scale.num, a.scale.den), 0, r.c.Facts)
}
