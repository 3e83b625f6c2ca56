package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func normRows() []*Row {
	like := func(v string, p Param) Param { p.Like = v; return p }
	eps := floatAttr("epsilon")
	return []*Row{
		batchNormRow(),
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

// lrn divides by a power of the sum of squares over neighbouring channels.
func lrn(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	size := c.Node.Int("size", 0)
	if size < 1 || size > sym.MaxDim || len(x) < 2 {
		return nil, fmt.Errorf("attribute size is %d and the rank %d; want a size of 1 to %d and a rank of at least 2", size, len(x), int64(sym.MaxDim))
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
