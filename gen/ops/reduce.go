package ops

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// reducer is how a reduction treats elements, in the type t in which it computes.
type reducer struct {
	comb func(t ir.DType) *te.Combiner
	// value is what is combined of an element, result what is made of the whole; n is
	// the number of elements. nil: as it is.
	value  func(x te.Expr) te.Expr
	result func(x te.Expr, n sym.Expr) te.Expr
	// fraction: integer types compute the result in floating point.
	fraction bool
}

var extremumTypes = slices.Concat([]ir.DType{ir.Bool, ir.I8, ir.U8}, wideNumbers)

func reduceRows() []*Row {
	upTo13, upTo18 := []int{1, 11, 13}, []int{1, 11, 13, 18}
	extrema, logs := []int{1, 11, 12, 13, 18, 20}, []int{1, 11, 13, 18, 28}
	square := func(x te.Expr) te.Expr { return mul(x, x) }
	abs := func(x te.Expr) te.Expr { return call("abs", x) }
	only := func(fn string) func(te.Expr, sym.Expr) te.Expr {
		return func(x te.Expr, _ sym.Expr) te.Expr { return call(fn, x) }
	}
	mean := func(x te.Expr, n sym.Expr) te.Expr {
		if !x.DType().IsFloat() {
			n = sym.Max(n, sym.Const(1), nil) // the mean of no integers is 0: ONNX leaves it open
		}
		return div(x, count(x.DType(), n))
	}
	return []*Row{
		reduceRow("ReduceSum", upTo13, 13, wideNumbers, reducer{comb: te.Sum}),
		reduceRow("ReduceMean", upTo18, 18, wideNumbers, reducer{comb: te.Sum, result: mean}),
		reduceRow("ReduceProd", upTo18, 18, wideNumbers, reducer{comb: te.Prod}),
		reduceRow("ReduceMax", extrema, 18, extremumTypes, reducer{comb: greatest}),
		reduceRow("ReduceMin", extrema, 18, extremumTypes, reducer{comb: least}),
		reduceRow("ReduceL1", upTo18, 18, wideNumbers, reducer{comb: te.Sum, value: abs}),
		reduceRow("ReduceL2", upTo18, 18, wideNumbers, reducer{comb: te.Sum, value: square, result: only("sqrt"), fraction: true}),
		reduceRow("ReduceSumSquare", upTo18, 18, wideNumbers, reducer{comb: te.Sum, value: square}),
		reduceRow("ReduceLogSum", logs, 18, wideNumbers, reducer{comb: te.Sum, result: only("log"), fraction: true}),
		logSumExpRow(logs),
		argRow("ArgMax", "gt", te.Lowest),
		argRow("ArgMin", "lt", te.Highest),
	}
}

// greatest and least are Max and Min, on bools "or" and "and".
func greatest(t ir.DType) *te.Combiner { return boolOr(t, te.Max(t), "or") }
func least(t ir.DType) *te.Combiner    { return boolOr(t, te.Min(t), "and") }

func boolOr(t ir.DType, c *te.Combiner, fn string) *te.Combiner {
	if t == ir.Bool {
		c.Join = []te.Expr{te.Fn(t, fn, te.Acc{Type: t}, te.In{Type: t})}
	}
	return c
}

// reduceRow is a reduction whose axes are an operand from definition `operand` on.
func reduceRow(name string, versions []int, operand int, types []ir.DType, r reducer) *Row {
	return reductionRow(name, versions, operand, types, func(re *reduction) (*Meaning, error) { return re.single(r), nil })
}

func reductionRow(name string, versions []int, operand int, types []ir.DType, build func(*reduction) (*Meaning, error)) *Row {
	return &Row{
		Name: name, Versions: versions, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{in("data", types), opt(since(operand, structural("axes", int64s)))},
		Attrs: []AttrSpec{
			intsAttr("axes").until(operand - 1), intAttr("keepdims"), intAttr("noop_with_empty_axes").from(operand),
		},
		Build: func(c *Ctx) (*Meaning, error) {
			re, err := c.newReduction(operand)
			if err != nil {
				return nil, err
			}
			return build(re)
		},
	}
}

// reduction is the loops of a reduction of operand 0.
type reduction struct {
	*moments
	// axes are the loops of the result; kept axes of extent 1 included with keepdims.
	axes []te.Axis
	// at are the indices of a statistic (which has no reduced axes) at a point of the result.
	at []sym.Expr
	// none reports that no axes are reduced: each element is a whole of its own.
	none bool
}

// newReduction reads axes and keepdims.
func (c *Ctx) newReduction(operandSince int) (*reduction, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	list, _, err := c.axesList(operandSince)
	if err != nil {
		return nil, err
	}
	noop, err := c.flag("noop_with_empty_axes", 0)
	if err != nil {
		return nil, err
	}
	over, err := normAxes("an element of axes", list, len(x))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && !noop {
		over = between(0, len(x))
	}
	return c.reductionOver(x, over)
}

func (c *Ctx) reductionOver(x ir.Shape, over []int) (*reduction, error) {
	keep, err := c.flag("keepdims", 1)
	if err != nil {
		return nil, err
	}
	m, err := c.newMoments(over)
	if err != nil {
		return nil, err
	}
	re := &reduction{moments: m, axes: m.kept, at: te.AxisVars(m.kept), none: len(over) == 0}
	if keep {
		s := append(ir.Shape{}, x...)
		for _, k := range over {
			s[k] = sym.Const(1)
		}
		re.axes, re.at = axes(s), nil
		for k := range x {
			if !slices.Contains(over, k) {
				re.at = append(re.at, iv(k))
			}
		}
	}
	return re, nil
}

// operand is operand 0 in the loops of the result, converted to t.
func (re *reduction) operand(t ir.DType) te.Expr {
	m := map[string]sym.Expr{}
	for k, a := range re.kept {
		m[a.Var] = re.at[k]
	}
	return cast(t, te.SubstIndices(re.load0(), m, re.c.with(re.axes, re.red)))
}

func (re *reduction) single(r reducer) *Meaning {
	value := re.operand(re.t)
	if r.value != nil {
		value = r.value(value)
	}
	result := te.Expr(te.Acc{Type: re.t})
	if re.none {
		result = value
	}
	if r.result != nil {
		if r.fraction && !re.t.IsFloat() {
			result = cast(floating(re.t), result)
		}
		result = r.result(result, re.n)
	}
	if re.none {
		return one(re.c.Row.Name, re.axes, cast(re.typ, result))
	}
	return stages(&te.Stage{
		Name: re.c.Row.Name, Axes: re.axes, Reduce: re.red, Combine: r.comb(re.t),
		Values: []te.Expr{value}, Results: []te.Expr{cast(re.typ, result)},
	})
}

// logSumExpRow shifts by the greatest element, so that no exponential overflows.
func logSumExpRow(versions []int) *Row {
	return reductionRow("ReduceLogSumExp", versions, 18, wideNumbers, func(re *reduction) (*Meaning, error) {
		if re.none { // log(exp(x))
			return one(re.c.Row.Name, re.axes, re.operand(re.typ)), nil
		}
		t := re.t
		if !t.IsFloat() {
			t = floating(t)
		}
		greatest := te.Expr(te.Acc{Type: t})
		shift := sel(test("isinf", greatest), num(greatest, 0), greatest) // inf - inf is NaN
		first := &te.Stage{
			Name: "max", Axes: re.kept, Reduce: re.red, Combine: te.MaxNumber(t),
			Values: []te.Expr{cast(t, re.load0())}, Results: []te.Expr{shift},
		}
		shifted := sub(re.operand(t), te.FromStage(0, t, re.at...))
		sum := add(call("log", te.Acc{Type: t}), te.FromStage(0, t, re.at...))
		return stages(first, &te.Stage{
			Name: "ReduceLogSumExp", Axes: re.axes, Reduce: re.red, Combine: te.Sum(t),
			Values: []te.Expr{call("exp", shifted)}, Results: []te.Expr{cast(re.typ, sum)},
		}), nil
	})
}

func argRow(name, better string, worst func(ir.DType) te.Expr) *Row {
	return &Row{
		Name: name, Versions: []int{1, 11, 12, 13}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{in("data", numbers)},
		Attrs:  []AttrSpec{intAttr("axis"), intAttr("keepdims"), intAttr("select_last_index").from(12)},
		Build: func(c *Ctx) (*Meaning, error) {
			x, err := c.Shape(0)
			if err != nil {
				return nil, err
			}
			axis, err := c.axisAttr("axis", 0, len(x))
			if err != nil {
				return nil, err
			}
			last, err := c.flag("select_last_index", 0)
			if err != nil {
				return nil, err
			}
			re, err := c.reductionOver(x, []int{axis})
			if err != nil {
				return nil, err
			}
			some := sym.Min(product((&te.Stage{Axes: re.axes}).Shape()...), sym.Const(1), c.Facts)
			if err := c.require(AtLeast, x[axis], some, "axis %d must have an element for each index in the result", axis); err != nil {
				return nil, err
			}
			return stages(&te.Stage{
				Name: name, Axes: re.axes, Reduce: re.red,
				Combine: argBest(map[string]string{"gt": "argmax", "lt": "argmin"}[better], better, re.typ, worst(re.typ), last),
				Values:  []te.Expr{re.operand(re.typ), te.Index{Type: ir.I64, E: rv(0)}},
				Results: []te.Expr{te.Acc{N: 1, Type: ir.I64}},
			}), nil
		},
	}
}
