package grad

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// reverser walks an expression from its value to what it reads, with the adjoint at each place.
type reverser struct {
	load func(l te.Load, adj te.Expr)
	acc  func(n int, adj te.Expr)
	// binds are the loaded integers in whose scope the walk is.
	binds []te.Let
}

func (r *reverser) run(e, adj te.Expr) error {
	switch x := e.(type) {
	case te.Const, te.Index:
		return nil
	case te.Acc:
		r.acc(x.N, adj)
		return nil
	case te.Load:
		if !x.Type.IsFloat() {
			return nil
		}
		r.load(x, adj)
		if x.Default == nil {
			return nil
		}
		return r.run(x.Default, te.Select{Cond: x.Guard, Then: te.Number(adj.DType(), 0), Else: adj})
	case te.Select:
		zero := te.Number(adj.DType(), 0)
		if err := r.run(x.Then, te.Select{Cond: x.Cond, Then: adj, Else: zero}); err != nil {
			return err
		}
		return r.run(x.Else, te.Select{Cond: x.Cond, Then: zero, Else: adj})
	case te.Let:
		// A name of its own: the adjoint may bind the same one, in a part of a slope.
		own := fmt.Sprint("B", len(r.binds))
		x.Body = te.SubstIndices(x.Body, map[string]sym.Expr{x.Var: sym.Var(own)}, nil)
		x.Var = own
		r.binds = append(r.binds, x)
		err := r.run(x.Body, adj)
		r.binds = r.binds[:len(r.binds)-1]
		return err
	case te.Call:
		return r.call(x, adj)
	}
	return fmt.Errorf("an expression of type %T has no derivative", e)
}

// call passes the adjoint on to the arguments that are floats.
func (r *reverser) call(x te.Call, adj te.Expr) error {
	if !x.Type.IsFloat() {
		return nil // no small change of an argument changes it, but where it jumps
	}
	var slopes []*scalar.Formula
	for i, a := range x.Args {
		if !a.DType().IsFloat() || isConst(a) {
			continue
		}
		if slopes == nil {
			var err error
			if slopes, err = scalar.Slopes(x.Fn); err != nil {
				return err
			}
		}
		if slopes[i].Is(0) {
			continue
		}
		part := times(adj, slopes[i], x)
		if t := a.DType(); t != x.Type {
			part = te.Fn(t, "cast", part)
		}
		if err := r.run(a, part); err != nil {
			return err
		}
	}
	return nil
}

func isConst(e te.Expr) bool { _, ok := e.(te.Const); return ok }

// times is the adjoint times a slope of the call. A choice between slopes chooses between adjoints.
func times(adj te.Expr, slope *scalar.Formula, x te.Call) te.Expr {
	t := adj.DType()
	switch {
	case slope.Is(0):
		return te.Number(t, 0)
	case slope.Is(1):
		return adj
	case slope.Is(-1):
		return te.Fn(t, "neg", adj)
	case slope.Fn == "neg":
		return te.Fn(t, "neg", times(adj, slope.Args[0], x))
	case slope.Fn == "reciprocal":
		return te.Fn(t, "div", adj, built(slope.Args[0], x))
	case slope.Fn == "select":
		return te.Fn(t, "select", built(slope.Args[0], x), times(adj, slope.Args[1], x), times(adj, slope.Args[2], x))
	}
	return te.Fn(t, "mul", adj, built(slope, x))
}

// built is a formula of the call's arguments and result.
func built(f *scalar.Formula, x te.Call) te.Expr {
	switch {
	case f.Fn == "" && f.Arg == scalar.Number:
		return te.Number(x.Type, f.Num)
	case f.Fn == "" && f.Arg == scalar.Result:
		return x
	case f.Fn == "":
		return x.Args[f.Arg]
	}
	args := make([]te.Expr, len(f.Args))
	for i, a := range f.Args {
		args[i] = built(a, x)
	}
	t := x.Type
	if scalar.Lookup(f.Fn).Result == scalar.Predicate {
		t = ir.Bool
	}
	return te.Fn(t, f.Fn, args...)
}

// sumOf adds expressions.
func sumOf(es []te.Expr) te.Expr {
	out := es[0]
	for _, e := range es[1:] {
		out = te.Fn(out.DType(), "add", out, e)
	}
	return out
}
