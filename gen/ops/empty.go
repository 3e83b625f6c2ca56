package ops

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// dropEmpty drops what a meaning never computes: elements of a stage without points, values of a sum without terms,
// an update without points. Their indices may divide by the dimension of 0, and there is nothing in them to tile.
func (m *Meaning) dropEmpty() {
	for i, s := range m.Stages {
		if empty(s.Axes) {
			m.Stages[i] = &te.Stage{Name: s.Name, Axes: s.Axes, Results: zeros(s.Results)}
			continue
		}
		left := *s
		left.Results, left.Values = dropNever(s.Results), dropNever(s.Values)
		if empty(s.Reduce) {
			left.Values = zeros(s.Values)
		}
		if s.Update != nil && empty(s.Update.Axes) {
			left.Update = nil
		}
		m.Stages[i] = &left
	}
}

// dropNever returns expressions without loads and branches whose guard is an empty range of indices,
// as of an axis without elements: C++ compilers warn of a comparison that never holds.
func dropNever(es []te.Expr) []te.Expr {
	out := slices.Clone(es)
	for i, e := range es {
		found := false
		te.Walk(e, func(e te.Expr) { found = found || otherwise(e) != nil })
		if found {
			out[i] = te.Map(e, func(e te.Expr) te.Expr {
				if other := otherwise(e); other != nil {
					return other
				}
				return e
			})
		}
	}
	return out
}

// otherwise returns what an expression is where its guard fails, if the guard holds nowhere; else nil.
func otherwise(e te.Expr) te.Expr {
	switch x := e.(type) {
	case te.Load:
		if never(x.Guard) {
			return x.Default
		}
	case te.Select:
		if never(x.Cond) {
			return x.Else
		}
	}
	return nil
}

// never reports whether one of the conditions is an empty range.
func never(guard []te.Within) bool {
	return slices.ContainsFunc(guard, func(w te.Within) bool {
		room, known := sym.Sub(w.Hi, w.Lo).Const()
		return known && room <= 0
	})
}

func empty(as []te.Axis) bool {
	return slices.ContainsFunc(as, func(a te.Axis) bool { return a.Extent.Is(0) })
}

func zeros(es []te.Expr) []te.Expr {
	out := make([]te.Expr, len(es))
	for i, e := range es {
		out[i] = te.Number(e.DType(), 0)
	}
	return out
}
