package ops

import (
	"slices"

	"rules_dnn/gen/te"
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
		if empty(s.Reduce) {
			left.Values = zeros(s.Values)
		}
		if s.Update != nil && empty(s.Update.Axes) {
			left.Update = nil
		}
		m.Stages[i] = &left
	}
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
