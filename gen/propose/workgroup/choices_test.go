package workgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestChoosing: what chooses is a number of each expression and no other one, as it is where an item's registers have what is chosen.
func TestChoosing(t *testing.T) {
	mod := func(v string, n int64) sym.Expr { return sym.Mod(sym.Var(v), sym.Const(n), nil) }
	for _, c := range []struct {
		name string
		of   sym.Expr
		want bool
	}{
		{"remainders of two axes", sym.Add(sym.Scale(mod("i0", 2), 2), mod("i1", 2)), true},
		{"a remainder", mod("i1", 4), true},
		{"less than all", mod("i1", 3), false},
		{"more than all", mod("i1", 5), false},
		{"below the first", sym.Sub(sym.Scale(mod("i0", 2), 3), mod("i1", 2)), false},
		{"from another one on", sym.Add(mod("i1", 3), sym.Const(1)), false},
		{"two remainders of one axis", sym.Add(mod("i1", 2), mod("i1", 3)), false},
		{"a quotient", sym.FloorDiv(sym.Var("i1"), sym.Const(4), nil), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			axes := []te.Axis{{Var: "i0", Extent: sym.Const(8)}, {Var: "i1", Extent: sym.Const(16)}}
			s := &te.Stage{Name: "s", Axes: axes, Results: []te.Expr{te.Float(ir.F32, 0)}}
			x := &choices{b: &block.Block{Stage: s}, of: c.of, arms: make([]te.Expr, 4)}
			assert.Equal(t, c.want, x.split())
		})
	}
}
