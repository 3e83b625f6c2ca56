package ckernel

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// TestDoc: a comment names what is in each buffer, and no name of a model ends it.
func TestDoc(t *testing.T) {
	x := &ir.Value{Name: "x */ evil\n", Type: ir.F32, Shape: ir.Shape{sym.Var("N"), sym.Const(16)}, HasShape: true}
	y := &ir.Value{Name: "y", Type: ir.U8, Shape: ir.Dims(), HasShape: true}
	p := &plan.Program{Layouts: map[*ir.Value]layout.Layout{x: layout.Texels(1), y: {}}}
	c := &plan.Call{Kernel: &loop.Kernel{Buffers: []*loop.Buffer{{Name: "a0"}, {Name: "y0", Write: true}}}, Args: []*ir.Value{x, y}, Block: &block.Block{Origins: []string{"Relu", "Cast"}}}
	assert.Equal(t, []string{
		"Relu + Cast",
		`  a0: "x * / evil<5c>n" f32[N, 16], ` + layout.Texels(1).String(),
		`  y0: "y" u8[], row-major`,
	}, Doc(p, c))
}
