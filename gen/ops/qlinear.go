package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// qlinearRows are products of quantized tensors: sums of i32, which QLinear* scale to
// the result's type.
func qlinearRows() []*Row {
	typed := func(name, like string, types []ir.DType) Param { return Param{Name: name, Types: types, Like: like} }
	scale := func(name string) Param { return typed(name, "TS", shortFloats) }
	q := func(name, like string) Param { return typed(name, like, quantized8) }
	convAttrs := append(windowAttrs(), intsAttr("dilations"), intAttr("group"))
	return []*Row{
		{
			Name: "ConvInteger", Versions: []int{10}, MinOutputs: 1, MaxOutputs: 1, Attrs: convAttrs,
			Inputs:  []Param{q("x", "T1"), q("w", "T2"), opt(q("x_zero_point", "T1")), opt(q("w_zero_point", "T2"))},
			Weights: &Weights{Operand: 1, Kernel: true},
			Build:   convInteger,
		},
		{
			Name: "MatMulInteger", Versions: []int{10}, MinOutputs: 1, MaxOutputs: 1,
			Inputs:  []Param{q("A", "T1"), q("B", "T2"), opt(q("a_zero_point", "T1")), opt(q("b_zero_point", "T2"))},
			Weights: &Weights{Operand: 1, channelsFirst: always},
			Build:   matmulInteger,
		},
		{
			Name: "QLinearConv", Versions: []int{10}, MinOutputs: 1, MaxOutputs: 1, Attrs: convAttrs,
			Inputs: []Param{
				q("x", "T1"), {Name: "x_scale", Types: single}, q("x_zero_point", "T1"),
				q("w", "T2"), {Name: "w_scale", Types: single}, q("w_zero_point", "T2"),
				{Name: "y_scale", Types: single}, q("y_zero_point", "T3"), opt(Param{Name: "B", Types: []ir.DType{ir.I32}}),
			},
			Weights: &Weights{Operand: 3, Bias: 8, Kernel: true},
			Build:   qlinearConv,
		},
		{
			Name: "QLinearMatMul", Versions: []int{10, 21}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				q("a", "T1"), scale("a_scale"), q("a_zero_point", "T1"), q("b", "T2"), scale("b_scale"), q("b_zero_point", "T2"),
				scale("y_scale"), q("y_zero_point", "T3"),
			},
			Weights: &Weights{Operand: 3, channelsFirst: always},
			Build:   qlinearMatmul,
		},
	}
}

// quant is an element of a quantized operand, and its zero point.
type quant struct {
	value te.Expr
	zero  te.Expr // nil: 0
}

// centred is the operand minus its zero point.
func (q quant) centred() te.Expr {
	e := cast(ir.I32, q.value)
	if q.zero != nil {
		e = sub(e, cast(ir.I32, q.zero))
	}
	return e
}

// sumOfProducts is the stage of an i32 sum of a*b.
func sumOfProducts(name string, as, red []te.Axis, a, b quant, result func(sum te.Expr) te.Expr) *Meaning {
	return stages(&te.Stage{
		Name: name, Axes: as, Reduce: red, Combine: te.Sum(ir.I32),
		Values: []te.Expr{mul(a.centred(), b.centred())}, Results: []te.Expr{result(te.Acc{Type: ir.I32})},
	})
}

// numberOperand is operand i, which must have one element.
func (c *Ctx) numberOperand(i int) (te.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, err
	}
	if e, ok := c.soleElement(i, s); ok {
		return e, nil
	}
	return nil, fmt.Errorf("operand %d has shape %v; want one number", i, s)
}

// numberOrVector is operand i: one number, or one for each index of an axis of the extent.
func (c *Ctx) numberOrVector(i int, extent, at sym.Expr) (te.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, err
	}
	if e, ok := c.soleElement(i, s); ok {
		return e, nil
	}
	if len(s) != 1 {
		return nil, fmt.Errorf("operand %d has rank %d; want one number or rank 1", i, len(s))
	}
	at, err = c.oneOrEach(s[0], extent, at, "extent of operand %d", i)
	return te.Operand(i, c.Type(i), at), err
}

// quantConv is a convolution of operands x and w, whose zero points are operands xz and wz.
func (c *Ctx) quantConv(x, xz, w, wz int) (v *convolution, data, weight quant, channels sym.Expr, err error) {
	var xs, ws ir.Shape
	if xs, err = c.Shape(x); err != nil {
		return
	}
	if ws, err = c.Shape(w); err != nil {
		return
	}
	if v, err = c.newConvolution(xs, ws); err != nil {
		return
	}
	channels = ws[0]
	padding := te.Expr(te.Int(c.Type(x), 0))
	if c.Has(xz) {
		if data.zero, err = c.numberOperand(xz); err != nil {
			return
		}
		padding = data.zero // what is padded is zero after the subtraction
	}
	if c.Has(wz) {
		if weight.zero, err = c.numberOrVector(wz, channels, iv(1)); err != nil {
			return
		}
	}
	data.value = guarded(x, c.Type(x), v.data, v.guard, padding)
	weight.value = te.Operand(w, c.Type(w), v.weight...)
	return
}

func convInteger(c *Ctx) (*Meaning, error) {
	v, data, weight, _, err := c.quantConv(0, 2, 1, 3)
	if err != nil {
		return nil, err
	}
	return sumOfProducts("ConvInteger", v.as, v.red, data, weight, func(sum te.Expr) te.Expr { return sum }), nil
}

// requantized scales a sum: saturate(round(sum * (a*b/y)) + zero point) in the zero point's type.
func requantized(sum, a, b, y, zero te.Expr) te.Expr {
	factor := div(mul(cast(ir.F32, a), cast(ir.F32, b)), cast(ir.F32, y))
	return saturated(zero.DType(), mul(cast(ir.F32, sum), factor), zero)
}

func qlinearConv(c *Ctx) (*Meaning, error) {
	v, data, weight, channels, err := c.quantConv(0, 2, 3, 5)
	if err != nil {
		return nil, err
	}
	ws, err := c.numberOrVector(4, channels, iv(1))
	if err != nil {
		return nil, err
	}
	n, err := c.numberOperands(1, 6, 7)
	if err != nil {
		return nil, err
	}
	if c.Has(8) {
		if err := c.isVector(8, channels); err != nil {
			return nil, err
		}
	}
	return sumOfProducts("QLinearConv", v.as, v.red, data, weight, func(sum te.Expr) te.Expr {
		if c.Has(8) {
			sum = add(sum, te.Operand(8, ir.I32, iv(1)))
		}
		return requantized(sum, n[0], ws, n[1], n[2])
	}), nil
}

// numberOperands are the operands, one number each.
func (c *Ctx) numberOperands(is ...int) ([]te.Expr, error) {
	out := make([]te.Expr, len(is))
	for k, i := range is {
		var err error
		if out[k], err = c.numberOperand(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// line reads operand i, which has one number for a matrix, or one for each of its rows
// (of the left factor) or columns (of the right one). The matrix has shape m and is read
// at the indices; kept and summed are its axes, counted from the end.
func (c *Ctx) line(i int, m ir.Shape, at []sym.Expr, kept, summed int) (te.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, err
	}
	if e, ok := c.soleElement(i, s); ok {
		return e, nil
	}
	n := len(m)
	if n > 1 && len(s) == 1 {
		line, err := c.oneOrEach(s[0], m[n-kept], at[n-kept], "extent of operand %d, which has an element for each line of its matrix", i)
		return te.Operand(i, c.Type(i), line), err
	}
	if n != len(s) || n < 2 {
		return nil, fmt.Errorf("operand %d has rank %d, its matrix %d; want one number, a vector or equal ranks", i, len(s), n)
	}
	index := make([]sym.Expr, n)
	for k, d := range s {
		want := m[k]
		if k == n-summed {
			want = sym.Const(1)
		}
		if index[k], err = c.oneOrEach(d, want, at[k], "dimension %d of operand %d, which has an element for each line of its matrix", k, i); err != nil {
			return nil, err
		}
	}
	return te.Operand(i, c.Type(i), index...), nil
}

// quantProduct is a product of operands a and b, whose zero points are operands az and bz.
func (c *Ctx) quantProduct(a, az, b, bz int) (p *factors, left, right quant, err error) {
	var as, bs ir.Shape
	if as, err = c.Shape(a); err != nil {
		return
	}
	if bs, err = c.Shape(b); err != nil {
		return
	}
	if p, err = c.newProduct(as, bs); err != nil {
		return
	}
	left.value, right.value = te.Operand(a, c.Type(a), p.a...), te.Operand(b, c.Type(b), p.b...)
	if c.Has(az) {
		if left.zero, err = c.line(az, as, p.a, 2, 1); err != nil {
			return
		}
	}
	if c.Has(bz) {
		right.zero, err = c.line(bz, bs, p.b, 1, 2)
	}
	return
}

func matmulInteger(c *Ctx) (*Meaning, error) {
	p, a, b, err := c.quantProduct(0, 2, 1, 3)
	if err != nil {
		return nil, err
	}
	return sumOfProducts("MatMulInteger", p.as, reduceAxes(ir.Shape{p.k}), a, b, func(sum te.Expr) te.Expr { return sum }), nil
}

func qlinearMatmul(c *Ctx) (*Meaning, error) {
	p, a, b, err := c.quantProduct(0, 2, 3, 5)
	if err != nil {
		return nil, err
	}
	as, err := c.line(1, c.Node.Inputs[0].Shape, p.a, 2, 1)
	if err != nil {
		return nil, err
	}
	bs, err := c.line(4, c.Node.Inputs[3].Shape, p.b, 1, 2)
	if err != nil {
		return nil, err
	}
	n, err := c.numberOperands(6, 7)
	if err != nil {
		return nil, err
	}
	return sumOfProducts("QLinearMatMul", p.as, reduceAxes(ir.Shape{p.k}), a, b, func(sum te.Expr) te.Expr {
		return requantized(sum, as, bs, n[0], n[1])
	}), nil
}
