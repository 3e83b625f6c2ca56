package ckernel

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// stored is the value of a store without the rounding that the store does itself: elements of 16 bits are floats until
// they are stored. narrowed: they are to be held within the type's range before.
func stored(x loop.Store) (v te.Expr, narrowed bool) {
	if x.Buf.Widened() || !slices.Contains(loop.Halves, x.Buf.Type) {
		return x.Value, false
	}
	v, narrowed = unrounded(x.Value)
	return v, narrowed && !te.EndsWithin(v, scalar.Greatest(x.Buf.Type))
}

// unrounded is an expression of 16 bits that becomes the same number when it is rounded, without roundings that make no difference. narrowed: it
// becomes the same when it is held within the type's range and rounded.
func unrounded(e te.Expr) (v te.Expr, narrowed bool) {
	c, ok := e.(te.Call)
	if !ok {
		return e, false
	}
	switch row := scalar.Lookup(c.Fn); {
	case row == nil:
	case row.Result == scalar.Narrowed:
		return c.Args[0], true
	case row.Result == scalar.Target && slices.Contains(loop.Floats, c.Args[0].DType()):
		return c.Args[0], false
	case c.Fn == "min" || c.Fn == "max":
		return bounded(c)
	case row.Result == scalar.Same:
		c.Type = ir.F32
		return c, false
	}
	return e, false
}

// bounded rounds after a bound in place of before: rounding keeps the order of numbers, and so does holding them within a range. It may make a number
// a bound's equal, of which the bound is the result; that is the same unless it is a zero of the other sign.
func bounded(c te.Call) (v te.Expr, narrowed bool) {
	out := te.Call{Fn: c.Fn, Type: ir.F32, Args: slices.Clone(c.Args)}
	y, ok := c.Args[1].(te.Const)
	if v := math.Float64frombits(y.Bits); !ok || v == 0 && (c.Fn == "min" || math.Signbit(v)) {
		return out, false
	}
	out.Args[0], narrowed = unrounded(c.Args[0])
	return out, narrowed
}
