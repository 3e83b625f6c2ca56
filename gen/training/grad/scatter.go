package grad

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

const boolean = ir.Bool

// axes are loops over a shape, called by a letter.
func axes(letter string, shape []int64) []te.Axis {
	out := make([]te.Axis, len(shape))
	for i, n := range shape {
		out[i] = te.Axis{Var: fmt.Sprint(letter, i), Extent: sym.Const(n)}
	}
	return out
}

// scattered adds the adjoint of each point to the element that the point loads.
func scattered(l *loaded, to []te.Axis, t ir.DType) (*te.Stage, error) {
	u := &te.Update{
		Axes: l.axes, Value: sumOf(l.adj),
		Join: te.Fn(t, "add", te.Acc{N: 0, Type: t}, te.In{N: 0, Type: t}),
	}
	for i, x := range l.binds {
		u.Binds = append(u.Binds, te.Bind{Var: x.Var, Value: bound(l.binds[:i], x.Value), Lo: x.Lo, Hi: x.Hi})
	}
	f := facts(l.axes)
	for _, x := range l.binds {
		lo, _ := x.Lo.Bounds(f)
		_, hi := x.Hi.Bounds(f)
		f[x.Var] = sym.Range{Lo: lo, Hi: hi}
	}
	for d, e := range l.load.Index {
		last := sym.Sub(to[d].Extent, sym.Const(1))
		if lo, hi := e.Bounds(f); lo < 0 || !sym.AtLeast(sym.Sub(last, e), 0, f) || hi == math.MaxInt64 {
			// Where a guard does not hold, or another branch is taken, a zero is added to some element.
			e = sym.Max(sym.Const(0), sym.Min(e, last, f), f)
		}
		u.At = append(u.At, e)
	}
	if len(l.load.Guard) > 0 {
		u.Value = te.Select{Cond: l.load.Guard, Then: u.Value, Else: te.Number(t, 0)}
	}
	u.Value = bound(l.binds, u.Value)
	if n := variables(u); n > te.MaxVariables {
		return nil, fmt.Errorf("its adjoint has %d loops and bound variables; at most %d are supported", n, te.MaxVariables)
	}
	// The axes of the result and those of the update have names of their own.
	own := make([]te.Axis, len(to))
	for i, a := range to {
		own[i] = te.Axis{Var: fmt.Sprint("to", i), Extent: a.Extent}
	}
	return &te.Stage{Name: "scattered gradient", Axes: own, Results: []te.Expr{te.Number(t, 0)}, Update: u}, nil
}

// variables returns the number of loops and bound variables of an update.
func variables(u *te.Update) int {
	n := len(u.Axes) + len(u.Binds)
	count := func(e te.Expr) {
		if _, ok := e.(te.Let); ok {
			n++
		}
	}
	for _, x := range u.Binds {
		te.Walk(x.Value, count)
	}
	te.Walk(u.Value, count)
	return n
}

// facts are the ranges of loops.
func facts(axes []te.Axis) sym.Facts {
	f := sym.Facts{}
	for _, a := range axes {
		n, _ := a.Extent.Const()
		f[a.Var] = sym.Range{Lo: 0, Hi: n - 1}
	}
	return f
}

// update walks the value of an update back, which is added to elements or replaces them, and gives the gradient by the
// elements before it. Of several values that replace one element each is taken for the last: ONNX does not say which is.
func (v *visit) update(g te.Source) (te.Source, error) {
	u, t := v.s.Update, v.s.Results[0].DType()
	join, _ := u.Join.(te.Call)
	_, replaces := u.Join.(te.In)
	adds := join.Fn == "add" && u.From == nil
	if !adds && !replaces {
		return g, fmt.Errorf("its elements are updated sequentially, each from others")
	}
	r := v.walk(u.Axes)
	for _, x := range u.Binds {
		r.binds = append(r.binds, te.Let{Var: x.Var, Value: x.Value, Lo: x.Lo, Hi: x.Hi, Body: te.Number(t, 0)})
	}
	if err := r.run(u.Value, te.Load{Source: g, Type: t, Index: u.At}); err != nil || adds {
		return g, err
	}
	cleared := *u
	cleared.Value, cleared.Join, cleared.From = te.Number(t, 0), te.Replace(t), nil
	return v.b.add(&te.Stage{
		Name: "kept gradient", Axes: v.s.Axes, Update: &cleared,
		Results: []te.Expr{te.Load{Source: g, Type: t, Index: te.AxisVars(v.s.Axes)}},
	}), nil
}
