package lower

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
)

// TestSays: a schedule that leaves out how an operand or a result lies is refused, but where blocks of a single point each lie as rows do, and for
// constants.
func TestSays(t *testing.T) {
	shape := func(dims ...int64) (out ir.Shape) {
		for _, d := range dims {
			out = append(out, sym.Const(d))
		}
		return out
	}
	blocked := &Env{Layouts: func(*ir.Value) layout.Layout { return layout.Blocked(1, 8) }}
	image := &ir.Value{Name: "image", Type: ir.F32, Shape: shape(1, 16, 4, 4)}
	none, w := &block.Block{}, &sched.Work{Operands: []*ir.Value{image}}
	assert.ErrorContains(t, blocked.says(none, w, &sched.Schedule{}), `does not have the layout axis1/8 for operand 0, "image"`)
	said := sched.Value{Of: te.Source{N: 0}, Parts: layout.PartsOf(layout.Blocked(1, 8), 4)}
	assert.NoError(t, blocked.says(none, w, &sched.Schedule{Values: []sched.Value{said}}))
	assert.Error(t, blocked.says(none, w, &sched.Schedule{Values: []sched.Value{{Of: te.Source{N: 0}}}}), "named, but not how it lies")
	for name, v := range map[string]*ir.Value{
		"points":    {Name: "points", Type: ir.F32, Shape: shape(1, 16, 1, 1)},
		"constants": ir.ConstValue("w", ir.NewTensor(ir.F32, 1, 16, 4, 4)),
	} {
		assert.NoError(t, blocked.says(none, &sched.Work{Operands: []*ir.Value{v}}, &sched.Schedule{}), name)
	}
	result, stages := &block.Block{Results: []*ir.Value{image}}, make([]sched.Stage, 2)
	assert.ErrorContains(t, blocked.says(result, &sched.Work{}, &sched.Schedule{Stages: stages}), `does not have the layout axis1/8 for result 0, "image"`)
	said.Of = te.Source{Stage: true, N: 1}
	assert.NoError(t, blocked.says(result, &sched.Work{}, &sched.Schedule{Stages: stages, Values: []sched.Value{said}}))
}

// TestLayOut: operands, what a kernel has of its own and results are said in this order, each but the row-major ones and what the kernel reads otherwise.
func TestLayOut(t *testing.T) {
	dims := ir.Dims(1, 16, 4, 4)
	x, w, y := &ir.Value{Name: "x", Shape: dims}, &ir.Value{Name: "w", Shape: dims}, &ir.Value{Name: "y", Shape: dims}
	rows, unread := &ir.Value{Name: "rows", Shape: dims}, &ir.Value{Name: "unread", Shape: dims}
	lay := func(v *ir.Value) layout.Layout {
		if v == rows {
			return layout.RowMajor
		}
		return layout.Blocked(1, 8)
	}
	s := &sched.Schedule{Stages: make([]sched.Stage, 2)}
	packed := layout.PartsOf(layout.Blocked(0, 4), 4)
	own := sched.Value{Of: te.Source{Stage: true}, Space: sched.Worker}
	LayOut(s, &block.Block{Operands: []*ir.Value{unread, rows, w, x}, Results: []*ir.Value{y}}, lay, func(i int) (sched.Value, bool) {
		v := sched.Value{Of: te.Source{N: 10 + i}}
		if i == 2 {
			v.Parts = packed
		}
		return v, i > 0
	}, 4, own)
	blocks := layout.PartsOf(layout.Blocked(1, 8), 4)
	assert.Equal(t, []sched.Value{{Of: te.Source{N: 12}, Parts: packed}, {Of: te.Source{N: 13}, Parts: blocks}, own,
		{Of: te.Source{Stage: true, N: 1}, Parts: blocks}}, s.Values)
}
