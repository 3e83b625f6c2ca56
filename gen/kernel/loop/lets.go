package loop

import "rules_dnn/gen/ir/te"

// arm is one of a choice's two: what stands there is computed only where the condition
// holds, or only where it does not.
type arm struct {
	cond      []te.Within
	otherwise bool
	around    *arm // nil where the choice itself stands in no other one
}

// guarded is v where all arms are taken, and 0 elsewhere; v is not computed there.
func guarded(v te.Expr, in *arm) te.Expr {
	for ; in != nil; in = in.around {
		zero := te.Int(v.DType(), 0)
		if in.otherwise {
			v = te.Select{Cond: in.cond, Then: zero, Else: v}
		} else {
			v = te.Select{Cond: in.cond, Then: v, Else: zero}
		}
	}
	return v
}

// HoistLets turns bound integers into statements before the expression. What stands
// in an arm of a choice is read only where the arm is taken.
func HoistLets(e te.Expr) ([]Stmt, te.Expr) { return hoistLets(e, nil) }

func hoistLets(e te.Expr, in *arm) ([]Stmt, te.Expr) {
	var out []Stmt
	switch x := e.(type) {
	case te.Let:
		pre, v := hoistLets(x.Value, in)
		out = append(pre, Bind{Var: x.Var, Value: guarded(v, in), Lo: x.Lo, Hi: x.Hi, Known: x.Known})
		rest, body := hoistLets(x.Body, in)
		return append(out, rest...), body
	case te.Select:
		pre, then := hoistLets(x.Then, &arm{x.Cond, false, in})
		more, els := hoistLets(x.Else, &arm{x.Cond, true, in})
		x.Then, x.Else = then, els
		return append(pre, more...), x
	case te.Call:
		args := make([]te.Expr, len(x.Args))
		for i, a := range x.Args {
			var pre []Stmt
			pre, args[i] = hoistLets(a, in)
			out = append(out, pre...)
		}
		x.Args = args
		return out, x
	}
	return nil, e
}
