package nest

import (
	"math"
	"reflect"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// pick is a reduction of a row to one of its points.
type pick struct {
	*row
	take    te.Expr // whether the incoming tuple is the better one
	later   te.Expr // the same of one that does not come from before the other
	types   []ir.DType
	bufs    []*loop.Buffer
	defined int
}

// pick is the nest as the reduction of its only row to a point; nil where it is something else.
func (n *Nest) pick() *pick {
	if n.Combiner == nil || len(n.Values) < 2 || !picks[n.Combiner.Name] || len(n.Reduce) != 1 {
		return nil
	}
	p := &pick{take: takes(n.Combiner)}
	if p.take == nil {
		return nil
	}
	counts := make([]bool, len(n.Values))
	for k, v := range n.Values {
		t := v.DType()
		if x, ok := v.(te.Index); ok && (t == ir.I32 || t == ir.I64) { // narrower integers wrap, and floats round
			lo, hi := x.E.Bounds(n.Facts)
			narrow := lo >= math.MinInt32 && hi <= math.MaxInt32
			counts[k] = (narrow || t == ir.I64) && n.rises(x.E)
			if narrow && comparedAlone(p.take, k) {
				t = ir.I32 // of which a vector has more
			}
		}
		p.types = append(p.types, t)
	}
	p.later = decided(p.take, counts)
	return p
}

// rises reports whether an integer is larger at each later point of the only row.
func (n *Nest) rises(e sym.Expr) bool {
	step, linear := sym.Coefficient(e, n.Reduce[0].Var, n.Facts)
	c, known := step.Const()
	return linear && known && c > 0
}

// takes is the condition on which a combiner takes a tuple, all of it or nothing; nil where it does something else.
func takes(c *te.Combiner) te.Expr {
	var take te.Expr
	for k, j := range c.Join {
		x, ok := j.(te.Call)
		if !ok || x.Fn != "select" || x.Args[1] != te.Expr(te.In{N: k, Type: x.Type}) || x.Args[2] != te.Expr(te.Acc{N: k, Type: x.Type}) {
			return nil
		}
		if k > 0 && !reflect.DeepEqual(take, x.Args[0]) {
			return nil
		}
		take = x.Args[0]
	}
	return take
}

// comparedAlone reports whether a condition does nothing with component k of the tuples but compare it with the other's.
func comparedAlone(take te.Expr, k int) bool {
	alone := true
	te.Walk(take, func(e te.Expr) {
		x, ok := e.(te.Call)
		if !ok {
			return
		}
		own := 0
		for _, a := range x.Args {
			if component(a) == k {
				own++
			}
		}
		alone = alone && (own == 0 || own == len(x.Args) && scalar.Lookup(x.Fn).Result == scalar.Predicate)
	})
	return alone
}

// component is which one of a tuple an expression is; -1: none.
func component(e te.Expr) int {
	switch x := e.(type) {
	case te.Acc:
		return x.N
	case te.In:
		return x.N
	}
	return -1
}

// decided is the condition where the incoming tuple's counts are not less than the other's. Where they are equal both are one point, and either may be taken.
func decided(take te.Expr, counts []bool) te.Expr {
	truth := func(b bool) te.Expr {
		if b {
			return te.Int(ir.Bool, 1)
		}
		return te.Int(ir.Bool, 0)
	}
	return te.Map(take, func(e te.Expr) te.Expr {
		x, ok := e.(te.Call)
		if !ok || len(x.Args) != 2 {
			return e
		}
		in, isIn := x.Args[0].(te.In)
		acc, isAcc := x.Args[1].(te.Acc)
		switch {
		case isIn && isAcc && in.N == acc.N && counts[in.N] && x.Fn == "lt":
			return truth(false)
		case isIn && isAcc && in.N == acc.N && counts[in.N] && x.Fn == "gt":
			return truth(true)
		case x.Fn != "and" && x.Fn != "or":
			return e
		}
		for i, a := range x.Args {
			if c, is := a.(te.Const); is && (c.Bits != 0) == (x.Fn == "and") {
				return x.Args[1-i]
			} else if is {
				return c
			}
		}
		return e
	})
}
