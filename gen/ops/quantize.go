package ops

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Types of quantized tensors. ONNX's floats of 8 bits and less and integers of 4 and 2
// bits are no element types.
var (
	quantized   = []ir.DType{ir.I8, ir.U8, ir.I16, ir.U16}
	quantized8  = []ir.DType{ir.I8, ir.U8}
	shortFloats = []ir.DType{ir.F16, ir.BF16, ir.F32}
	single      = []ir.DType{ir.F32}
)

func quantizeRows() []*Row {
	like := func(v string, p Param) Param { p.Like = v; return p }
	sources := slices.Concat(shortFloats, []ir.DType{ir.I32})
	versions := []int{10, 13, 19, 21, 23, 24, 25, 28}
	return []*Row{
		{
			Name: "QuantizeLinear", Versions: versions, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				in("x", sources),
				until(13, Param{Name: "y_scale", Types: single}), since(19, until(21, in("y_scale", sources))),
				since(23, Param{Name: "y_scale", Types: sources}),
				opt(Param{Name: "y_zero_point", Types: quantized}),
			},
			Attrs: []AttrSpec{
				intAttr("axis").from(13), intAttr("saturate").from(19), intAttr("block_size").from(21),
				intAttr("output_dtype").from(21), intAttr("precision").from(23),
			},
			Build: quantizeLinear,
		},
		{
			Name: "DequantizeLinear", Versions: versions, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				in("x", slices.Concat(quantized, []ir.DType{ir.I32})), like("scale", in("x_scale", shortFloats)),
				opt(in("x_zero_point", slices.Concat(quantized, []ir.DType{ir.I32}))),
			},
			Attrs: []AttrSpec{intAttr("axis").from(13), intAttr("block_size").from(21), intAttr("output_dtype").from(23)},
			Build: dequantizeLinear,
		},
		{
			Name: "DynamicQuantizeLinear", Versions: []int{11}, MinOutputs: 3, MaxOutputs: 3,
			Inputs: []Param{in("x", single)}, Build: dynamicQuantizeLinear,
		},
	}
}

// saturated is round(x) + zero in type t, saturated. Half types hold no zero point of 16
// bits, so the sum is wide; where that rounds it, the sum is out of t's range anyway.
func saturated(t ir.DType, x, zero te.Expr) te.Expr {
	e := cast(wide(x.DType()), call("round", x))
	if zero != nil {
		e = add(e, cast(e.DType(), zero))
	}
	return cast(t, e)
}

// quantizeLinear is saturate(round(x / scale) + zero point).
func quantizeLinear(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	t, err := c.quantizedType()
	if err != nil {
		return nil, err
	}
	precision, err := c.precision()
	if err != nil {
		return nil, err
	}
	if _, err := c.flag("saturate", 1); err != nil { // of floats of 8 bits only
		return nil, err
	}
	scale, zero, err := c.granular(x)
	if err != nil {
		return nil, err
	}
	as := axes(x)
	q := cast(precision, c.load0(te.AxisVars(as)...))
	if !isOne(c.Node.Inputs[1]) { // by one, as of sums that factors have scaled, it would be a division for nothing
		q = div(q, cast(precision, scale))
	}
	return one("QuantizeLinear", as, saturated(t, q, zero)), nil
}

// isOne reports whether a value is known to be 1.
func isOne(v *ir.Value) bool {
	if v.Const == nil || v.Const.Type != ir.F32 || v.Const.Len() != 1 {
		return false
	}
	b, err := v.Const.Bytes()
	return err == nil && binary.LittleEndian.Uint32(b) == math.Float32bits(1)
}

// quantizedType is the type of the zero point, or that which the node names.
func (c *Ctx) quantizedType() (ir.DType, error) {
	t := ir.U8
	if c.Has(2) {
		t = c.Type(2)
	}
	if c.Node.Int("output_dtype", 0) == 0 {
		return t, nil
	}
	named, err := c.typeAttr("output_dtype")
	switch {
	case err != nil:
		return t, err
	case !slices.Contains(quantized, named):
		return t, fmt.Errorf("attribute output_dtype is %s; supported are %s", named, typeNames(quantized))
	case c.Has(2) && named != t:
		return t, fmt.Errorf("attribute output_dtype is %s; the zero point has type %s", named, t)
	}
	return named, nil
}

// precision is the type in which QuantizeLinear divides: the scale's, unless the node
// names one. Integers divide as doubles.
func (c *Ctx) precision() (ir.DType, error) {
	if c.Node.Int("precision", 0) == 0 {
		if t := c.Type(1); t.IsFloat() {
			return t, nil
		}
		return ir.F64, nil
	}
	t, err := c.typeAttr("precision")
	if err == nil && !t.IsFloat() {
		err = fmt.Errorf("attribute precision is %s; supported are %s", t, typeNames(floats))
	}
	return t, err
}

// dequantizeLinear is (x - zero point) * scale, rounded once.
func dequantizeLinear(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	t := c.Type(1)
	if c.Node.Int("output_dtype", 0) != 0 {
		if t, err = c.typeAttr("output_dtype"); err != nil {
			return nil, err
		}
		if !slices.Contains(shortFloats, t) {
			return nil, fmt.Errorf("attribute output_dtype is %s; supported are %s", t, typeNames(shortFloats))
		}
	}
	scale, zero, err := c.granular(x)
	if err != nil {
		return nil, err
	}
	as := axes(x)
	e := cast(ir.I32, c.load0(te.AxisVars(as)...))
	if zero != nil {
		e = sub(e, cast(ir.I32, zero))
	}
	return one("DequantizeLinear", as, cast(t, mul(cast(ir.F32, e), cast(ir.F32, scale)))), nil
}

// granular are the scale and the zero point (nil where absent), operands 1 and 2, at a
// point of x: numbers, or one for each index of an axis, or for each block along it.
func (c *Ctx) granular(x ir.Shape) (scale, zero te.Expr, err error) {
	block := c.Node.Int("block_size", 0)
	if block < 0 || block > sym.MaxDim {
		return nil, nil, fmt.Errorf("attribute block_size is %d; want 1 to %d, or 0 for no blocks", block, int64(sym.MaxDim))
	}
	if scale, err = c.granule(1, x, block); err != nil || !c.Has(2) {
		return scale, nil, err
	}
	zero, err = c.granule(2, x, block)
	return scale, zero, err
}

func (c *Ctx) granule(i int, x ir.Shape, block int64) (te.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, err
	}
	blocks := block > 0 && len(s) == len(x) && len(x) > 1 // of as many axes, where a block may have a single number
	if single, ok := c.soleElement(i, s); ok && !blocks {
		return single, nil
	}
	if c.Version < 13 {
		return nil, fmt.Errorf("operand %d has shape %v; definition %d of the operator supports only a single number", i, s, c.Version)
	}
	axis := 0
	if len(x) != 1 || c.Node.Has("axis") { // of one axis, the default of 1 is not meant
		if axis, err = c.axisAttr("axis", 1, len(x)); err != nil {
			return nil, err
		}
	}
	switch {
	case block > 0:
		return c.blocked(i, s, x, axis, block)
	case len(s) != 1:
		return nil, fmt.Errorf("operand %d has rank %d; want rank 0 or 1 without attribute block_size", i, len(s))
	}
	at, err := c.oneOrEach(s[0], x[axis], iv(axis), "extent of operand %d, which has an element for each index of axis %d", i, axis)
	return te.Operand(i, c.Type(i), at), err
}

// oneOrEach is the index at which a dimension d is read at a point of an axis: d is 1 or the axis's extent, and
// which of them only the run may know.
func (c *Ctx) oneOrEach(d, extent, at sym.Expr, format string, args ...any) (sym.Expr, error) {
	switch {
	case d.Is(1):
		return sym.Const(0), nil
	case d.Equal(extent) || c.isNot(d, 1):
		return at, c.require(SameDim, d, extent, format, args...)
	}
	if err := c.require(Broadcastable, d, extent, format, args...); err != nil {
		return at, err
	}
	if err := c.require(SameDim, c.joined(d, extent), extent, format, args...); err != nil {
		return at, err
	}
	return sym.Min(at, sym.Sub(d, sym.Const(1)), c.Facts), nil
}

// soleElement loads an operand that certainly has one element.
func (c *Ctx) soleElement(i int, s ir.Shape) (te.Expr, bool) {
	if !product(s...).Is(1) {
		return nil, false
	}
	return te.Operand(i, c.Type(i), slices.Repeat([]sym.Expr{sym.Const(0)}, len(s))...), true
}

func (c *Ctx) blocked(i int, s, x ir.Shape, axis int, block int64) (te.Expr, error) {
	if len(s) != len(x) {
		return nil, fmt.Errorf("operand %d has rank %d; want that of operand 0, %d, with attribute block_size", i, len(s), len(x))
	}
	as := axes(x)
	at := te.AxisVars(as)
	for k, d := range x {
		if k == axis {
			d = sym.CeilDiv(d, sym.Const(block), c.Facts)
			at[k] = sym.FloorDiv(at[k], sym.Const(block), c.with(as))
		}
		const what = "dimension %d of operand %d, in blocks of %d along axis %d"
		var err error
		if len(x) == 1 { // a single number is one for all
			at[k], err = c.oneOrEach(s[k], d, at[k], what, k, i, block, axis)
		} else {
			err = c.require(SameDim, s[k], d, what, k, i, block, axis)
		}
		if err != nil {
			return nil, err
		}
	}
	return te.Operand(i, c.Type(i), at...), nil
}

// dynamicQuantizeLinear quantizes to u8 such that the range of x, widened to hold 0, fits.
func dynamicQuantizeLinear(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	as := axes(x)
	red := reduceAxes(x)
	if len(red) == 0 { // a single element is reduced, too
		red = reduceAxes(ir.Shape{sym.Const(1)})
	}
	t := ir.F32
	load := te.Operand(0, t, te.AxisVars(red)[:len(x)]...)
	// A reduction each, which are computed in vectors, as one of both is not.
	extreme := func(name string, combine *te.Combiner) *te.Stage {
		bounded := call(name, te.Acc{Type: t}, te.Float(t, 0))
		return &te.Stage{Name: name, Reduce: red, Combine: combine, Values: []te.Expr{load}, Results: []te.Expr{bounded}}
	}
	part := func(stage, k int, t ir.DType) te.Expr {
		return te.Load{Source: te.Source{Stage: true, N: stage, Part: k}, Type: t, Index: []sym.Expr{}}
	}
	hi, lo := part(0, 0, t), part(1, 0, t)
	// Any scale does where all is zero; a scale of zero would make its quotients NaN.
	span := sel(test("eq", hi, lo), te.Float(t, 1), sub(hi, lo))
	scale := div(span, te.Float(t, 255))
	steps := &te.Stage{Name: "scale", Results: []te.Expr{scale, saturated(ir.U8, call("neg", div(lo, scale)), nil)}}
	y := saturated(ir.U8, div(c.load0(te.AxisVars(as)...), part(2, 0, t)), part(2, 1, ir.U8))
	m := stages(extreme("max", te.Max(t)), extreme("min", te.Min(t)), steps, &te.Stage{Name: "DynamicQuantizeLinear", Axes: as, Results: []te.Expr{y}})
	m.Outputs = append(m.Outputs, te.Source{Stage: true, N: 2}, te.Source{Stage: true, N: 2, Part: 1})
	return m, nil
}
