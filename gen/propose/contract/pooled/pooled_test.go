package pooled

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/contract/pruned"
)

// TestPlaced: a pooling that depends on where in the image its results are is computed where no pixels lie apart, as axes are of their blocks there.
func TestPlaced(t *testing.T) {
	axes := []te.Axis{{Var: "i0", Extent: sym.Const(1)}, {Var: "i1", Extent: sym.Const(4)}, {Var: "i2", Extent: sym.Const(16)}, {Var: "i3", Extent: sym.Const(16)}}
	load := te.FromStage(0, ir.F32, sym.Var("i0"), sym.Var("i1"), sym.Add(sym.Scale(sym.Var("i2"), 2), sym.Var("r0")), sym.Add(sym.Scale(sym.Var("i3"), 2), sym.Var("r1")))
	sums := &te.Stage{Name: "Conv", Axes: []te.Axis{axes[0], axes[1], {Var: "i2", Extent: sym.Const(32)}, {Var: "i3", Extent: sym.Const(32)}}, Results: []te.Expr{te.Number(ir.F32, 0)}}
	within := func(v string) []te.Within {
		return []te.Within{{E: sym.Var(v), Lo: sym.Const(0), Hi: sym.Const(3)}}
	}
	apart := pruned.Blocks{Rows: 4, Columns: 4, Across: 4, Lanes: 16}.Layout()
	for name, c := range map[string]struct {
		value, result te.Expr
		apart, rows   bool // whether there is one in each layout
	}{
		"what is loaded":            {load, te.Acc{Type: ir.F32}, true, true},
		"a choice by the row":       {te.Select{Cond: within("i2"), Then: load, Else: te.Number(ir.F32, 0)}, te.Acc{Type: ir.F32}, false, true},
		"a choice by the channel":   {te.Select{Cond: within("i1"), Then: load, Else: te.Number(ir.F32, 0)}, te.Acc{Type: ir.F32}, true, true},
		"the column as a number":    {te.Fn(ir.F32, "add", load, te.Fn(ir.F32, "cast", te.Index{Type: ir.I64, E: sym.Var("i3")})), te.Acc{Type: ir.F32}, false, true},
		"the row, after the window": {load, te.Fn(ir.F32, "add", te.Acc{Type: ir.F32}, te.Fn(ir.F32, "cast", te.Index{Type: ir.I64, E: sym.Var("i2")})), false, true},
	} {
		st := &te.Stage{Name: "MaxPool", Axes: axes, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(2)}, {Var: "r1", Extent: sym.Const(2)}},
			Combine: te.Max(ir.F32), Values: []te.Expr{c.value}, Results: []te.Expr{c.result}}
		y := &ir.Value{Name: "y", Type: ir.F32, Shape: st.Shape(), HasShape: true}
		b := &block.Block{Stage: st, Placed: []*te.Stage{sums}, Depth: 2, Results: []*ir.Value{y}}
		assert.Equal(t, c.apart, newPooling(b, func(*ir.Value) layout.Layout { return apart }) != nil, "%s, apart", name)
		assert.Equal(t, c.rows, newPooling(b, func(*ir.Value) layout.Layout { return layout.RowMajor }) != nil, "%s, in rows", name)
	}
}
