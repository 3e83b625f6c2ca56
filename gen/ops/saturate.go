package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// saturating is the meaning of a node whose results the compiler stores in 16 bits by itself (ir.Node.Saturates): what the node computes of
// 16 bits is computed in f32 and narrowed, so that no finite number becomes infinite. A model's own f16 is ONNX's, and is left alone.
func saturating(n *ir.Node, m *Meaning) *Meaning {
	if IsBounded(n.Op) {
		return m // whose other stages are of f32
	}
	for i, s := range m.Stages {
		m.Stages[i] = s.MapExprs(narrowed)
	}
	return m
}

// narrowed is an expression that narrows where it rounded to 16 bits, and cannot be sure to stay within the range.
func narrowed(e te.Expr) te.Expr {
	c, ok := e.(te.Call)
	if !ok || wide(c.Type) == c.Type {
		return e
	}
	row := scalar.Lookup(c.Fn)
	switch {
	case row == nil || row.Exact || row.Result == scalar.Narrowed:
		return e
	case c.Fn == "cast" && c.Args[0].DType() == c.Type:
		return e
	case c.Fn == "cast":
		return narrowedTo(c.Type, cast(ir.F32, c.Args[0]))
	}
	args := make([]te.Expr, len(c.Args))
	for i, a := range c.Args {
		args[i] = cast(ir.F32, a)
	}
	return narrowedTo(c.Type, call(c.Fn, args...))
}

// narrowedTo narrows a number of f32.
func narrowedTo(t ir.DType, x te.Expr) te.Expr {
	if te.EndsWithin(x, scalar.Greatest(t)) {
		return te.Fn(t, "cast", x)
	}
	return te.Fn(t, "narrow", x)
}

// KeepsSums returns the reason why a meaning must not be stored in a type of 16 bits: it keeps sums, or products, of results between
// the steps that add to them in the results' type; "" if it keeps none.
func KeepsSums(m *Meaning, t ir.DType) string {
	for _, s := range m.Stages {
		if s.Combine != nil && !every(s.Combine.Join, func(e te.Expr) bool { return e.DType() != t || chooses(e) }) {
			return whySteps
		}
		if s.Update != nil && s.Update.Join.DType() == t && !chooses(s.Update.Join) {
			return whySteps
		}
	}
	return ""
}

// chooses reports whether an expression of floats is one of the numbers that it reads, or has no more digits.
func chooses(e te.Expr) bool {
	c, ok := e.(te.Call)
	if !ok || !c.Type.IsFloat() {
		return true
	}
	row := scalar.Lookup(c.Fn)
	return row != nil && row.Exact && every(c.Args, chooses)
}
