package lower

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// TestSays: a schedule that leaves out how an operand lies is refused, but where blocks of a single point each lie as rows do, and for constants.
func TestSays(t *testing.T) {
	shape := func(dims ...int64) (out ir.Shape) {
		for _, d := range dims {
			out = append(out, sym.Const(d))
		}
		return out
	}
	blocked := &Env{Layouts: func(*ir.Value) layout.Layout { return layout.Blocked(1, 8) }}
	image := &ir.Value{Name: "image", Type: ir.F32, Shape: shape(1, 16, 4, 4)}
	w := &sched.Work{Operands: []*ir.Value{image}}
	assert.ErrorContains(t, blocked.says(w, &sched.Schedule{}), `operand 0, "image", lies as axis1/8`)
	said := sched.Value{Of: te.Source{N: 0}, Parts: layout.PartsOf(layout.Blocked(1, 8), 4)}
	assert.NoError(t, blocked.says(w, &sched.Schedule{Values: []sched.Value{said}}))
	assert.Error(t, blocked.says(w, &sched.Schedule{Values: []sched.Value{{Of: te.Source{N: 0}}}}), "named, but not how it lies")
	for name, v := range map[string]*ir.Value{
		"points":    {Name: "points", Type: ir.F32, Shape: shape(1, 16, 1, 1)},
		"constants": ir.ConstValue("w", ir.NewTensor(ir.F32, 1, 16, 4, 4)),
	} {
		assert.NoError(t, blocked.says(&sched.Work{Operands: []*ir.Value{v}}, &sched.Schedule{}), name)
	}
}
