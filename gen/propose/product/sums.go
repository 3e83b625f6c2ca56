package product

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/vars"
)

// corrected are the block's results of sums of what is packed: the sum of (x - a) (w - b) is that of x w, minus a times the sum of w and b
// times that of x, plus a times b for each of them.
func (l *plan) corrected() []te.Expr {
	a, b := l.X.Left(l.instr.X), l.W.Left(l.instr.W)
	sum, results := te.Expr(te.Acc{Type: l.Sum()}), l.Stage.Results
	switch n, known := literalOf32(a); {
	case a == nil:
	case known && l.W.Constant: // one number for each column
		bias := l.bias()
		sum = te.Fn(ir.I32, "sub", sum, l.sumsW(n, bias))
		if bias != nil {
			results = withoutBias(results, bias)
		}
	default:
		sum = te.Fn(ir.I32, "sub", sum, te.Fn(ir.I32, "mul", a, l.sumsW(1, nil)))
	}
	if b != nil {
		sum = te.Fn(ir.I32, "sub", sum, te.Fn(ir.I32, "mul", b, l.sumsX()))
	}
	if a != nil && b != nil {
		n := int64(1)
		for _, r := range l.Reduce {
			m, _ := r.Extent.Const()
			n *= m
		}
		sum = te.Fn(ir.I32, "add", sum, te.Fn(ir.I32, "mul", te.Fn(ir.I32, "mul", a, b), te.Int(ir.I32, int64(int32(n)))))
	}
	out := make([]te.Expr, len(results))
	for i, r := range results {
		out[i] = te.Map(r, func(e te.Expr) te.Expr {
			if _, ok := e.(te.Acc); ok {
				return sum
			}
			return e
		})
	}
	return out
}

// literalOf32 is the value of a literal of 32 bits.
func literalOf32(e te.Expr) (int64, bool) {
	c, ok := e.(te.Const)
	return int64(int32(c.Bits)), ok && c.Type == ir.I32
}

// bias is what all results add to the sum, a constant of one number for each column; nil where they do not.
func (l *plan) bias() te.Expr {
	var bias te.Expr
	sums, added := 0, 0
	for _, r := range l.Stage.Results {
		te.Walk(r, func(e te.Expr) {
			if _, ok := e.(te.Acc); ok {
				sums++
			}
			b := biasOf(e)
			if b == nil || !l.perColumn(b) || bias != nil && te.Text(bias) != te.Text(b) {
				return
			}
			bias, added = b, added+1
		})
	}
	if added < sums {
		return nil
	}
	return bias
}

// biasOf is what an expression adds to a sum of integers, nil where it is no such thing.
func biasOf(e te.Expr) te.Expr {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "add" || c.Type != ir.I32 {
		return nil
	}
	for i, a := range c.Args {
		if x, ok := a.(te.Acc); ok && x.N == 0 {
			return c.Args[1-i]
		}
	}
	return nil
}

// perColumn reports whether an expression is a load of a constant, of one element for each column or for all of them.
func (l *plan) perColumn(e te.Expr) bool {
	x, ok := e.(te.Load)
	if !ok || !l.IsConstant(x) || len(x.Guard) > 0 || x.Type != ir.I32 {
		return false
	}
	for _, a := range l.Stage.Axes {
		if a.Var != l.column.Var && match.Uses(x, a.Var) {
			return false
		}
	}
	return true
}

// withoutBias are results with the sum in place of the sum and the bias. What is added to that besides stays, if it is the bias once more, too: the
// new sum is no accumulator 0.
func withoutBias(results []te.Expr, bias te.Expr) []te.Expr {
	out := make([]te.Expr, len(results))
	for i, r := range results {
		out[i] = te.Map(r, func(e te.Expr) te.Expr {
			if b := biasOf(e); b != nil && te.Text(b) == te.Text(bias) {
				return te.Acc{N: 1, Type: ir.I32}
			}
			return e
		})
	}
	return out
}

// sumsW is the sum of what is packed of W, so many times, and less the bias if there is one, for each column.
func (l *plan) sumsW(times int64, bias te.Expr) te.Expr {
	k := l.packing("sums of columns")
	for _, a := range l.Stage.Axes {
		if a.Var != l.column.Var && !a.Extent.Is(1) && match.Uses(l.W.Load, a.Var) {
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), l.places[a.Var].now(), 1)
		}
	}
	inner := 0
	if match.Uses(l.W.Load, l.column.Var) {
		v := k.axis(l.columns, sym.Var(l.column.Var), sym.Scale(sym.Var(vars.Group), l.width), l.width)
		k.names[l.column.Var], inner = v, 1
		if !l.columns.Equal(l.column.Extent) {
			k.until(v, l.column.Extent)
		}
	}
	result := te.Expr(te.Acc{Type: ir.I32})
	if times != 1 {
		result = te.Fn(ir.I32, "mul", result, te.Int(ir.I32, times))
	}
	if bias != nil {
		if bias = k.subst(bias, l.Facts); len(k.there) > 0 {
			bias = te.Select{Cond: k.there, Then: bias, Else: te.Int(ir.I32, 0)}
		}
		result = te.Fn(ir.I32, "sub", result, bias)
	}
	return l.sums(k, l.W, l.W.Element(l.instr.W), result, inner, l.inner)
}

// sumsX is the sum of what is read of X, for each row.
func (l *plan) sumsX() te.Expr {
	k, at := l.packing("sums of rows"), vars.Group
	if l.chunk > 0 {
		at = l.task()
	}
	for _, a := range l.Stage.Axes {
		if a.Var == l.row.Var || a.Extent.Is(1) || !match.Uses(l.X.Load, a.Var) {
			continue
		}
		switch where, ok := l.places[a.Var]; {
		case ok && where.task != "" && where.size > 1: // all points of a task
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), where.first(), where.size)
		case ok:
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), where.now(), 1)
		default:
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), sym.Const(0), 0)
		}
	}
	x, inner := l.X.Element(l.instr.X), 0
	n, known := l.row.Extent.Const()
	switch copied, neighbours := l.copiedX(); {
	case !match.Uses(l.X.Load, l.row.Var):
	case neighbours && known && l.chunk*l.Rows >= n: // a task has all rows
		x, inner = copied, 1
		k.names[l.row.Var] = k.axis(l.row.Extent, sym.Var(l.row.Var), sym.Const(0), 0)
	default:
		k.names[l.row.Var] = l.rowAxis(k)
	}
	return l.sums(k, l.X, x, te.Acc{Type: ir.I32}, inner, at)
}

// copiedX is X at a point of the sum in the copy that a task has, padding and all, and whether rows are neighbours there: their sums then are vectors. It is nil where there
// is no such copy.
func (l *plan) copiedX() (x te.Expr, neighbours bool) {
	if l.X.Constant || l.packedX == nil {
		return nil, false
	}
	m := map[string]sym.Expr{}
	if l.group != "" {
		m[l.group+"q"] = sym.FloorDiv(sym.Var(l.group), sym.Const(l.instr.Group), l.Facts)
		m[l.group+"d"] = sym.Mod(sym.Var(l.group), sym.Const(l.instr.Group), l.Facts)
	}
	last := l.packedX.Index[len(l.packedX.Index)-1]
	by, linear := sym.Coefficient(last, l.row.Var, l.Facts)
	return te.SubstIndices(*l.packedX, m, l.Facts), l.row.Var != "" && linear && by.Is(1)
}

// sums makes a stage of what becomes of sums of a term's elements; so many of its axes, the last ones, are within the sum.
func (l *plan) sums(k *packing, t *match.Term, element, result te.Expr, inner int, at string) te.Expr {
	e := te.Fn(ir.I32, "cast", k.subst(element, l.Facts))
	if len(k.there) > 0 {
		e = te.Select{Cond: k.there, Then: e, Else: te.Int(ir.I32, 0)}
	}
	k.Combine, k.Values, k.Results = te.Sum(ir.I32), []te.Expr{e}, []te.Expr{result}
	k.Reduce = l.Reduce
	k.sched.Loops = nil
	outer := len(k.Axes) - inner
	for i := range k.Axes[:outer] {
		k.sched.Loops = append(k.sched.Loops, l.serial(k, i))
	}
	for _, a := range k.Reduce {
		k.sched.Loops = append(k.sched.Loops, sched.Loop{Kind: sched.Serial, Var: l.nextLoop(), Axis: a.Var})
	}
	for i := range inner {
		k.sched.Loops = append(k.sched.Loops, l.serial(k, outer+i))
	}
	return l.add(k, t, at)
}
