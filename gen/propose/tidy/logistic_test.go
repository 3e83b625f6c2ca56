package tidy

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

func TestLogistic(t *testing.T) {
	x := te.Expr(te.Acc{N: 0, Type: ir.F32})
	fn := func(name string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, name, args...) }
	num := func(v float64) te.Expr { return te.Float(ir.F32, v) }
	exp := fn("exp", fn("neg", x))
	wide := te.Expr(te.Acc{N: 0, Type: ir.F64})
	wide1 := te.Float(ir.F64, 1)
	for _, c := range []struct {
		name     string
		in, want te.Expr
	}{
		{"sigmoid", fn("div", num(1), fn("add", num(1), exp)), fn("logistic", x)},
		{"SiLU", fn("mul", x, fn("div", num(1), fn("add", exp, num(1)))), fn("mul", x, fn("logistic", x))},
		{"another numerator", fn("div", num(2), fn("add", num(1), exp)), nil},
		{"another term", fn("div", num(1), fn("add", num(2), exp)), nil},
		{"no negative", fn("div", num(1), fn("add", num(1), fn("exp", x))), nil},
		{"a difference", fn("div", num(1), fn("sub", num(1), exp)), nil},
		{"no exponential", fn("div", num(1), fn("add", num(1), fn("neg", x))), nil},
		{"f64", te.Fn(ir.F64, "div", wide1, te.Fn(ir.F64, "add", wide1, te.Fn(ir.F64, "exp", te.Fn(ir.F64, "neg", wide)))), nil},
	} {
		want := c.want
		if want == nil {
			want = c.in
		}
		got := Logistic([]loop.Stmt{loop.Def{Name: "y", Init: c.in}, loop.Set{Name: "y", Value: c.in}, loop.Store{Value: c.in}})
		assert.Equal(t, []loop.Stmt{loop.Def{Name: "y", Init: want}, loop.Set{Name: "y", Value: want}, loop.Store{Value: want}}, got, c.name)
	}
}
