package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// The few words in which rows write scalar expressions. The type of a call is that
// of its first argument, comparisons apart.

func call(fn string, args ...te.Expr) te.Expr { return te.Fn(args[0].DType(), fn, args...) }

// test applies a function whose result is a bool.
func test(fn string, args ...te.Expr) te.Expr { return te.Fn(ir.Bool, fn, args...) }

func add(a, b te.Expr) te.Expr { return call("add", a, b) }
func sub(a, b te.Expr) te.Expr { return call("sub", a, b) }
func mul(a, b te.Expr) te.Expr { return call("mul", a, b) }
func div(a, b te.Expr) te.Expr { return call("div", a, b) }

// sel is a where cond holds, else b.
func sel(cond, a, b te.Expr) te.Expr { return te.Fn(a.DType(), "select", cond, a, b) }

// num is the literal v in the type of like.
func num(like te.Expr, v float64) te.Expr { return te.Number(like.DType(), v) }

// cast converts, or leaves alone what has the type already.
func cast(t ir.DType, x te.Expr) te.Expr {
	if x.DType() == t {
		return x
	}
	return te.Fn(t, "cast", x)
}

// wide is the type in which expressions of several steps, and sums, compute: half
// types would round at each step. What a node gives is rounded to its type once, also where the next node
// is computed with it: a network's numbers do not depend on what is fused. ONNX Runtime, whose processors
// compute most nodes in f32, leaves such roundings out where it joins nodes; the two are as near as f16's error.
func wide(t ir.DType) ir.DType {
	if t == ir.F16 || t == ir.BF16 {
		return ir.F32
	}
	return t
}

// widened computes f in the wide type of x and rounds once.
func widened(x te.Expr, f func(te.Expr) te.Expr) te.Expr {
	return cast(x.DType(), f(cast(wide(x.DType()), x)))
}

// floating is the floating-point type in which numbers of type t compute where a
// fraction is involved.
func floating(t ir.DType) ir.DType {
	switch t {
	case ir.I32, ir.I64, ir.U32, ir.U64, ir.F64:
		return ir.F64
	}
	return ir.F32
}

// inside is one expression where w holds, else the other. Where w is certain under the
// facts, the other one and the operands that only it reads are left out.
func inside(w te.Within, f sym.Facts, then, other te.Expr) te.Expr {
	above, room := sym.Sub(w.E, w.Lo), sym.Sub(w.Hi, w.E)
	switch {
	case sym.AtLeast(above, 0, f) && sym.AtLeast(room, 1, f):
		return then
	case sym.AtMost(above, -1, f) || sym.AtMost(room, 0, f):
		return other
	}
	return te.Select{Cond: []te.Within{w}, Then: then, Else: other}
}

// holds is the conjunction of conditions on indices as a bool.
func holds(ws []te.Within) te.Expr {
	index := func(e sym.Expr) te.Expr { return te.Index{Type: ir.I64, E: e} }
	var out te.Expr
	for _, w := range ws {
		here := te.Fn(ir.Bool, "and", test("ge", index(w.E), index(w.Lo)), test("lt", index(w.E), index(w.Hi)))
		if out != nil {
			here = te.Fn(ir.Bool, "and", out, here)
		}
		out = here
	}
	return out
}
