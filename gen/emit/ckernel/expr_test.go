package ckernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// plain is as much of a dialect as comparisons need.
type plain struct{ Dialect }

func (plain) Literal(c te.Const) string { return fmt.Sprint(int64(c.Bits)) }

func (plain) Call(c te.Call, args []string, _ int64) (string, error) {
	return scalar.Lookup(c.Fn).C(c.Type, args), nil
}

// TestCertain: C++ compilers warn of comparisons that have one result only.
func TestCertain(t *testing.T) {
	x := loop.Ref{Name: "x", Type: ir.U8}
	p := exprs{d: plain{}, conds: map[string]string{}, name: func(_ ir.DType, text string) string { return text }}
	for _, c := range []struct {
		fn   string
		a, b te.Expr
		want string
	}{
		{"lt", x, te.Int(ir.U8, 0), "false"},
		{"ge", x, te.Int(ir.U8, 0), "true"},
		{"gt", te.Int(ir.U8, 0), x, "false"},
		{"le", te.Int(ir.U8, 0), x, "true"},
		{"gt", x, te.Int(ir.U8, 0), "(x > 0)"},
		{"lt", loop.Ref{Name: "x", Type: ir.I8}, te.Int(ir.I8, 0), "(x < 0)"},
	} {
		got, err := p.value(te.Fn(ir.Bool, c.fn, c.a, c.b))
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}
