package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// cumulativeRows are sums and products along an axis that keep every step.
func cumulativeRows() []*Row {
	row := func(name string, versions []int, fn string, first float64) *Row {
		return &Row{
			Name: name, Versions: versions, Form: Scan, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("x", cumulativeTypes), structural("axis", indexing)},
			Attrs:  []AttrSpec{intAttr("exclusive"), intAttr("reverse")},
			Build:  func(c *Ctx) (*Meaning, error) { return cumulative(c, name, fn, first) },
		}
	}
	return []*Row{row("CumSum", []int{11, 14}, "add", 0), row("CumProd", []int{26}, "mul", 1)}
}

var cumulativeTypes = append([]ir.DType{ir.I32, ir.I64, ir.U32, ir.U64}, floats...)

// cumulative joins each element with the result at the step before it; an exclusive one joins
// the element of the step before.
func cumulative(c *Ctx, name, fn string, first float64) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.axisOperand(1, len(x))
	if err != nil {
		return nil, err
	}
	exclusive, err := c.flag("exclusive", 0)
	if err != nil {
		return nil, err
	}
	reverse, err := c.flag("reverse", 0)
	if err != nil {
		return nil, err
	}
	t := c.Type(0)
	as := axes(x)
	start := te.Expr(c.load0(te.AxisVars(as)...))
	if exclusive {
		start = te.Number(t, first)
	}
	steps := append(ir.Shape{}, x...)
	steps[axis] = sym.Max(sym.Sub(x[axis], sym.Const(1)), sym.Const(0), c.Facts)
	u := &te.Update{Axes: updateAxes(steps), Join: te.Fn(t, fn, te.Acc{Type: t}, te.In{Type: t})}
	before, after := te.AxisVars(u.Axes), te.AxisVars(u.Axes)
	after[axis] = sym.Add(before[axis], sym.Const(1))
	if reverse {
		last := sym.Sub(x[axis], sym.Const(1))
		before[axis], after[axis] = sym.Sub(last, before[axis]), sym.Sub(last, after[axis])
	}
	u.From, u.At = before, after
	u.Value = c.load0(after...)
	if exclusive {
		u.Value = c.load0(before...)
	}
	m := one(name, as, start)
	m.Stages[0].Update = u
	return m, nil
}

// axisOperand is an operand that holds one axis of another of the rank.
func (c *Ctx) axisOperand(i, rank int) (int, error) {
	xs, err := c.Ints(i)
	if err != nil {
		return 0, err
	}
	if len(xs) != 1 {
		return 0, fmt.Errorf("operand %d has %d elements; want one axis", i, len(xs))
	}
	return normAxis(fmt.Sprintf("operand %d", i), xs[0], rank)
}
