package opencl_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/kernel/sched/schedtest"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
)

// program is one kernel that follows a schedule, of operands and a result that are row-major buffers.
func program(t *testing.T, x schedtest.Example, d *target.Target) *plan.Program {
	s, err := sched.Parse(x.Schedule)
	require.NoError(t, err)
	k, err := follow.Kernel(x.Work, s, d)
	require.NoError(t, err)
	last := x.Work.Stages[len(x.Work.Stages)-1]
	y := &ir.Value{Name: "y", Type: last.Results[0].DType(), Shape: last.Shape(), HasShape: true}
	p := &plan.Program{Name: "groups", Outputs: []*ir.Value{y}, Shapes: []ir.Shape{y.Shape}, Facts: sym.Facts{},
		Layouts: map[*ir.Value]layout.Layout{y: layout.RowMajor}}
	for _, v := range x.Work.Operands {
		p.Inputs, p.Layouts[v] = append(p.Inputs, v), layout.RowMajor
	}
	p.Steps = []plan.Step{{Call: &plan.Call{Kernel: k, Args: append(p.Inputs[:len(p.Inputs):len(p.Inputs)], y), Block: &block.Block{Origins: []string{x.Name}}}}}
	require.NoError(t, plan.Run(p))
	return p
}

// TestWorkGroups: a product whose groups copy parts of both operands to memory that their items share, on a device and in the interpreter of loops.
func TestWorkGroups(t *testing.T) {
	for _, x := range []schedtest.Example{schedtest.Device(), schedtest.GroupTiles(), schedtest.Ahead(), schedtest.Halves(), schedtest.Points()} {
		t.Run(x.Name, func(t *testing.T) { testWorkGroups(t, x) })
	}
}

func testWorkGroups(t *testing.T, x schedtest.Example) {
	d := device(t, x.Chip)
	p := program(t, x, d)
	r := rand.New(rand.NewPCG(5, 6))
	c := opencltest.Case{Name: x.Name, Program: p, Device: d}
	for _, v := range p.Inputs {
		dims, _ := v.Static()
		c.Inputs = append(c.Inputs, finite(random(r, v.Type, dims...)))
	}
	if x.Prepare != nil {
		x.Prepare(c.Inputs)
	}
	looped, err := run.Program(p, c.Inputs)
	require.NoError(t, err)
	want, err := interp.Eval(x.Reference, []te.Source{{Stage: true, N: len(x.Reference) - 1}}, c.Inputs, nil)
	require.NoError(t, err)
	require.NoError(t, compare(looped[0], want[0]))

	src, err := opencl.Print(p, d)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(src.Text, "barrier(CLK_LOCAL_MEM_FENCE);"), "before the copies of each iteration, and after them")
	require.Equal(t, 2, strings.Count(src.Text, "  __local "))
	require.Equal(t, [3]int64{p.Calls()[0].Kernel.Items(), 1, 1}, src.Calls[0].Group)

	got := opencltest.Run(t, root, []opencltest.Case{c})[0]
	require.Zero(t, got.Status)
	require.NoError(t, compare(got.Outputs[0], want[0]))
}

// finite makes numbers of at most 2 of random halves.
func finite(x *ir.Tensor) *ir.Tensor {
	for i := 1; i < len(x.Data) && x.Type == ir.F16; i += 2 {
		x.Data[i] &= 0xbf
	}
	return x
}

// TestWorkGroupsRefused: groups that a device does not take.
func TestWorkGroupsRefused(t *testing.T) {
	d := device(t, "opencl_buffers")
	p := program(t, schedtest.Device(), d)
	d.OpenCL.GroupItems = 16
	_, err := opencl.Print(p, d)
	require.EqualError(t, err, "block MatMul of work-groups: groups of 32 work-items; the device allows 16")
}
