package tidy

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Logistic writes 1 / (1 + e^-x) of f32 as one function.
func Logistic(body []loop.Stmt) []loop.Stmt { return values(body, logistic) }

func logistic(e te.Expr) te.Expr {
	one := te.Float(ir.F32, 1)
	quotient := function(e, "div")
	if quotient == nil || quotient[0] != one {
		return e
	}
	sum := function(quotient[1], "add")
	if sum == nil {
		return e
	}
	power := sum[1]
	if sum[0] != one {
		if power != one {
			return e
		}
		power = sum[0]
	}
	if exp := function(power, "exp"); exp != nil {
		if x := function(exp[0], "neg"); x != nil {
			return te.Fn(ir.F32, "logistic", x[0])
		}
	}
	return e
}

// function returns the arguments if e is this function of f32, else nil.
func function(e te.Expr, name string) []te.Expr {
	if c, ok := e.(te.Call); ok && c.Fn == name && c.Type == ir.F32 {
		return c.Args
	}
	return nil
}
