package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

func batchNormRow() *Row {
	like := func(v string, p Param) Param { p.Like = v; return p }
	return &Row{
		Name: "BatchNormalization", Versions: []int{7, 9, 14, 15}, MinOutputs: 1, MaxOutputs: 5,
		Inputs: []Param{
			in("X", floats), like("T1", in("scale", floats)), like("T1", in("B", floats)),
			like("T2", in("mean", floats)), like("T2", in("var", floats)),
		},
		Attrs: []AttrSpec{
			floatAttr("epsilon"), floatAttr("momentum"), intAttr("spatial").until(8), intAttr("training_mode").from(14),
		},
		Build: batchNorm,
	}
}

// NormalisesByBatch reports whether a BatchNormalization is training's, which takes the
// statistics of X itself. Definitions before 14 have no attribute for that: it is so where
// they have the results of training, whether or not those are used.
func NormalisesByBatch(n *ir.Node) bool {
	if n.Version != 0 && n.Version < 14 {
		return len(n.Outputs) > 1
	}
	return n.Int("training_mode", 0) != 0
}

// batchNormal is (x - mean) / sqrt(var + epsilon) * scale + B by channel.
type batchNormal struct {
	c        *Ctx
	x        ir.Shape
	channels sym.Expr
	channel  sym.Expr // of a point of X
	t        ir.DType // the widest type of all operands, and wide
}

func batchNorm(c *Ctx) (*Meaning, error) {
	training := NormalisesByBatch(c.Node)
	if err := c.checkBatchNorm(training); err != nil {
		return nil, err
	}
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) == 0 {
		return nil, fmt.Errorf("operand 0 has rank 0; want at least 1")
	}
	b := &batchNormal{c: c, x: x, channels: sym.Const(1), channel: sym.Const(0), t: wide(c.Type(0))}
	if len(x) > 1 {
		b.channels, b.channel = x[1], iv(1)
	}
	for i := 1; i < 5; i++ {
		if err := c.isVector(i, b.channels); err != nil {
			return nil, err
		}
		b.t = wider(b.t, c.Type(i))
	}
	if training {
		return b.training()
	}
	m := one("BatchNormalization", axes(x), b.normal(b.operand(3, b.channel), b.operand(4, b.channel)))
	for range len(c.Node.Outputs) - 1 {
		m.Outputs = append(m.Outputs, m.Outputs[0]) // absent ones
	}
	return m, nil
}

// wider is the type of the two that holds more.
func wider(a, b ir.DType) ir.DType {
	if b.Size() > a.Size() {
		return b
	}
	return a
}

// checkBatchNorm refuses statistics of each element, and results that a definition does not have.
func (c *Ctx) checkBatchNorm(training bool) error {
	if _, err := c.flag("training_mode", 0); err != nil {
		return err
	}
	spatial, err := c.flag("spatial", 1)
	if err != nil {
		return err
	}
	if !spatial {
		return fmt.Errorf("attribute spatial is 0; supported is 1 (statistics by channel)")
	}
	n := len(c.Node.Outputs)
	switch {
	case c.Version < 14 && n != 1 && n != 5:
		return fmt.Errorf("%d results; definition %d of the operator has 1, or 5 in training", n, c.Version)
	case c.Version >= 14 && n > 3:
		return fmt.Errorf("%d results; definition %d of the operator has at most 3", n, c.Version)
	case training:
		return nil
	}
	for i, v := range c.Node.Outputs {
		if i > 0 && v != nil {
			return fmt.Errorf("result %d (%q) exists with attribute training_mode 1 only, found 0", i, v.Name)
		}
	}
	return nil
}

func (b *batchNormal) operand(i int, at ...sym.Expr) te.Expr {
	return cast(b.t, te.Operand(i, b.c.Type(i), at...))
}

// normal is an element of the result.
func (b *batchNormal) normal(mean, variance te.Expr) te.Expr {
	scale := div(b.operand(1, b.channel), call("sqrt", add(variance, b.c.num("epsilon", 1e-5, variance))))
	x := b.operand(0, te.AxisVars(axes(b.x))...)
	return cast(b.c.Type(0), add(mul(sub(x, mean), scale), b.operand(2, b.channel)))
}

// training takes mean and variance of all elements of a channel. Its further results are the
// given statistics, moved towards those; and in old definitions those themselves.
func (b *batchNormal) training() (*Meaning, error) {
	over := append([]int{0}, between(2, len(b.x))...)
	m, err := b.c.newMoments(over)
	if err != nil {
		return nil, err
	}
	m.mean()
	d := sub(m.load, te.FromStage(0, m.t, te.AxisVars(m.kept)...))
	m.stat("variance", mul(d, d), func(sum te.Expr) te.Expr { return div(sum, count(m.t, m.n)) })
	statistic := func(i int, at ...sym.Expr) te.Expr { return cast(b.t, te.FromStage(i, m.t, at...)) }
	out := m.finish("BatchNormalization", b.normal(statistic(0, m.at...), statistic(1, m.at...)))
	as := axes(ir.Shape{b.channels})
	at := te.AxisVars(as)[:len(m.kept)]
	momentum := b.c.Node.Float("momentum", 0.9)
	for i := range len(b.c.Node.Outputs) - 1 {
		s := &te.Stage{Name: [...]string{"running_mean", "running_var", "saved_mean", "saved_var"}[i], Axes: as}
		own := statistic(i%2, at...)
		if i < 2 {
			before := mul(b.operand(3+i, iv(0)), num(own, float64(momentum)))
			own = add(before, mul(own, num(own, float64(1-momentum))))
		}
		t := b.c.Type(0)
		if i < 2 {
			t = b.c.Type(3 + i)
		}
		s.Results = []te.Expr{cast(t, own)}
		out.Stages = append(out.Stages, s)
		out.Outputs = append(out.Outputs, te.Source{Stage: true, N: len(out.Stages) - 1})
	}
	return out, nil
}
