package te_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// TestEndsWithin: bounds follow from types, constants and functions; infinities do not count, but what is chosen beside them does.
func TestEndsWithin(t *testing.T) {
	half, x := te.Operand(0, ir.F16), te.Operand(1, ir.F32)
	wide := te.Fn(ir.F32, "cast", half)
	num := func(v float64) te.Expr { return te.Float(ir.F32, v) }
	fn := func(name string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, name, args...) }
	for _, c := range []struct {
		name string
		e    te.Expr
		want bool
	}{
		{"f16", half, true},
		{"f16 as f32", wide, true},
		{"f32", x, false},
		{"a bounded function", fn("sigmoid", x), true},
		{"an unbounded function", fn("exp", wide), false},
		{"clipped", fn("min", fn("max", x, num(0)), num(6)), true},
		{"clipped below alone", fn("max", x, num(0)), false},
		{"the lesser of f32 and f16", fn("min", x, wide), false},
		{"the lesser of an infinite one and a number", fn("max", fn("min", wide, num(math.Inf(1))), num(-1)), true},
		{"half of it", fn("mul", wide, num(-0.5)), true},
		{"twice it", fn("mul", wide, num(2)), false},
		{"a sum", fn("add", fn("tanh", x), num(65503)), true},
		{"a sum beyond", fn("sub", fn("tanh", x), num(65504)), false},
		{"a negative", fn("neg", fn("abs", wide)), true},
		{"a small integer", fn("cast", te.Operand(0, ir.I16)), true},
		{"an integer", fn("cast", te.Operand(0, ir.I32)), false},
		{"a choice", te.Select{Then: wide, Else: num(1e6)}, false},
		{"a choice within", fn("select", te.Operand(0, ir.Bool), wide, num(-3)), true},
		{"a constant", num(65504), true},
		{"an infinite constant", num(math.Inf(-1)), true},
		{"a constant beyond", num(65505), false},
		{"NaN", num(math.NaN()), true},
		{"an infinite one times zero", fn("mul", num(math.Inf(1)), num(0)), true},
	} {
		assert.Equal(t, c.want, te.EndsWithin(c.e, 65504), c.name)
	}
}
