package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func unpoolRows() []*Row {
	return []*Row{{
		Name: "MaxUnpool", Versions: []int{9, 11, 22}, Form: Update, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{in("X", floats), {Name: "I", Types: int64s}, opt(structural("output_shape", int64s))},
		Attrs:  []AttrSpec{intsAttr("kernel_shape").required(), intsAttr("pads"), intsAttr("strides")}, Build: maxUnpool,
	}}
}

// maxUnpool stores elements where a MaxPool found them: positions in the shape that the
// attributes give, which a greater output_shape only surrounds with zeros.
func maxUnpool(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 3 (batch, channel, spatial axes)", len(x))
	}
	if err := c.hasShape(1, x); err != nil {
		return nil, err
	}
	pooled, err := c.unpooled(x)
	if err != nil {
		return nil, err
	}
	to := pooled
	if c.Has(2) {
		if to, err = c.dimsOperand(2); err != nil {
			return nil, err
		}
		if len(to) != len(x) {
			return nil, fmt.Errorf("operand 2 (output_shape) has %d elements; the rank is %d", len(to), len(x))
		}
		for k := range to {
			if err := c.require(AtLeast, to[k], pooled[k], "element %d of operand 2 (output_shape)", k); err != nil {
				return nil, err
			}
		}
	}
	last := sym.Sub(product(pooled...), sym.Const(1))
	_, most := last.Bounds(c.Facts)
	f := c.with()
	f[gv(0).String()] = sym.Range{Lo: 0, Hi: max(0, most)}
	at, stride := make([]sym.Expr, len(x)), sym.Const(1)
	for k := len(x) - 1; k >= 0; k-- {
		if at[k] = sym.FloorDiv(gv(0), stride, f); k > 0 {
			at[k] = sym.Mod(at[k], pooled[k], f)
		}
		stride = sym.Mul(stride, pooled[k])
	}
	as := updateAxes(x)
	point, typ := te.AxisVars(as), c.Type(0)
	m := one("MaxUnpool", axes(to), te.Number(typ, 0))
	m.Stages[0].Update = &te.Update{
		Axes: as, At: at, Join: te.Replace(typ), Value: c.load0(point...),
		Binds: []te.Bind{{Var: gv(0).String(), Value: te.Operand(1, ir.I64, point...), Lo: sym.Const(0), Hi: last}},
	}
	return m, nil
}

// unpooled is the shape of which a window with the attributes makes x.
func (c *Ctx) unpooled(x ir.Shape) (ir.Shape, error) {
	n := len(x) - 2
	kernel, err := c.positives("kernel_shape", n)
	if err != nil {
		return nil, err
	}
	strides, err := c.positives("strides", n)
	if err != nil {
		return nil, err
	}
	pads := make([]int64, 2*n)
	if c.Node.Has("pads") {
		pads = c.Node.Ints("pads")
	}
	if len(pads) != 2*n {
		return nil, fmt.Errorf("attribute pads is %v; want two numbers for each of %d spatial axes", pads, n)
	}
	out := append(ir.Shape{}, x...)
	for k, d := range x[2:] {
		full := sym.Add(sym.Scale(sym.Sub(d, sym.Const(1)), strides[k]), sym.Const(kernel[k]))
		out[2+k] = sym.Sub(sym.Sub(full, sym.Const(pads[k])), sym.Const(pads[n+k]))
		if err := c.require(AtLeast, out[2+k], sym.Const(1), "dimension %d of the result", 2+k); err != nil {
			return nil, err
		}
	}
	return out, nil
}
