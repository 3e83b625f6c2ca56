package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Resized is the compiler's own operator that a Resize, or an Upsample, by scales that only a run knows becomes:
// in their place are their numerators, their denominators and the dimensions that they give.
// Fractions makes these numerators and denominators.
const (
	Resized   = "resized"
	Fractions = "fractions"
)

// FractionMost is above all numerators and denominators of scales.
const FractionMost = 1 << 24

func resizeRows() []*Row {
	return []*Row{
		resizeRow("Resize", f32s),
		{
			Name: "Upsample", Versions: []int{7, 9, 10}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", slices.Concat(bools, oldNumbers)), since(9, structural("scales", f32s))},
			Attrs:  []AttrSpec{strAttr("mode"), floatsAttr("scales").until(8).required()},
			Build:  upsample,
		},
	}
}

func resizeRow(name string, scales []ir.DType) *Row {
	return &Row{
		Name: name, Versions: []int{10, 11, 13, 18, 19}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{
			in("X", anyType),
			until(10, structural("scales", scales)),
			since(11, until(12, Param{Name: "roi", Types: roiTypes})), since(13, opt(Param{Name: "roi", Types: roiTypes})),
			since(11, until(12, structural("scales", scales))), since(13, opt(structural("scales", scales))),
			since(11, opt(structural("sizes", int64s))),
		},
		Attrs: []AttrSpec{
			strAttr("mode"), strAttr("coordinate_transformation_mode").from(11), floatAttr("cubic_coeff_a").from(11),
			intAttr("exclude_outside").from(11), floatAttr("extrapolation_value").from(11), strAttr("nearest_mode").from(11),
			intAttr("antialias").from(18), intsAttr("axes").from(18), strAttr("keep_aspect_ratio_policy").from(18),
		},
		Build: resize,
	}
}

var resizedRow = resizeRow(Resized, int64s)

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
	if c.Version >= 9 {
		return c.oldResize(mode, func() ([]scaling, error) { return c.scalesOperand(1) })
	}
	return c.oldResize(mode, func() ([]scaling, error) { return scalings(c.Node.Floats("scales")) })
}

// oldResize is the meaning before definition 11: coordinates are multiples of 1/scale,
// rounded down when the tensor grows and up when it shrinks.
func (c *Ctx) oldResize(mode string, scales func() ([]scaling, error)) (*Meaning, error) {
	r, err := c.newResizing(mode, "asymmetric")
	if err != nil {
		return nil, err
	}
	r.nearest = "grow"
	xs, err := scales()
	if err != nil {
		return nil, err
	}
	if err := r.scaled(between(0, len(r.x)), xs); err != nil {
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
		return c.oldResize(mode, func() ([]scaling, error) { return c.scalesOperand(1) })
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

// build makes a stage for each group of axes, such that none reads many elements for one.
func (r *resizing) build() (*Meaning, error) {
	if product(r.out...).Is(0) { // there is no element to read from, nor a scale of an axis of none
		return one(r.c.Row.Name, axes(r.out), te.Number(r.typ, 0)), nil
	}
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

// antialiased reports whether the axis may shrink, and its filter widens with it.
func (r *resizing) antialiased(a *resizedAxis) bool {
	return r.antialias && !sym.AtLeast(sym.Sub(a.scale.num, a.scale.den), 0, r.c.Facts)
}
