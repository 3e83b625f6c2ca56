package product

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/match"
)

// TestDiffersAsBytes: a byte minus a zero point of its type is 255 at most, to either side; other differences are not bounded so.
func TestDiffersAsBytes(t *testing.T) {
	zero := func(typ ir.DType) te.Expr { return te.Fn(ir.I32, "cast", te.Operand(1, typ)) }
	for _, c := range []struct {
		typ  ir.DType
		zero te.Expr
		want bool
	}{
		{ir.U8, nil, true}, {ir.I8, nil, true}, {ir.I32, nil, false}, {ir.I16, nil, false},
		{ir.U8, te.Int(ir.I32, 255), true}, {ir.U8, te.Int(ir.I32, 256), false}, {ir.U8, te.Int(ir.I32, -1), false},
		{ir.I8, te.Int(ir.I32, -128), true}, {ir.I8, te.Int(ir.I32, 128), false}, {ir.I8, te.Int(ir.I32, -129), false},
		{ir.U8, zero(ir.U8), true}, {ir.U8, zero(ir.I8), false}, {ir.U8, te.Operand(1, ir.I32), false},
	} {
		x := &match.Term{Load: te.Operand(0, c.typ), Zero: c.zero}
		assert.Equal(t, c.want, x.DiffersAsBytes(), "%s minus %v", c.typ, c.zero)
	}
}
