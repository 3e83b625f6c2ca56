package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// moments is a normalisation over some axes of operand 0: statistics are stages over
// the axes that are kept.
type moments struct {
	c      *Ctx
	x      ir.Shape
	typ, t ir.DType
	kept   []te.Axis  // loops of a statistic
	red    []te.Axis  // loops over what it summarises
	load   te.Expr    // operand 0 in those loops
	at     []sym.Expr // a statistic's indices at a point of the result
	n      sym.Expr   // how many elements it summarises
	out    []*te.Stage
}

// newMoments summarises over the axes.
func (c *Ctx) newMoments(over []int) (*moments, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	m := &moments{c: c, x: x, typ: c.Type(0), t: wide(c.Type(0)), n: sym.Const(1)}
	reduced := map[int]bool{}
	for _, k := range over {
		reduced[k] = true
	}
	var kept, red ir.Shape
	index := make([]sym.Expr, len(x))
	for k, d := range x {
		if reduced[k] {
			index[k] = rv(len(red))
			red = append(red, d)
			m.n = sym.Mul(m.n, d)
		} else {
			index[k] = iv(len(kept))
			kept = append(kept, d)
			m.at = append(m.at, iv(k))
		}
	}
	if len(red) == 0 { // of single elements
		red = ir.Shape{sym.Const(1)}
	}
	m.kept, m.red = axes(kept), reduceAxes(red)
	m.load = cast(m.t, te.Operand(0, m.typ, index...))
	return m, nil
}

// stat adds a stage: result of the sum of value over the reduced axes.
func (m *moments) stat(name string, value te.Expr, result func(sum te.Expr) te.Expr) {
	m.out = append(m.out, &te.Stage{
		Name: name, Axes: m.kept, Reduce: m.red, Combine: te.Sum(m.t),
		Values: []te.Expr{value}, Results: []te.Expr{result(te.Acc{Type: m.t})},
	})
}

// mean adds the stage of the mean; its result reads statistic 0.
func (m *moments) mean() {
	m.stat("mean", m.load, func(sum te.Expr) te.Expr { return div(sum, count(m.t, m.n)) })
}

// scale adds a stage 1/sqrt(mean of squares + epsilon), of the differences from the
// mean when there is one.
func (m *moments) scale(eps float32) {
	d := m.load
	if len(m.out) > 0 {
		d = sub(d, te.FromStage(0, m.t, te.AxisVars(m.kept)...))
	}
	m.stat("scale", mul(d, d), func(sum te.Expr) te.Expr {
		v := add(div(sum, count(m.t, m.n)), num(sum, float64(eps)))
		return div(num(v, 1), call("sqrt", v))
	})
}

// normal is an element of the result before scale and bias: it reads the statistics.
func (m *moments) normal() te.Expr {
	x := cast(m.t, te.Operand(0, m.typ, te.AxisVars(axes(m.x))...))
	last := len(m.out) - 1
	if last > 0 {
		x = sub(x, te.FromStage(0, m.t, m.at...))
	}
	return mul(x, te.FromStage(last, m.t, m.at...))
}

// finish adds the stage of the result.
func (m *moments) finish(name string, result te.Expr) *Meaning {
	m.out = append(m.out, &te.Stage{Name: name, Axes: axes(m.x), Results: []te.Expr{result}})
	return stages(m.out...)
}

// affine is x * operand 1 + operand 2, read at the index.
func (m *moments) affine(x te.Expr, index ...sym.Expr) te.Expr {
	y := mul(x, cast(m.t, te.Operand(1, m.c.Type(1), index...)))
	return cast(m.typ, add(y, cast(m.t, te.Operand(2, m.c.Type(2), index...))))
}

func between(lo, hi int) []int {
	var out []int
	for k := lo; k < hi; k++ {
		out = append(out, k)
	}
	return out
}

// channels requires rank 3 or more and scale and bias of the extent.
func (c *Ctx) channels(extent func(x ir.Shape) sym.Expr) (ir.Shape, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 3 (batch, channel, spatial axes)", len(x))
	}
	for i := 1; i <= 2; i++ {
		if err := c.isVector(i, extent(x)); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func instanceNorm(c *Ctx) (*Meaning, error) {
	x, err := c.channels(func(x ir.Shape) sym.Expr { return x[1] })
	if err != nil {
		return nil, err
	}
	m, err := c.newMoments(between(2, len(x)))
	if err != nil {
		return nil, err
	}
	m.mean()
	m.scale(c.Node.Float("epsilon", 1e-5))
	return m.finish("InstanceNormalization", m.affine(m.normal(), iv(1))), nil
}

// groupNorm is instanceNorm over groups of channels. Until definition 18 scale and
// bias belong to groups, then to channels.
func groupNorm(c *Ctx) (*Meaning, error) {
	groups := sym.Const(c.Node.Int("num_groups", 0))
	if n, _ := groups.Const(); n < 1 {
		return nil, fmt.Errorf("attribute num_groups is %d; want at least 1", n)
	}
	x, err := c.channels(func(x ir.Shape) sym.Expr {
		if c.Version < 21 {
			return groups
		}
		return x[1]
	})
	if err != nil {
		return nil, err
	}
	each := sym.FloorDiv(x[1], groups, c.Facts)
	if err := c.require(SameDim, sym.Mul(each, groups), x[1], "attribute num_groups must divide the channels"); err != nil {
		return nil, err
	}
	m, err := c.newMoments(between(2, len(x)))
	if err != nil {
		return nil, err
	}
	m.regroup(groups, each)
	m.mean()
	m.scale(c.Node.Float("epsilon", 1e-5))
	group := sym.FloorDiv(iv(1), each, c.with(axes(m.x)))
	m.at[1] = group
	at := iv(1)
	if c.Version < 21 {
		at = group
	}
	return m.finish("GroupNormalization", m.affine(m.normal(), at)), nil
}

// regroup makes the loops of statistics run over the groups, and the reduction also
// over each group's channels.
func (m *moments) regroup(groups, each sym.Expr) {
	red := ir.Shape{each}
	index := []sym.Expr{iv(0), sym.Add(sym.Mul(iv(1), each), rv(0))}
	for k, d := range m.x[2:] {
		red = append(red, d)
		index = append(index, rv(k+1))
	}
	m.kept[1].Extent = groups
	m.red = reduceAxes(red)
	m.n = sym.Mul(m.n, each)
	m.load = cast(m.t, te.Operand(0, m.typ, index...))
}
