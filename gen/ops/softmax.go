package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func softmaxRows() []*Row {
	row := func(name string, build func(*moments) *Meaning) *Row {
		return &Row{
			Name: name, Versions: []int{1, 11, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", floats)}, Attrs: []AttrSpec{intAttr("axis")},
			Build: func(c *Ctx) (*Meaning, error) {
				m, err := c.rowwise()
				if err != nil {
					return nil, err
				}
				return build(m), nil
			},
		}
	}
	return []*Row{row("Softmax", softmax), row("LogSoftmax", logSoftmax), row("Hardmax", hardmax)}
}

// rowwise is the normalisation along one axis, or before definition 13 over all axes
// from the given one on.
func (c *Ctx) rowwise() (*moments, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if c.Version < 13 {
		axis, err := c.flattenAxis(len(x))
		if err != nil {
			return nil, err
		}
		return c.newMoments(between(axis, len(x)))
	}
	axis, err := c.axisAttr("axis", -1, len(x))
	if err != nil {
		return nil, err
	}
	return c.newMoments([]int{axis})
}

// element is operand 0 at a point of the result.
func (m *moments) element() te.Expr {
	return cast(m.t, te.Operand(0, m.typ, te.AxisVars(axes(m.x))...))
}

// maximum adds the stage of the greatest value; shifted is an element less it, and NaN where it is NaN.
func (m *moments) maximum() (shifted te.Expr) {
	m.out = append(m.out, &te.Stage{
		Name: "max", Axes: m.kept, Reduce: m.red, Combine: te.MaxNumber(m.t),
		Values: []te.Expr{m.load}, Results: []te.Expr{te.Acc{Type: m.t}},
	})
	return sub(m.element(), te.FromStage(0, m.t, m.at...))
}

// exponentials adds the stage of exp(x - max) and that of what is made of its sums.
func (m *moments) exponentials(result func(sum te.Expr) te.Expr) {
	shifted := m.maximum()
	m.out = append(m.out, &te.Stage{Name: "exp", Axes: axes(m.x), Results: []te.Expr{call("exp", shifted)}})
	index := m.load0().Index
	m.stat("sum", te.FromStage(1, m.t, index...), result)
}

// plain is a sum as it is.
func plain(sum te.Expr) te.Expr { return sum }

// load0 is the load of operand 0 in the loops of a statistic.
func (m *moments) load0() te.Load {
	e := m.load
	for {
		switch x := e.(type) {
		case te.Load:
			return x
		case te.Call: // the conversion to the wide type
			e = x.Args[0]
		}
	}
}

// softmax divides once a row: the sum is at least 1, and its reciprocal no denormal number.
func softmax(m *moments) *Meaning {
	m.exponentials(func(sum te.Expr) te.Expr { return div(num(sum, 1), sum) })
	e := te.FromStage(1, m.t, te.AxisVars(axes(m.x))...)
	return m.finish("Softmax", cast(m.typ, mul(e, te.FromStage(2, m.t, m.at...))))
}

func logSoftmax(m *moments) *Meaning {
	m.exponentials(plain)
	shifted := sub(m.element(), te.FromStage(0, m.t, m.at...))
	return m.finish("LogSoftmax", cast(m.typ, sub(shifted, call("log", te.FromStage(2, m.t, m.at...)))))
}

// hardmax is 1 at the first greatest value and 0 elsewhere.
func hardmax(m *moments) *Meaning {
	position := sym.Const(0)
	for k, a := range m.red {
		position = sym.Add(sym.Mul(position, a.Extent), rv(k))
	}
	here := position.Subst(m.reduceAt(), m.c.with(axes(m.x)))
	m.out = append(m.out, &te.Stage{
		Name: "argmax", Axes: m.kept, Reduce: m.red, Combine: argBest("argmax", "gt", m.t, te.Lowest(m.t), false),
		Values:  []te.Expr{m.load, te.Index{Type: ir.I64, E: position}},
		Results: []te.Expr{te.Acc{N: 1, Type: ir.I64}},
	})
	is := test("eq", te.FromStage(0, ir.I64, m.at...), te.Index{Type: ir.I64, E: here})
	return m.finish("Hardmax", sel(is, te.Number(m.typ, 1), te.Number(m.typ, 0)))
}

// reduceAt maps the reduction variables to a point of the result.
func (m *moments) reduceAt() map[string]sym.Expr {
	at := map[string]sym.Expr{}
	for k, e := range m.load0().Index {
		if name, ok := e.AsVar(); ok && name[0] == 'r' {
			at[name] = iv(k)
		}
	}
	if len(at) == 0 && len(m.red) > 0 { // nothing is reduced: one point
		at[m.red[0].Var] = sym.Const(0)
	}
	return at
}
