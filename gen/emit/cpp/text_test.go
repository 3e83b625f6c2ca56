package cpp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// TestLiterals: a literal has exactly the value that it has as an element of its type, and can
// be an operand anywhere.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		e    te.Expr
		want string
	}{
		{te.Float(ir.F32, 1), "1.0f"},
		{te.Float(ir.F32, 0.1), "0.1f"},
		{te.Float(ir.F32, -2.5), "(-2.5f)"},
		{te.Float(ir.F32, math.Copysign(0, -1)), "(-0.0f)"},
		{te.Float(ir.F32, 1e30), "1e+30f"},
		{te.Float(ir.F32, math.Inf(1)), "__builtin_inff()"},
		{te.Float(ir.F32, math.Inf(-1)), "(-__builtin_inff())"},
		{te.Float(ir.F32, math.NaN()), `__builtin_nanf("")`},
		{te.Float(ir.F64, 0.1), "0.1"},
		{te.Float(ir.F64, math.Inf(-1)), "(-__builtin_inf())"},
		{te.Float(ir.F16, 0.01), "0.010002136f"},
		{te.Float(ir.F16, 1e6), "__builtin_inff()"},
		{te.Float(ir.BF16, 0.01), "0.010009766f"},
		{te.Int(ir.Bool, 1), "true"},
		{te.Int(ir.I8, -128), "(int8_t)INT64_C(-128)"},
		{te.Int(ir.I64, math.MinInt64), "(-INT64_C(9223372036854775807) - 1)"},
		{te.Int(ir.U8, 255), "(uint8_t)255U"},
		{te.Highest(ir.U64), "(uint64_t)18446744073709551615U"},
	} {
		assert.Equal(t, c.want, Literal(c.e.(te.Const)))
	}
}
