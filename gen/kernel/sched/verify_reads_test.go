package sched

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestDistinct: each load of a stage is checked once, and those that have indices alone in common are several.
func TestDistinct(t *testing.T) {
	index := []sym.Expr{sym.Var("i0")}
	l := te.FromStage(0, ir.F32, index...)
	other, second, guarded := l, l, l
	other.Source.N = 1
	second.Source.Part = 1
	guarded.Guard, guarded.Default = []te.Within{{E: index[0], Hi: sym.Const(3)}}, te.Float(ir.F32, 0)
	sum := func(a, b te.Expr) te.Expr { return te.Fn(ir.F32, "add", a, b) }
	for _, c := range []struct {
		name string
		es   []te.Expr
		want []te.Expr
	}{
		{"copies", []te.Expr{l, sum(l, l)}, []te.Expr{l}},
		{"of another stage", []te.Expr{l, sum(l, other)}, []te.Expr{l, other}},
		{"of another result", []te.Expr{sum(l, second)}, []te.Expr{l, second}},
		{"one with a guard", []te.Expr{guarded, l}, []te.Expr{guarded, l}},
		{"what operands are", []te.Expr{te.Operand(0, ir.F32, index...)}, nil},
	} {
		assert.Equal(t, c.want, distinct(c.es), c.name)
	}
}
