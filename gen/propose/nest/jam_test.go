package nest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestLifted: an integer is bound once for all points of the axes on which it does not depend, which then run in vectors, unless it would be bound for elements that
// are not there.
func TestLifted(t *testing.T) {
	ids := &loop.Buffer{Name: "a0", Type: ir.I64, Size: sym.Const(6)}
	table := &loop.Buffer{Name: "a1", Type: ir.F32, Size: sym.Const(9 * 32)}
	y := &loop.Buffer{Name: "y0", Type: ir.F32, Write: true, Size: sym.Const(6 * 32)}
	row := func(v string) sym.Expr { return sym.Add(sym.Scale(sym.Var(v), 32), sym.Var("p1")) }
	within := func(e sym.Expr) []te.Within { return []te.Within{{E: e, Lo: sym.Const(0), Hi: sym.Const(5)}} }
	for name, c := range map[string]struct {
		of      sym.Expr // the integer's place
		columns sym.Expr
		within  []te.Within
		want    bool
	}{
		"rows":                          {sym.Var("p0"), sym.Const(32), nil, true},
		"elements":                      {sym.Var("p1"), sym.Const(32), nil, false},
		"rows that may have no element": {sym.Var("p0"), sym.Var("N"), nil, false},
		"rows that are padding":         {sym.Var("p0"), sym.Const(32), within(sym.Var("p0")), false},
		"padding at the ends of rows":   {sym.Var("p0"), sym.Const(32), within(sym.Var("p1")), true},
	} {
		n := &Nest{target: lowertest.Chip(t, "x86_64_v4"), lanes: 16, Out: []*loop.Buffer{y}, within: c.within,
			Facts: sym.Facts{"p0": {Lo: 0, Hi: 5}, "p1": {Lo: 0, Hi: 31}, "b0": {Lo: 0, Hi: 8}, "N": {Lo: 0, Hi: 32}}}
		n.Axes = []te.Axis{{Var: "p0", Extent: sym.Const(6)}, {Var: "p1", Extent: c.columns}}
		n.At = layout.Position{Index: row("p0")}
		n.Results = []te.Expr{te.Let{Var: "b0", Value: loop.Mem{Buf: ids, Index: c.of}, Lo: sym.Const(0), Hi: sym.Const(8), Body: loop.Mem{Buf: table, Index: row("b0")}}}
		assert.Equal(t, c.want && c.within == nil, n.vectorises(n.Axes[1], 1), name)
		body := n.run(n.Axes)
		rows, ok := body[0].(loop.For)
		require.True(t, ok, name)
		_, lifted := rows.Body[0].(loop.Bind)
		assert.Equal(t, c.want, lifted, name)
	}
}
