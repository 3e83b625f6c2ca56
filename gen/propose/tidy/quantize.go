package tidy

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Quantized writes rounding to an integer, a zero point and saturation as one function, as operators that quantize say it: bounds before the
// rounding, and integers of 32 bits behind it, take a few instructions for all lanes.
func Quantized(body []loop.Stmt) []loop.Stmt {
	return values(body, quantize)
}

// values applies f to all expressions of the values that statements bind or store, innermost first.
func values(body []loop.Stmt, f func(te.Expr) te.Expr) []loop.Stmt {
	return loop.Map(body, func(s loop.Stmt) loop.Stmt {
		switch x := s.(type) {
		case loop.Def:
			x.Init = te.Map(x.Init, f)
			return x
		case loop.Set:
			x.Value = te.Map(x.Value, f)
			return x
		case loop.Store:
			x.Value = te.Map(x.Value, f)
			return x
		}
		return s
	})
}

// quantize makes the function of cast(round(x) + cast(zero)), or of cast(round(x)).
func quantize(e te.Expr) te.Expr {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || !scalar.Quantizes(c.Type) {
		return e
	}
	zero, rounded := te.Expr(te.Int(c.Type, 0)), c.Args[0]
	if sum, ok := rounded.(te.Call); ok && sum.Fn == "add" {
		z, ok := sum.Args[1].(te.Call)
		if !ok || z.Fn != "cast" || z.Args[0].DType() != c.Type {
			return e
		}
		zero, rounded = z.Args[0], sum.Args[0]
	}
	if r, ok := rounded.(te.Call); ok && r.Fn == "round" && r.Type == ir.F32 {
		return te.Fn(c.Type, "quantize", r.Args[0], zero)
	}
	return e
}
