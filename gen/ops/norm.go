package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

func normRows() []*Row {
	like := func(v string, p Param) Param { p.Like = v; return p }
	eps := floatAttr("epsilon")
	return []*Row{
		{
			Name: "BatchNormalization", Versions: []int{7, 9, 14, 15}, MinOutputs: 1, MaxOutputs: 5,
			Inputs: []Param{
				in("X", floats), like("T1", in("scale", floats)), like("T1", in("B", floats)),
				like("T2", in("mean", floats)), like("T2", in("var", floats)),
			},
			Attrs: []AttrSpec{eps, floatAttr("momentum"), intAttr("spatial").until(8), intAttr("training_mode").from(14)},
			Build: batchNorm,
		},
		{
			Name: "InstanceNormalization", Versions: []int{6, 22}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", floats), in("scale", floats), in("B", floats)},
			Attrs:  []AttrSpec{eps}, Build: instanceNorm,
		},
		{
			Name: "GroupNormalization", Versions: []int{18, 21}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats), in("scale", floats), in("bias", floats)},
			Attrs:  []AttrSpec{eps, intAttr("num_groups").required(), intAttr("stash_type").from(21)},
			Build:  groupNorm,
		},
		{
			Name: "LayerNormalization", Versions: []int{17}, MinOutputs: 1, MaxOutputs: 3,
			Inputs: []Param{in("X", floats), in("Scale", floats), opt(in("B", floats))},
			Attrs:  []AttrSpec{eps, intAttr("axis"), intAttr("stash_type")},
			Build:  layerNorm,
		},
		{
			Name: "RMSNormalization", Versions: []int{23}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats), like("V", in("scale", floats))},
			Attrs:  []AttrSpec{eps, intAttr("axis"), intAttr("stash_type")},
			Build:  rmsNorm,
		},
		{
			Name: "MeanVarianceNormalization", Versions: []int{9, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats)}, Attrs: []AttrSpec{intsAttr("axes")}, Build: meanVarianceNorm,
		},
		{
			Name: "LpNormalization", Versions: []int{1, 22}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", floats)}, Attrs: []AttrSpec{intAttr("axis"), intAttr("p")}, Build: lpNormalization,
		},
		{
			Name: "LRN", Versions: []int{1, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats)},
			Attrs:  []AttrSpec{floatAttr("alpha"), floatAttr("beta"), floatAttr("bias"), intAttr("size").required()},
			Build:  lrn,
		},
	}
}

// batchNorm is inference's: (x - mean) / sqrt(var + epsilon) * scale + B by channel.
func batchNorm(c *Ctx) (*Meaning, error) {
	if err := c.batchNormInference(); err != nil {
		return nil, err
	}
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) == 0 {
		return nil, fmt.Errorf("operand 0 has rank 0; at least 1 wanted")
	}
	channels, at := sym.Const(1), sym.Const(0)
	if len(x) > 1 {
		channels, at = x[1], iv(1)
	}
	t := wide(c.Type(0))
	per := make([]te.Expr, 5)
	for i := 1; i < 5; i++ {
		if err := c.isVector(i, channels); err != nil {
			return nil, err
		}
		t = wider(t, c.Type(i))
	}
	for i := 1; i < 5; i++ {
		per[i] = cast(t, te.Operand(i, c.Type(i), at))
	}
	as := axes(x)
	data := cast(t, te.Operand(0, c.Type(0), te.AxisVars(as)...))
	scale := div(per[1], call("sqrt", add(per[4], c.num("epsilon", 1e-5, per[4]))))
	y := add(mul(sub(data, per[3]), scale), per[2])
	m := one("BatchNormalization", as, cast(c.Type(0), y))
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

// batchNormInference refuses training and per-activation statistics.
func (c *Ctx) batchNormInference() error {
	training, err := c.flag("training_mode", 0)
	if err != nil {
		return err
	}
	spatial, err := c.flag("spatial", 1)
	if err != nil {
		return err
	}
	switch {
	case training:
		return fmt.Errorf("attribute training_mode is 1; supported is 0: export the model for inference")
	case !spatial:
		return fmt.Errorf("attribute spatial is 0; supported is 1 (statistics by channel)")
	}
	for i, v := range c.Node.Outputs {
		if i > 0 && v != nil {
			return fmt.Errorf("result %d (%q) exists in training only; supported is inference, with one result", i, v.Name)
		}
	}
	return nil
}

// lrn divides by a power of the sum of squares over neighbouring channels.
func lrn(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	size := c.Node.Int("size", 0)
	if size < 1 || len(x) < 2 {
		return nil, fmt.Errorf("attribute size is %d and the rank %d; a size of at least 1 and a rank of at least 2 wanted", size, len(x))
	}
	as := axes(x)
	typ, t := c.Type(0), wide(c.Type(0))
	index := te.AxisVars(as)
	at := sym.Add(iv(1), rv(0), sym.Const(-((size - 1) / 2)))
	near := append([]sym.Expr{}, index...)
	near[1] = at
	guard := []te.Within{{E: at, Lo: sym.Const(0), Hi: x[1]}}
	if size == 1 {
		guard = nil
	}
	v := cast(t, guarded(0, typ, near, guard, te.Number(typ, 0)))
	sum := te.Expr(te.Acc{Type: t})
	scale := num(sum, float64(c.Node.Float("alpha", 1e-4))/float64(size))
	base := add(c.num("bias", 1, sum), mul(scale, sum))
	y := div(cast(t, te.Operand(0, typ, index...)), call("pow", base, c.num("beta", 0.75, base)))
	return stages(&te.Stage{
		Name: "LRN", Axes: as, Reduce: reduceAxes(ir.Shape{sym.Const(size)}), Combine: te.Sum(t),
		Values: []te.Expr{mul(v, v)}, Results: []te.Expr{cast(typ, y)},
	}), nil
}
