package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func sliceRows() []*Row {
	operand := func(name string) Param { return since(10, structural(name, indexing)) }
	padMode := strAttr("mode")
	return []*Row{
		{
			Name: "Slice", Versions: []int{1, 10, 11, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), operand("starts"), operand("ends"), opt(operand("axes")), opt(operand("steps"))},
			Attrs:  []AttrSpec{intsAttr("axes").until(9), intsAttr("starts").until(9).required(), intsAttr("ends").until(9).required()},
			Build:  slice,
		},
		{
			Name: "Pad", Versions: []int{2, 11, 13, 18, 19, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				in("data", anyType), since(11, structural("pads", int64s)), opt(since(11, in("constant_value", anyType))),
				opt(since(18, structural("axes", indexing))),
			},
			Attrs: []AttrSpec{padMode, intsAttr("pads").until(10).required(), floatAttr("value").until(10)},
			Build: pad,
		},
	}
}

// bounds are what a slice takes of one axis.
type bounds struct {
	start, end sym.Expr
	step       int64
}

func slice(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	bs, err := c.sliceBounds(len(x))
	if err != nil {
		return nil, err
	}
	to, index := append(ir.Shape{}, x...), te.AxisVars(axes(x))
	for k := range x {
		b, ok := bs[k]
		if !ok {
			continue
		}
		var start sym.Expr
		if start, to[k], err = c.sliceAxis(k, x[k], b); err != nil {
			return nil, err
		}
		index[k] = sym.Add(start, sym.Scale(iv(k), b.step))
	}
	return one("Slice", axes(to), c.load0(index...)), nil
}

// sliceBounds reads starts, ends, axes and steps, from attributes or operands.
func (c *Ctx) sliceBounds(rank int) (map[int]bounds, error) {
	starts, ends, list, steps, err := c.sliceLists()
	if err != nil {
		return nil, err
	}
	if len(starts) != len(ends) || (list != nil && len(list) != len(starts)) || (steps != nil && len(steps) != len(starts)) {
		return nil, fmt.Errorf("starts, ends, axes and steps have %d, %d, %d and %d elements; want equal numbers", len(starts), len(ends), len(list), len(steps))
	}
	if list == nil {
		if len(starts) > rank {
			return nil, fmt.Errorf("starts has %d elements; the rank is %d", len(starts), rank)
		}
		for k := range starts {
			list = append(list, int64(k))
		}
	}
	ks, err := normAxes("an element of axes", list, rank)
	if err != nil {
		return nil, err
	}
	out := map[int]bounds{}
	for i, k := range ks {
		b := bounds{starts[i], ends[i], 1}
		if steps != nil {
			b.step = max(-beyond, min(beyond, steps[i]))
		}
		out[k] = b
	}
	return out, nil
}

func (c *Ctx) sliceLists() (starts, ends []sym.Expr, list, steps []int64, err error) {
	if c.Version < 10 {
		if c.Node.Has("axes") {
			list = append([]int64{}, c.Node.Ints("axes")...)
		}
		return consts(c.Node.Ints("starts")), consts(c.Node.Ints("ends")), list, nil, nil
	}
	if starts, err = c.Elems(1); err != nil {
		return
	}
	if ends, err = c.Elems(2); err != nil {
		return
	}
	if c.Has(3) {
		if list, err = c.Ints(3); err != nil {
			return
		}
	}
	if c.Has(4) {
		steps, err = c.Ints(4)
	}
	return
}

func consts(xs []int64) []sym.Expr {
	out := make([]sym.Expr, len(xs))
	for i, x := range xs {
		out[i] = sym.Const(x)
	}
	return out
}

// sliceAxis clamps a slice of an axis of extent d, as numpy does, and gives its first
// index and its length.
func (c *Ctx) sliceAxis(k int, d sym.Expr, b bounds) (start, length sym.Expr, err error) {
	if b.step == 0 {
		return d, d, fmt.Errorf("the step along axis %d is 0", k)
	}
	start, end := c.fromEnd(d, b.start), c.fromEnd(d, b.end)
	zero, one := sym.Const(0), sym.Const(1)
	clamp := func(e, lo, hi sym.Expr) sym.Expr { return sym.Min(sym.Max(e, lo, c.Facts), hi, c.Facts) }
	if b.step > 0 {
		start, end = c.within(start, d), c.within(end, d)
		length = sym.CeilDiv(sym.Sub(end, start), sym.Const(b.step), c.Facts)
	} else {
		last := sym.Sub(d, one)
		start, end = clamp(start, zero, last), clamp(end, sym.Const(-1), last)
		length = sym.CeilDiv(sym.Sub(start, end), sym.Const(-b.step), c.Facts)
	}
	return start, sym.Max(length, zero, c.Facts), nil
}

// within clamps an index to 0 and d, d not negative. So many before the end are
// written as a distance from it, which lengths then are.
func (c *Ctx) within(e, d sym.Expr) sym.Expr {
	if sym.AtMost(sym.Sub(e, d), 0, c.Facts) {
		return sym.Sub(d, sym.Min(sym.Sub(d, e), d, c.Facts))
	}
	return sym.Min(sym.Max(e, sym.Const(0), c.Facts), d, c.Facts)
}

// fromEnd adds the extent to an index that is negative.
func (c *Ctx) fromEnd(d, e sym.Expr) sym.Expr {
	e = near(e) // "to the end" is often the greatest integer
	return sym.Add(e, sym.Mul(d, sym.Below(e, c.Facts)))
}

// padding is how many elements an axis gains before and after; negative ones crop.
type padding struct{ before, after sym.Expr }

func pad(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	ps, err := c.paddings(len(x))
	if err != nil {
		return nil, err
	}
	modes := []string{"constant", "reflect", "edge"}
	if c.Version >= 19 {
		modes = append(modes, "wrap")
	}
	mode, err := c.choice("mode", modes...)
	if err != nil {
		return nil, err
	}
	to := make(ir.Shape, len(x))
	for k, p := range ps {
		to[k] = sym.Add(x[k], p.before, p.after)
		if err := c.require(AtLeast, to[k], sym.Const(0), "the padded dimension %d", k); err != nil {
			return nil, err
		}
		if mode != "constant" {
			if err := c.hasElements(c.crop(x[k], p), to[k], mode, k); err != nil {
				return nil, err
			}
		}
	}
	as := axes(to)
	index, guard := c.padIndex(x, as, ps, mode)
	if len(guard) == 0 {
		return one("Pad", as, c.load0(index...)), nil
	}
	def, err := c.padValue()
	if err != nil {
		return nil, err
	}
	return one("Pad", as, guarded(0, c.Type(0), index, guard, def)), nil
}

// cropped is an axis as negative padding leaves it, and the padding that is put around that.
type cropped struct {
	first         sym.Expr // the element of the operand that is the first one left
	extent        sym.Expr // how many are left
	before, after sym.Expr // not negative
}

// crop takes the elements from an axis that negative padding takes: padding repeats none of these.
func (c *Ctx) crop(d sym.Expr, p padding) cropped {
	zero := sym.Const(0)
	first, end := sym.Max(sym.Scale(p.before, -1), zero, c.Facts), sym.Max(sym.Scale(p.after, -1), zero, c.Facts)
	return cropped{
		first: first, extent: sym.Sub(d, sym.Add(first, end)),
		before: sym.Max(p.before, zero, c.Facts), after: sym.Max(p.after, zero, c.Facts),
	}
}

// hasElements requires that an axis which is padded to an extent has an element left to take, unless that is 0.
func (c *Ctx) hasElements(x cropped, to sym.Expr, mode string, k int) error {
	gains, left := sym.Below(sym.Scale(sym.Add(x.before, x.after), -1), c.Facts), x.extent
	if !sym.AtLeast(to, 1, c.Facts) {
		left = sym.Max(left, sym.Sub(sym.Const(1), sym.Min(to, sym.Const(1), c.Facts)), c.Facts)
	}
	if left.Is(0) && gains.Is(1) {
		return fmt.Errorf("attribute mode is %q, but axis %d is empty; want a dimension of at least 1", mode, k)
	}
	return c.require(AtLeast, left, gains, "axis %d, which mode %q reads", k, mode)
}

// paddings reads how much each axis is padded.
func (c *Ctx) paddings(rank int) ([]padding, error) {
	list, err := consts(c.Node.Ints("pads")), error(nil)
	if c.Version >= 11 {
		if list, err = c.Elems(1); err != nil {
			return nil, err
		}
	}
	ks := between(0, rank)
	if c.Has(3) {
		given, err := c.Ints(3)
		if err != nil {
			return nil, err
		}
		if ks, err = normAxes("an element of axes", given, rank); err != nil {
			return nil, err
		}
	}
	if len(list) != 2*len(ks) {
		return nil, fmt.Errorf("pads has %d elements; want two for each of %d axes", len(list), len(ks))
	}
	for i, e := range list {
		if p, ok := e.Const(); ok && (p < -beyond || p > beyond) {
			return nil, fmt.Errorf("element %d of pads is %d; supported are %d to %d", i, p, int64(-beyond), int64(beyond))
		}
	}
	out := slices.Repeat([]padding{{sym.Const(0), sym.Const(0)}}, rank)
	for i, k := range ks {
		out[k] = padding{list[i], list[i+len(ks)]}
	}
	return out, nil
}

// padValue is the element in the padding.
func (c *Ctx) padValue() (te.Expr, error) {
	if c.Version < 11 {
		return te.Number(c.Type(0), float64(c.Node.Float("value", 0))), nil
	}
	if !c.Has(2) {
		return te.Number(c.Type(0), 0), nil
	}
	s, err := c.Shape(2)
	if err != nil {
		return nil, err
	}
	if len(s) > 1 || (len(s) == 1 && !s[0].Is(1)) {
		return nil, fmt.Errorf("operand 2 (constant_value) has shape %v; want a scalar", s)
	}
	return te.Operand(2, c.Type(2), slices.Repeat([]sym.Expr{sym.Const(0)}, len(s))...), nil
}

func (c *Ctx) padIndex(x ir.Shape, as []te.Axis, ps []padding, mode string) (index []sym.Expr, guard []te.Within) {
	f := c.with(as)
	for k, d := range x {
		at := sym.Sub(iv(k), ps[k].before)
		crops := sym.AtMost(ps[k].before, 0, c.Facts) && sym.AtMost(ps[k].after, 0, c.Facts)
		switch {
		case crops || d.Is(0) && mode != "constant":
		case mode == "constant":
			guard = append(guard, te.Within{E: at, Lo: sym.Const(0), Hi: d})
		default:
			at = c.repeated(iv(k), c.crop(d, ps[k]), mode, f)
		}
		index = append(index, at)
	}
	return index, guard
}

// repeated is the element that a result's element i is: of those that are left, by the mode.
func (c *Ctx) repeated(i sym.Expr, x cropped, mode string, f sym.Facts) sym.Expr {
	at, last := sym.Sub(i, x.before), sym.Sub(x.extent, sym.Const(1))
	switch mode {
	case "edge":
		at = sym.Min(sym.Max(at, sym.Const(0), f), last, f)
	case "wrap":
		at = sym.Mod(at, x.extent, f)
	default:
		at = c.reflect(at, last, x, f)
	}
	return sym.Add(x.first, at)
}

// reflect folds an index at both ends of an axis, as often as the padding needs.
func (c *Ctx) reflect(at, last sym.Expr, x cropped, f sym.Facts) sym.Expr {
	if last.Is(0) {
		return last
	}
	period := sym.Scale(last, 2)
	once := sym.AtMost(sym.Sub(x.before, last), 0, c.Facts) && sym.AtMost(sym.Sub(x.after, last), 0, c.Facts)
	if once {
		at = sym.Max(at, sym.Scale(at, -1), f)
	} else {
		at = sym.Mod(at, sym.Max(period, sym.Const(1), f), f)
	}
	return sym.Min(at, sym.Sub(period, at), f)
}
