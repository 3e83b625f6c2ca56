package cpp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/te"
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
		assert.Equal(t, c.want, literal(c.e.(te.Const)))
	}
}

// TestCertain: C++ compilers warn of comparisons that have one result only.
func TestCertain(t *testing.T) {
	x := loop.Ref{Name: "x", Type: ir.U8}
	p := exprs{name: func(_ ir.DType, text string) string { return text }}
	for _, c := range []struct {
		fn   string
		a, b te.Expr
		want string
	}{
		{"lt", x, te.Int(ir.U8, 0), "false"},
		{"ge", x, te.Int(ir.U8, 0), "true"},
		{"gt", te.Int(ir.U8, 0), x, "false"},
		{"le", te.Int(ir.U8, 0), x, "true"},
		{"gt", x, te.Int(ir.U8, 0), "(x > (uint8_t)0U)"},
		{"lt", loop.Ref{Name: "x", Type: ir.I8}, te.Int(ir.I8, 0), "(x < (int8_t)INT64_C(0))"},
	} {
		got, err := p.value(te.Fn(ir.Bool, c.fn, c.a, c.b))
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}
