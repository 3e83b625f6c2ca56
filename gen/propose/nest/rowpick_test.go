package nest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestPickCounts: numbers along a row rise, and may be compared as i32, where their type holds all of them.
func TestPickCounts(t *testing.T) {
	row := te.Axis{Var: "r0", Extent: sym.Var("L")}
	for _, c := range []struct {
		typ     ir.DType
		last    int64
		kept    ir.DType
		decided bool
	}{
		{ir.I64, 1000, ir.I32, true},
		{ir.I64, 1 << 40, ir.I64, true},
		{ir.I32, 1000, ir.I32, true},
		{ir.I32, 1 << 40, ir.I32, false},
		{ir.U8, 100, ir.U8, false},
		{ir.U8, 1000, ir.U8, false},
		{ir.F32, 1 << 25, ir.F32, false},
	} {
		take := te.Call{Fn: "lt", Type: ir.Bool, Args: []te.Expr{te.In{N: 1, Type: c.typ}, te.Acc{N: 1, Type: c.typ}}}
		join := func(k int, d ir.DType) te.Expr {
			return te.Call{Fn: "select", Type: d, Args: []te.Expr{take, te.In{N: k, Type: d}, te.Acc{N: k, Type: d}}}
		}
		n := &Nest{
			Combiner: &te.Combiner{Name: "argmin", Join: []te.Expr{join(0, ir.F32), join(1, c.typ)}},
			Values:   []te.Expr{te.Const{Type: ir.F32}, te.Index{Type: c.typ, E: sym.Var(row.Var)}},
			Reduce:   []te.Axis{row},
			Facts:    sym.Facts{row.Var: {Lo: 0, Hi: c.last}},
		}
		p := n.pick()
		require.NotNil(t, p)
		assert.Equal(t, []ir.DType{ir.F32, c.kept}, p.types, "%s up to %d", c.typ, c.last)
		later := te.Expr(take)
		if c.decided {
			later = te.Int(ir.Bool, 0)
		}
		assert.Equal(t, later, p.later, "%s up to %d", c.typ, c.last)
	}
}
