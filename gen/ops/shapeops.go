package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// shapeRows are the operators whose result follows from shapes and structural
// operands alone, Range apart, and Dropout.
func shapeRows() []*Row {
	shapeVersions := []int{1, 13, 15, 19, 21, 23, 24, 25}
	return []*Row{
		{
			Name: "Shape", Versions: shapeVersions, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType)}, Attrs: []AttrSpec{intAttr("start").from(15), intAttr("end").from(15)},
			Build: shapeOf,
		},
		{
			Name: "Size", Versions: []int{1, 13, 19, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType)}, Build: sizeOf,
		},
		{
			Name: "ConstantOfShape", Versions: []int{9, 20, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{structural("input", int64s)}, Attrs: []AttrSpec{tensorAttr("value")}, Build: constantOfShape,
		},
		{
			Name: "EyeLike", Versions: []int{9, 22}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType)}, Attrs: []AttrSpec{intAttr("dtype"), intAttr("k")}, Build: eyeLike,
		},
		{
			Name: "Dropout", Versions: []int{7, 10, 12, 13, 22}, MinOutputs: 1, MaxOutputs: 2,
			Inputs: []Param{
				in("data", floats), opt(since(12, structural("ratio", floats))), opt(since(12, structural("training_mode", bools))),
			},
			Attrs: []AttrSpec{floatAttr("ratio").until(11), intAttr("seed").from(12)}, Build: dropout,
		},
	}
}

func shapeOf(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	rank := int64(len(x))
	clamp := func(e int64) int64 {
		if e < 0 {
			e = max(e, -rank) + rank
		}
		return min(e, rank)
	}
	from, to := clamp(c.Node.Int("start", 0)), clamp(c.Node.Int("end", rank))
	return vector("Shape", ir.I64, x[from:max(from, to)]), nil
}

// vector is a stage that gives the expressions as its elements.
func vector(name string, t ir.DType, xs []sym.Expr) *Meaning {
	e := te.Expr(te.Int(t, 0))
	for k := len(xs) - 1; k >= 0; k-- {
		x := number(t, xs[k])
		if k == len(xs)-1 {
			e = x
		} else {
			e = sel(test("eq", te.Index{Type: ir.I64, E: iv(0)}, te.Int(ir.I64, int64(k))), x, e)
		}
	}
	return one(name, axes(ir.Shape{sym.Const(int64(len(xs)))}), e)
}

// number is an expression as a literal where it is constant.
func number(t ir.DType, x sym.Expr) te.Expr {
	if v, ok := x.Const(); ok {
		return te.Int(t, v)
	}
	return te.Index{Type: t, E: x}
}

func sizeOf(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	return one("Size", nil, number(ir.I64, product(x...))), nil
}

func constantOfShape(c *Ctx) (*Meaning, error) {
	to, err := c.dimsOperand(0)
	if err != nil {
		return nil, err
	}
	value := te.Expr(te.Float(ir.F32, 0))
	if t := c.Node.Tensor("value"); t != nil {
		xs, err := literals(t)
		if err != nil {
			return nil, fmt.Errorf("attribute value: %w", err)
		}
		if len(xs) != 1 {
			return nil, fmt.Errorf("attribute value has %d elements; want 1", len(xs))
		}
		value = xs[0]
	}
	return one("ConstantOfShape", axes(to), value), nil
}

func eyeLike(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 2 {
		return nil, fmt.Errorf("operand 0 has rank %d; want 2", len(x))
	}
	t := c.Type(0)
	if c.Node.Has("dtype") {
		if t, err = c.typeAttr("dtype"); err != nil {
			return nil, err
		}
	}
	off := sym.Sub(sym.Sub(iv(1), iv(0)), near(sym.Const(c.Node.Int("k", 0))))
	diagonal := test("eq", te.Index{Type: ir.I64, E: off}, te.Int(ir.I64, 0))
	return one("EyeLike", axes(x), sel(diagonal, te.Number(t, 1), te.Number(t, 0))), nil
}

// dropout gives the data itself, and a mask that keeps everything: in inference, and where
// nothing is dropped.
func dropout(c *Ctx) (*Meaning, error) {
	if err := c.dropsNothing(); err != nil {
		return nil, err
	}
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	as := axes(x)
	m := one("Dropout", as, c.load0(te.AxisVars(as)...))
	if len(c.Node.Outputs) < 2 {
		return m, nil
	}
	mask := ir.Bool
	if c.Version < 10 {
		mask = c.Type(0)
	}
	m.Stages = append(m.Stages, &te.Stage{Name: "mask", Axes: as, Results: []te.Expr{te.Number(mask, 1)}})
	m.Outputs = append(m.Outputs, te.Source{Stage: true, N: 1})
	return m, nil
}

// dropsNothing refuses to draw random numbers, which no two programs draw alike.
func (c *Ctx) dropsNothing() error {
	if !c.Has(2) {
		return nil
	}
	training, err := c.scalarOperand(2)
	if err != nil || training.Is(0) {
		return err
	}
	ratio := 0.5
	if c.Has(1) {
		if ratio, err = c.constFloat(1); err != nil {
			return err
		}
	}
	if ratio != 0 {
		return fmt.Errorf("operand 2 (training_mode) is %s and operand 1 (ratio) is %v: elements are dropped at random; "+
			"supported is a training_mode or a ratio of 0: export the model for inference", training, ratio)
	}
	return nil
}
