package ops

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func maxPool(c *Ctx, p *pool) (*Meaning, error) {
	columns, err := c.flag("storage_order", 0)
	if err != nil {
		return nil, err
	}
	value := p.load(te.Lowest(p.typ))
	if len(c.Node.Outputs) < 2 || c.Node.Outputs[1] == nil {
		m := p.reduce("MaxPool", te.Max(p.typ), value, te.Acc{Type: p.typ})
		m.Outputs = append(m.Outputs, m.Outputs[0])[:max(1, len(c.Node.Outputs))]
		return m, nil
	}
	position := te.Expr(te.Index{Type: ir.I64, E: p.flat(columns)})
	if len(p.guard) > 0 { // the padding never wins
		position = sel(holds(p.guard), position, te.Int(ir.I64, math.MaxInt64))
	}
	s := &te.Stage{
		Name: "MaxPool", Axes: p.axes, Reduce: p.red, Combine: argBest("argmax", "gt", p.typ, te.Lowest(p.typ), false),
		Values:  []te.Expr{value, position},
		Results: []te.Expr{te.Acc{N: 0, Type: p.typ}, te.Acc{N: 1, Type: ir.I64}},
	}
	return &Meaning{
		Stages:  []*te.Stage{s},
		Outputs: []te.Source{{Stage: true}, {Stage: true, Part: 1}},
	}, nil
}

// flat is the position of the element in the whole operand: row-major, or with the
// spatial axes in column-major order.
func (p *pool) flat(columns bool) sym.Expr {
	e := sym.Const(0)
	order := make([]int, len(p.x))
	for k := range order {
		order[k] = k
		if columns && k >= 2 {
			order[k] = len(p.x) + 1 - k
		}
	}
	for _, k := range order {
		e = sym.Add(sym.Mul(e, p.x[k]), p.index[k])
	}
	return e
}

// argBest combines (value, position) tuples: the better value wins, NaN before all
// others; among equal ones the first position, or the last.
func argBest(name, better string, t ir.DType, worst te.Expr, last bool) *te.Combiner {
	accV, accP := te.Acc{N: 0, Type: t}, te.Acc{N: 1, Type: ir.I64}
	inV, inP := te.In{N: 0, Type: t}, te.In{N: 1, Type: ir.I64}
	and := func(a, b te.Expr) te.Expr { return te.Fn(ir.Bool, "and", a, b) }
	or := func(a, b te.Expr) te.Expr { return te.Fn(ir.Bool, "or", a, b) }
	earlier, none := "lt", int64(math.MaxInt64)
	if last {
		earlier, none = "gt", -1
	}
	wins, ties := test(better, inV, accV), test("eq", inV, accV)
	if t.IsFloat() {
		nanIn, nanAcc := test("isnan", inV), test("isnan", accV)
		wins = or(wins, and(nanIn, test("not", nanAcc)))
		ties = or(ties, and(nanIn, nanAcc))
	}
	take := or(wins, and(ties, test(earlier, inP, accP)))
	return &te.Combiner{
		Name: name,
		Init: []te.Expr{worst, te.Int(ir.I64, none)},
		Join: []te.Expr{sel(take, inV, accV), sel(take, inP, accP)},
	}
}
