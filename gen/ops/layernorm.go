package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// stash reads stash_type, the type in which statistics compute.
func (c *Ctx) stash() (ir.DType, error) {
	if !c.Node.Has("stash_type") {
		return ir.F32, nil
	}
	t, err := c.typeAttr("stash_type")
	if err == nil && t != ir.F32 && t != c.Type(0) && t != wide(c.Type(0)) {
		err = fmt.Errorf("attribute stash_type is %s; supported are f32 and the operand's type", t)
	}
	return t, err
}

// trailing is a normalisation over the axes from attribute axis on.
func (c *Ctx) trailing() (m *moments, axis int, err error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, 0, err
	}
	if axis, err = c.axisAttr("axis", -1, len(x)); err != nil {
		return nil, 0, err
	}
	m, err = c.newMoments(between(axis, len(x)))
	return m, axis, err
}

// operandLike loads operand i, which extends to the shape of operand 0.
func (m *moments) operandLike(i int) (te.Expr, error) {
	s, err := m.c.Shape(i)
	if err != nil {
		return nil, err
	}
	joined, err := m.c.broadcast(m.x, s)
	if err != nil {
		return nil, err
	}
	if err := m.c.sameShape(m.x, joined); err != nil {
		return nil, err
	}
	return m.c.loadBroadcast(i, m.x, te.AxisVars(axes(m.x)))
}

func layerNorm(c *Ctx) (*Meaning, error) {
	stash, err := c.stash()
	if err != nil {
		return nil, err
	}
	m, axis, err := c.trailing()
	if err != nil {
		return nil, err
	}
	m.mean()
	m.scale(c.Node.Float("epsilon", 1e-5))
	gain, err := m.operandLike(1)
	if err != nil {
		return nil, err
	}
	y := mul(m.normal(), cast(m.t, gain))
	if c.Has(2) {
		bias, err := m.operandLike(2)
		if err != nil {
			return nil, err
		}
		y = add(y, cast(m.t, bias))
	}
	out := m.finish("LayerNormalization", cast(m.typ, y))
	for i := range len(c.Node.Outputs) - 1 {
		out.Stages = append(out.Stages, m.statistic(i, axis, stash))
		out.Outputs = append(out.Outputs, te.Source{Stage: true, N: len(out.Stages) - 1})
	}
	return out, nil
}

// statistic is the stage that gives statistic i as a result, of the operand's rank.
func (m *moments) statistic(i, axis int, t ir.DType) *te.Stage {
	s := append(ir.Shape{}, m.x...)
	for k := axis; k < len(s); k++ {
		s[k] = sym.Const(1)
	}
	as := axes(s)
	return &te.Stage{
		Name: [...]string{"Mean", "InvStdDev"}[i], Axes: as,
		Results: []te.Expr{cast(t, te.FromStage(i, m.t, te.AxisVars(as)[:axis]...))},
	}
}

func rmsNorm(c *Ctx) (*Meaning, error) {
	if _, err := c.stash(); err != nil {
		return nil, err
	}
	m, _, err := c.trailing()
	if err != nil {
		return nil, err
	}
	m.scale(c.Node.Float("epsilon", 1e-5))
	gain, err := m.operandLike(1)
	if err != nil {
		return nil, err
	}
	return m.finish("RMSNormalization", cast(c.Type(1), mul(m.normal(), cast(m.t, gain)))), nil
}

// meanVarianceNorm divides by the deviation plus 1e-9, as ONNX's function body does.
func meanVarianceNorm(c *Ctx) (*Meaning, error) {
	over := []int64{0, 2, 3}
	if c.Node.Has("axes") {
		over = c.Node.Ints("axes")
	}
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	ks, err := normAxes("attribute axes", over, len(x))
	if err != nil {
		return nil, err
	}
	m, err := c.newMoments(ks)
	if err != nil {
		return nil, err
	}
	m.mean()
	d := sub(m.load, te.FromStage(0, m.t, te.AxisVars(m.kept)...))
	m.stat("scale", mul(d, d), func(sum te.Expr) te.Expr {
		dev := call("sqrt", div(sum, count(m.t, m.n)))
		return div(num(dev, 1), add(dev, num(dev, 1e-9)))
	})
	return m.finish("MeanVarianceNormalization", cast(m.typ, m.normal())), nil
}

// lpNormalization divides by the norm along an axis; where that is 0 the result is 0.
func lpNormalization(c *Ctx) (*Meaning, error) {
	norm, err := c.lpNorm()
	if err != nil {
		return nil, err
	}
	if norm.p > 2 {
		return nil, fmt.Errorf("attribute p is %d; supported are 1 and 2", norm.p)
	}
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", -1, len(x))
	if err != nil {
		return nil, err
	}
	m, err := c.newMoments([]int{axis})
	if err != nil {
		return nil, err
	}
	m.stat("norm", norm.term(m.load), norm.root)
	n := te.FromStage(0, m.t, m.at...)
	v := cast(m.t, te.Operand(0, m.typ, te.AxisVars(axes(m.x))...))
	y := sel(test("eq", n, num(n, 0)), num(n, 0), div(v, n))
	return m.finish("LpNormalization", cast(m.typ, y)), nil
}
