package lower

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// corrected are the block's results of sums of what is packed: the sum of (x - a) (w - b) is that of x w, minus a times the sum of w and b
// times that of x, plus a times b for each of them.
func (l *plan) corrected() []te.Expr {
	a, b := l.x.left(l.instr.X), l.w.left(l.instr.W)
	sum := te.Expr(te.Acc{Type: l.sum()})
	if a != nil {
		sum = te.Fn(ir.I32, "sub", sum, te.Fn(ir.I32, "mul", a, l.sumsW()))
	}
	if b != nil {
		sum = te.Fn(ir.I32, "sub", sum, te.Fn(ir.I32, "mul", b, l.sumsX()))
	}
	if a != nil && b != nil {
		n := int64(1)
		for _, r := range l.reduce {
			m, _ := r.Extent.Const()
			n *= m
		}
		sum = te.Fn(ir.I32, "add", sum, te.Fn(ir.I32, "mul", te.Fn(ir.I32, "mul", a, b), te.Int(ir.I32, int64(int32(n)))))
	}
	out := make([]te.Expr, len(l.stage.Results))
	for i, r := range l.stage.Results {
		out[i] = te.Map(r, func(e te.Expr) te.Expr {
			if _, ok := e.(te.Acc); ok {
				return sum
			}
			return e
		})
	}
	return out
}

// sumsW is the sum of what is packed of W, for each column.
func (l *plan) sumsW() te.Expr {
	k := l.packing("sums of columns")
	for _, a := range l.stage.Axes {
		if a.Var != l.column.Var && !a.Extent.Is(1) && uses(l.w.load, a.Var) {
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), l.places[a.Var].now(), 1)
		}
	}
	inner := 0
	if uses(l.w.load, l.column.Var) {
		v := k.axis(l.columns, sym.Var(l.column.Var), sym.Scale(sym.Var(groupVar), l.width), l.width)
		k.names[l.column.Var], inner = v, 1
		if !l.columns.Equal(l.column.Extent) {
			k.until(v, l.column.Extent)
		}
	}
	return l.sums(k, l.w, l.instr.W, inner, l.inner)
}

// sumsX is the sum of what is read of X, for each row.
func (l *plan) sumsX() te.Expr {
	k, at := l.packing("sums of rows"), groupVar
	if l.chunk > 0 {
		at = rowsVar
	}
	for _, a := range l.stage.Axes {
		if a.Var == l.row.Var || a.Extent.Is(1) || !uses(l.x.load, a.Var) {
			continue
		}
		if where, ok := l.places[a.Var]; ok {
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), where.now(), 1)
			continue
		}
		k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), sym.Const(0), 0)
	}
	if uses(l.x.load, l.row.Var) {
		k.names[l.row.Var] = l.rowAxis(k)
	}
	return l.sums(k, l.x, l.instr.X, 0, at)
}

// sums makes a stage of sums of a term's elements; so many of its axes, the last ones, are within the sum.
func (l *plan) sums(k *packing, t *term, typ ir.DType, inner int, at string) te.Expr {
	e := te.Fn(ir.I32, "cast", k.subst(t.element(typ), l.facts))
	if len(k.there) > 0 {
		e = te.Select{Cond: k.there, Then: e, Else: te.Int(ir.I32, 0)}
	}
	k.Combine, k.Values, k.Results = te.Sum(ir.I32), []te.Expr{e}, []te.Expr{te.Acc{Type: ir.I32}}
	k.Reduce = l.reduce
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
