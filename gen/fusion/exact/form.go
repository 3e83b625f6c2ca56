package exact

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// param is a constant of a form, number n of its params.
type param struct{ n int }

// DType is the type of the value.
func (param) DType() ir.DType { return ir.F32 }

// form is an expression whose constants are to be found, near some numbers.
type form struct {
	expr te.Expr
	near []float32
}

// forms are expressions of fewer operations that have about the value of x, the one with the fewest first.
func forms(x te.Expr) []*form {
	out := []*form{{}, {}}
	out[0].expr, out[1].expr = out[0].scaled(x, 1, true), out[1].scaled(x, 1, false)
	if c, ok := x.(te.Call); ok && c.Fn == "div" && c.Type == ir.F32 {
		if by, ok := literal(c.Args[1]); ok {
			f := &form{}
			f.expr = f.times(c.Args[0], 1/by)
			out = append(out, f)
		}
	}
	return out
}

// scaled is e times a number, which becomes a factor of e's own constants. Those of both operands of a product become one, if joined.
func (f *form) scaled(e te.Expr, by float64, joined bool) te.Expr {
	rest, own := factored(e, joined)
	by *= own
	if rest == nil {
		return f.constant(by)
	}
	c, ok := rest.(te.Call)
	if !ok || c.Type != ir.F32 {
		return f.times(rest, by)
	}
	switch c.Fn {
	case "max", "min":
		if by <= 0 {
			return f.times(rest, by)
		}
	case "mul": // of which neither operand is a number
		if joined {
			return f.times(rest, by)
		}
		return te.Fn(ir.F32, "mul", f.scaled(c.Args[0], by, joined), f.scaled(c.Args[1], 1, joined))
	case "div": // by what is no number
		return te.Fn(ir.F32, "div", f.scaled(c.Args[0], by, joined), c.Args[1])
	case "add", "sub":
	default:
		return f.times(rest, by)
	}
	return te.Fn(ir.F32, c.Fn, f.scaled(c.Args[0], by, joined), f.scaled(c.Args[1], by, joined))
}

// times is e times a constant.
func (f *form) times(e te.Expr, by float64) te.Expr {
	if by == 1 {
		return e
	}
	return te.Fn(ir.F32, "mul", e, f.constant(by))
}

func (f *form) constant(x float64) te.Expr {
	if x == 0 {
		return te.Float(ir.F32, 0)
	}
	f.near = append(f.near, float32(x))
	return param{len(f.near) - 1}
}

// factored is e without its constant factors, nil where it is a constant, and these. Those of both operands of a product are, if joined.
func factored(e te.Expr, joined bool) (te.Expr, float64) {
	if x, ok := literal(e); ok {
		return nil, x
	}
	c, ok := e.(te.Call)
	if !ok || c.Type != ir.F32 {
		return e, 1
	}
	switch c.Fn {
	case "neg":
		rest, by := factored(c.Args[0], joined)
		return rest, -by
	case "div":
		if by, ok := literal(c.Args[1]); ok {
			rest, own := factored(c.Args[0], joined)
			return rest, own / by
		}
	case "mul":
		return product(c, joined)
	}
	return e, 1
}

func product(c te.Call, joined bool) (te.Expr, float64) {
	a, x := factored(c.Args[0], joined)
	b, y := factored(c.Args[1], joined)
	switch {
	case a == nil && b == nil:
		return nil, x * y
	case a == nil:
		return b, x * y
	case b == nil:
		return a, x * y
	case joined:
		return te.Fn(ir.F32, "mul", a, b), x * y
	}
	return c, 1
}

// literal is a constant of f32.
func literal(e te.Expr) (float64, bool) {
	c, ok := e.(te.Const)
	if !ok || c.Type != ir.F32 {
		return 0, false
	}
	return math.Float64frombits(c.Bits), true
}

// with is the expression with some numbers as its constants.
func (f *form) with(params []float32) te.Expr {
	return te.Map(f.expr, func(e te.Expr) te.Expr {
		if p, ok := e.(param); ok {
			return te.Float(ir.F32, float64(params[p.n]))
		}
		return e
	})
}
