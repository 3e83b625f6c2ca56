package contract

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestRecognise: a product with weights is a contraction, unless the weights have no columns.
func TestRecognise(t *testing.T) {
	for columns, want := range map[int64]bool{0: false, 1: true, 5: true} {
		axes := []te.Axis{{Var: "i0", Extent: ir.Dims(3)[0]}, {Var: "i1", Extent: ir.Dims(columns)[0]}}
		sum := []te.Axis{{Var: "r0", Extent: ir.Dims(4)[0]}}
		i, r := te.AxisVars(axes), te.AxisVars(sum)
		s := &te.Stage{Name: "MatMul", Axes: axes, Reduce: sum, Combine: te.Sum(ir.F32), Results: []te.Expr{te.Acc{Type: ir.F32}},
			Values: []te.Expr{te.Fn(ir.F32, "mul", te.Operand(0, ir.F32, i[0], r[0]), te.Operand(1, ir.F32, r[0], i[1]))}}
		x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(3, 4), HasShape: true}
		b := &block.Block{Stage: s, Operands: []*ir.Value{x, ir.ConstValue("w", ir.NewTensor(ir.F32, 4, columns))}}
		assert.Equal(t, want, Recognise(b, lowertest.Chip(t, "x86_64_v3")) != nil, "%d columns", columns)
	}
}
