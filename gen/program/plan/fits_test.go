package plan

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
)

// TestFits: an integer that leaves 64 bits is found wherever a program has it, and the message names the place.
func TestFits(t *testing.T) {
	over := sym.Mul(sym.Const(1<<62), sym.Const(4))
	most := sym.Add(sym.Const(math.MaxInt64), sym.Var("p0"))
	facts := sym.Facts{"p0": {Lo: 0, Hi: 7}}
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(8), HasShape: true}
	store := func(at, from sym.Expr) *loop.Kernel {
		in, out := &loop.Buffer{Name: "a0", Type: ir.F32, Size: sym.Const(8)}, &loop.Buffer{Name: "y0", Type: ir.F32, Write: true, Size: sym.Const(8)}
		body := loop.Store{Buf: out, Index: at, Value: loop.Mem{Buf: in, Index: from}}
		return &loop.Kernel{Buffers: []*loop.Buffer{in, out}, Facts: facts, Grid: loop.Linear(sym.Const(1)),
			Body: []loop.Stmt{loop.For{Var: "p0", Extent: sym.Const(8), Body: []loop.Stmt{body}}}}
	}
	call := func(k *loop.Kernel) Step {
		return Step{Call: &Call{Kernel: k, Block: &block.Block{Origins: []string{"pad"}, Ops: []string{"Pad"}}}}
	}
	sized := store(sym.Const(0), sym.Const(0))
	sized.Buffers[0].Size = over
	tasks := store(sym.Const(0), sym.Const(0))
	tasks.Grid = []te.Axis{{Var: "a", Extent: sym.Const(1 << 62)}, {Var: "b", Extent: sym.Const(4)}}
	for _, c := range []struct {
		p    Program
		want []string
	}{
		{Program{Steps: []Step{call(store(sym.Var("p0"), sym.Var("p0")))}}, nil},
		{Program{Steps: []Step{call(store(over, sym.Const(0)))}}, []string{"pad", "an index", "overflows 64 bits"}},
		{Program{Steps: []Step{call(store(sym.Const(0), over))}}, []string{"pad", "an index"}},
		{Program{Steps: []Step{call(store(sym.Const(0), most))}}, []string{"pad", "an index", "p0 + 9223372036854775807"}},
		{Program{Steps: []Step{call(sized)}}, []string{"pad", "the size of a buffer"}},
		{Program{Steps: []Step{call(tasks)}}, []string{"pad", "the number of tasks"}},
		{Program{Outputs: []*ir.Value{x}, Shapes: []ir.Shape{{sym.Const(1), over}}}, []string{`dimension 1 of output "x"`}},
		{Program{Checks: []block.Check{{Check: ops.Check{A: over, What: "channels"}, Node: "conv"}}}, []string{"conv: channels"}},
		{Program{Steps: []Step{{Check: &block.Check{Check: ops.Check{B: over, What: "channels"}, Node: "conv"}}}}, []string{"conv: channels"}},
		{Program{Steps: []Step{{Loop: &Loop{Label: "loop", Trips: over}}}}, []string{"the iterations of loop"}},
		{Program{Steps: []Step{{Loop: &Loop{Label: "loop", Body: []Step{{Set: &Set{Name: "S", Value: over}}}}}}}, []string{`symbol "S"`}},
		{Program{Steps: []Step{{If: &If{Label: "if", Cond: x, Else: []Step{{Carry: &Carry{Label: "loop", Sets: []Set{{Name: "S", Value: over}}}}}}}}}, []string{`symbol "S" of loop`}},
		{Program{Steps: []Step{{Copy: &Copy{x, x}}}, Places: map[*ir.Value]Place{x: {Offset: over}}}, []string{`the place of value "x"`}},
		{Program{Memory: Memory{ArenaBytes: over}}, []string{"memory"}},
		{Program{Memory: Memory{ScratchBytes: over}}, []string{"memory"}},
	} {
		err := c.p.Fits()
		if c.want == nil {
			assert.NoError(t, err)
			continue
		}
		require.Error(t, err, "%v", c.want)
		for _, w := range c.want {
			assert.ErrorContains(t, err, w)
		}
	}
}
