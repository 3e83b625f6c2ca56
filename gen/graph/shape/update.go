package shape

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// updated are all elements of a stage that updates some of its own: exporters write a dimension into
// a shape so. It is nil where an update may meet any of them.
func (e *evaluator) updated(s *te.Stage) []value {
	all, known := e.updates[s]
	if !known {
		all = e.update(s)
		e.updates[s] = all
	}
	return all
}

func (e *evaluator) update(s *te.Stage) []value {
	dims, ok := s.Shape().Static()
	n, err := ir.Len(dims)
	if !ok || err != nil || n > maxElems || s.Combine != nil {
		return nil
	}
	out := make([]value, n)
	for i := range out {
		out[i] = e.eval(s.Results[0], scope{vars: bind(s.Axes, unflatten(int64(i), dims))})
	}
	extents := make([]int64, len(s.Update.Axes))
	for i, a := range s.Update.Axes {
		if extents[i], ok = a.Extent.Const(); !ok {
			return nil
		}
	}
	points, err := ir.Len(extents)
	if err != nil || points > maxElems {
		return nil
	}
	for i := range points {
		if e.points++; e.points > maxPoints || !e.updateOne(s.Update, unflatten(i, extents), dims, out) {
			return nil
		}
	}
	return out
}

// bind gives axes' variables their values.
func bind(axes []te.Axis, at []int64) map[string]sym.Expr {
	vars := map[string]sym.Expr{}
	for i, a := range axes {
		vars[a.Var] = sym.Const(at[i])
	}
	return vars
}

// updateOne updates one element; false where it is not known which.
func (e *evaluator) updateOne(u *te.Update, at, dims []int64, out []value) bool {
	sc := scope{vars: bind(u.Axes, at)}
	for _, b := range u.Binds {
		v, ok := e.eval(b.Value, sc).whole()
		if !ok {
			return false
		}
		sc.vars[b.Var] = v
	}
	to, from := e.place(u.At, sc, dims), e.place(u.Source(), sc, dims)
	if to < 0 || from < 0 {
		return false
	}
	sc.acc, sc.in = []value{out[from]}, []value{e.eval(u.Value, sc)}
	out[to] = e.eval(u.Join, sc)
	return true
}

// place is the number of the element at some indices, or -1.
func (e *evaluator) place(index []sym.Expr, sc scope, dims []int64) int64 {
	at := make([]int64, len(index))
	for i, x := range index {
		c, ok := x.Subst(sc.vars, e.facts).Const()
		if !ok {
			return -1
		}
		at[i] = c
	}
	return flatten(at, dims)
}
