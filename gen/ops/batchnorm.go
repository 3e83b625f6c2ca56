package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
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

// NormalisesByChannel reports whether a node is a BatchNormalization whose scale, bias and statistics are of channels: old definitions
// may have them for each element of an image.
func NormalisesByChannel(n *ir.Node) bool {
	return n.Op == "BatchNormalization" && n.Int("spatial", 1) != 0
}

// batchNormal is (x - mean) / sqrt(var + epsilon) * scale + B by channel, or by element of an image where attribute spatial is 0.
type batchNormal struct {
	c     *Ctx
	x     ir.Shape
	shape ir.Shape   // of the parameters
	at    []sym.Expr // where a point of X has its parameters
	over  []int      // the axes of X that training summarises
	t     ir.DType   // the widest type of all operands, and wide
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
	b := &batchNormal{c: c, x: x, t: wide(c.Type(0))}
	if err := b.parameters(); err != nil {
		return nil, err
	}
	if training {
		return b.training()
	}
	m := one("BatchNormalization", axes(x), b.normal(b.operand(3, b.at...), b.operand(4, b.at...)))
	for range len(c.Node.Outputs) - 1 {
		m.Outputs = append(m.Outputs, m.Outputs[0]) // absent ones
	}
	return m, nil
}

// parameters requires operands 1 to 4 to be of the shape that scale, bias and statistics have.
func (b *batchNormal) parameters() error {
	spatial, err := b.c.flag("spatial", 1)
	if err != nil {
		return err
	}
	switch rank := len(b.x); {
	case rank == 1:
		b.shape, b.at, b.over = ir.Shape{sym.Const(1)}, []sym.Expr{sym.Const(0)}, []int{0}
	case spatial:
		b.shape, b.at, b.over = b.x[1:2], []sym.Expr{iv(1)}, append([]int{0}, between(2, rank)...)
	default:
		b.shape, b.at, b.over = b.x[1:], te.AxisVars(axes(b.x))[1:], []int{0}
	}
	for i := 1; i < 5; i++ {
		if err := b.c.hasShape(i, b.shape); err != nil {
			return err
		}
		b.t = wider(b.t, b.c.Type(i))
	}
	return nil
}

// wider is the type of the two that holds more.
func wider(a, b ir.DType) ir.DType {
	if b.Size() > a.Size() {
		return b
	}
	return a
}

// checkBatchNorm refuses results that a definition does not have.
func (c *Ctx) checkBatchNorm(training bool) error {
	if _, err := c.flag("training_mode", 0); err != nil {
		return err
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
	scale := div(b.operand(1, b.at...), call("sqrt", add(variance, b.c.num("epsilon", 1e-5, variance))))
	x := b.operand(0, te.AxisVars(axes(b.x))...)
	return cast(b.c.Type(0), add(mul(sub(x, mean), scale), b.operand(2, b.at...)))
}

// training takes mean and variance of all elements of a channel, or of an element of all images. Its further results are the
// given statistics, moved towards those; and in old definitions those themselves.
func (b *batchNormal) training() (*Meaning, error) {
	m, err := b.c.newMoments(b.over)
	if err != nil {
		return nil, err
	}
	m.mean()
	d := sub(m.load, te.FromStage(0, m.t, te.AxisVars(m.kept)...))
	m.stat("variance", mul(d, d), func(sum te.Expr) te.Expr { return div(sum, count(m.t, m.n)) })
	statistic := func(i int, at ...sym.Expr) te.Expr { return cast(b.t, te.FromStage(i, m.t, at...)) }
	out := m.finish("BatchNormalization", b.normal(statistic(0, m.at...), statistic(1, m.at...)))
	as := axes(b.shape)
	at := te.AxisVars(as)[:len(m.kept)]
	momentum := b.c.Node.Float("momentum", 0.9)
	for i := range len(b.c.Node.Outputs) - 1 {
		s := &te.Stage{Name: [...]string{"running_mean", "running_var", "saved_mean", "saved_var"}[i], Axes: as}
		own := statistic(i%2, at...)
		if i < 2 {
			before := mul(b.operand(3+i, te.AxisVars(as)...), num(own, float64(momentum)))
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
