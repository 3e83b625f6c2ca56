package ckernel

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/te"
)

// stored is the value of a store without the rounding that the store does itself: elements of 16 bits are floats until
// they are stored.
func stored(x loop.Store) te.Expr {
	if x.Buf.Local || !slices.Contains(loop.Halves, x.Buf.Type) {
		return x.Value
	}
	return unrounded(x.Value)
}

// unrounded is an expression of 16 bits that becomes the same number when it is rounded, without roundings that make no difference.
func unrounded(e te.Expr) te.Expr {
	c, ok := e.(te.Call)
	if !ok {
		return e
	}
	switch row := scalar.Lookup(c.Fn); {
	case row == nil:
	case row.Result == scalar.Target && slices.Contains(loop.Floats, c.Args[0].DType()):
		return c.Args[0]
	case c.Fn == "min" || c.Fn == "max":
		return bounded(c)
	case row.Result == scalar.Same:
		c.Type = ir.F32
		return c
	}
	return e
}

// bounded rounds after a bound in place of before: rounding keeps the order of numbers. It may make a number a bound's equal, of which the bound is the
// result; that is the same unless it is a zero of the other sign.
func bounded(c te.Call) te.Expr {
	out := te.Call{Fn: c.Fn, Type: ir.F32, Args: slices.Clone(c.Args)}
	y, ok := c.Args[1].(te.Const)
	if v := math.Float64frombits(y.Bits); !ok || v == 0 && (c.Fn == "min" || math.Signbit(v)) {
		return out
	}
	out.Args[0] = unrounded(c.Args[0])
	return out
}
