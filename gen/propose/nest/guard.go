package nest

import (
	"slices"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir/te"
)

// guardOutside makes a guard within functions one around them, where these make the sum's first value of what stands in for guarded elements,
// as the square of 0 is: guards of a sum of squares are then bounds of its loops, too.
func (n *Nest) guardOutside() {
	if n.Combiner == nil || len(n.Values) != 1 || !zero(n.Combiner.Init[0]) {
		return
	}
	call, ok := n.Values[0].(te.Call)
	if !ok {
		return
	}
	cond, found, same := []te.Within(nil), false, true
	te.Walk(call, func(e te.Expr) {
		if s, ok := e.(te.Select); ok {
			same = same && (!found || slices.EqualFunc(cond, s.Cond, sameCondition))
			cond, found = s.Cond, true
		}
	})
	if !found || !same || !zero(arms(call, func(s te.Select) te.Expr { return s.Else })) {
		return
	}
	n.Values[0] = te.Select{Cond: cond, Then: arms(call, func(s te.Select) te.Expr { return s.Then }), Else: n.Combiner.Init[0]}
}

func sameCondition(a, b te.Within) bool {
	return a.E.Equal(b.E) && a.Lo.Equal(b.Lo) && a.Hi.Equal(b.Hi)
}

// arms puts one arm in the place of each selection.
func arms(e te.Expr, arm func(te.Select) te.Expr) te.Expr {
	return te.Map(e, func(e te.Expr) te.Expr {
		if s, ok := e.(te.Select); ok {
			return arm(s)
		}
		return e
	})
}

// zero reports whether an expression is of constants, and 0.
func zero(e te.Expr) bool {
	constant := true
	te.Walk(e, func(e te.Expr) {
		switch e.(type) {
		case te.Const, te.Call:
		default:
			constant = false
		}
	})
	if !constant {
		return false
	}
	out, err := interp.Eval([]*te.Stage{{Name: "constant", Results: []te.Expr{e}}}, []te.Source{{Stage: true}}, nil, nil)
	return err == nil && !slices.ContainsFunc(out[0].Data, func(b byte) bool { return b != 0 })
}
