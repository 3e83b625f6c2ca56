package ckernel

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/te"
)

// stored is the value of a store without the rounding that the store does itself: elements of 16 bits are floats until
// they are stored.
func stored(x loop.Store) te.Expr {
	c, ok := x.Value.(te.Call)
	if !ok || x.Buf.Local || !slices.Contains(loop.Halves, x.Buf.Type) {
		return x.Value
	}
	switch row := scalar.Lookup(c.Fn); {
	case row == nil:
	case row.Result == scalar.Target && slices.Contains(loop.Floats, c.Args[0].DType()):
		return c.Args[0]
	case row.Result == scalar.Same:
		c.Type = ir.F32
		return c
	}
	return x.Value
}
