package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
)

// chain is y = (x + 1) + w, then z = y + (x + 1), for x of shape [N, 3]; y is an output too.
func chain(t *testing.T) *plan.Program {
	shape := ir.Shape{n, num(3)}
	value := func(name string) *ir.Value { return &ir.Value{Name: name, Type: ir.F32, Shape: shape, HasShape: true} }
	w := ir.ConstValue("w", &ir.Tensor{Type: ir.F32, Shape: []int64{3}, Data: bytesOf(10, 20, 30)})
	x, a, y, z := value("x"), value("a"), value("y"), value("z")
	p := &plan.Program{Name: "chain", Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y, z}, Symbols: []ir.Symbol{{Name: "N", Lo: 1, Hi: 64}},
		Facts: sym.Facts{"N": {Lo: 1, Hi: 64}}, Layouts: map[*ir.Value]layout.Layout{}}
	p.Steps = []plan.Step{sum(a, x, nil), sum(y, a, w), sum(z, y, a)}
	require.NoError(t, plan.Run(p))
	return p
}

// sum is out[i] = a[i] + b[i], one task an element, where b's elements repeat; without b, a[i] + 1.
func sum(out, a, b *ir.Value) plan.Step {
	size := sym.Mul(n, num(3))
	y, x := &loop.Buffer{Name: "y", Type: ir.F32, Write: true, Size: size}, &loop.Buffer{Name: "x", Type: ir.F32, Size: size}
	k := &loop.Kernel{Buffers: []*loop.Buffer{y, x}, Syms: []string{"N"}, Grid: loop.Linear(size), Facts: sym.Facts{"N": {Lo: 1, Hi: 64}}}
	s := plan.Step{Call: &plan.Call{Kernel: k, Args: []*ir.Value{out, a}}}
	second := te.Expr(lit(1))
	if b != nil {
		other := &loop.Buffer{Name: "b", Type: ir.F32, Size: size}
		index := task
		if b.Const != nil {
			other.Size, index = num(b.Const.Len()), sym.Mod(task, num(3), nil)
		}
		k.Buffers, s.Args = append(k.Buffers, other), append(s.Args, b)
		second = mem(other, index)
	}
	k.Body = []loop.Stmt{put(y, task, add(mem(x, task), second))}
	return s
}

func input(rows int64) *ir.Tensor {
	data := bytesOf(make([]float32, rows*3)...)
	return &ir.Tensor{Type: ir.F32, Shape: []int64{rows, 3}, Data: data}
}

func TestProgram(t *testing.T) {
	got, err := Program(chain(t), []*ir.Tensor{input(2)})
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, []int64{2, 3}, got[0].Shape)
	assert.Equal(t, []float32{11, 21, 31, 11, 21, 31}, floats(got[0].Data))
	assert.Equal(t, []float32{12, 22, 32, 12, 22, 32}, floats(got[1].Data))
}

// TestProgramChecks breaks a plan in each way that is checked.
func TestProgramChecks(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(p *plan.Program, x *ir.Tensor) *ir.Tensor
		want string
	}{
		{"input's shape", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { x.Shape = []int64{3, 2}; return x }, `input "x" has shape [3 2]; the model wants [3 3]`},
		{"symbol's range", func(p *plan.Program, _ *ir.Tensor) *ir.Tensor { return input(65) }, "symbol N is 65"},
		{"dimensions", func(p *plan.Program, x *ir.Tensor) *ir.Tensor {
			p.Checks = []block.Check{
				{Check: ops.Check{Kind: ops.AtLeast, A: n, B: num(2), What: "rows"}, Node: "sum"},
				{Check: ops.Check{Kind: ops.Broadcastable, A: n, B: num(3), What: "columns"}, Node: "sum"}}
			return x
		}, "refused dimensions: sum: columns: N broadcasts with 3"},
		{"operand overwritten", func(p *plan.Program, x *ir.Tensor) *ir.Tensor {
			p.Places[p.Outputs[0]] = p.Places[p.Steps[0].Args[0]]
			return x
		}, `step 1: within the step: "a" is overwritten by "y" from byte 0 of the arena on`},
		{"value overwritten before its last use", func(p *plan.Program, x *ir.Tensor) *ir.Tensor {
			b := &ir.Value{Name: "b", Type: ir.F32, Shape: p.Inputs[0].Shape, HasShape: true}
			p.Places[b] = p.Places[p.Steps[0].Args[0]]
			p.Steps = append(p.Steps[:1:1], append([]plan.Step{sum(b, p.Inputs[0], nil)}, p.Steps[1:]...)...)
			return x
		}, `step 2: "a" is overwritten by "b"`},
		{"arena too small", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.ArenaBytes = num(0); return x }, "bytes 0 to 24 are outside of memory of 0"},
		{"alignment", func(p *plan.Program, x *ir.Tensor) *ir.Tensor {
			p.Places[p.Steps[0].Args[0]] = plan.Place{Region: plan.Arena, Offset: num(4)}
			return x
		}, "bytes 4 to 28 are outside of memory of 128, or not aligned"},
		{"weights", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.Constants = nil; return x }, `constant "w" is not what lies at its place`},
		{"order", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.Steps = p.Steps[1:]; return x }, `"a" is read before a step writes it`},
		{"missing output", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.Steps = p.Steps[:2]; return x }, `no step writes the output "z"`},
		{"no place", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { delete(p.Places, p.Steps[0].Args[0]); return x }, `"a": the value has no place`},
		{"written input", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.Steps[0].Args[0] = p.Inputs[0]; return x }, `"x": a result lies in what is only read`},
		{"size", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.Steps[0].Kernel.Buffers[0].Size = num(5); return x }, "the value is 6 x f32, the kernel's buffer y 5 x f32"},
		{"incomplete result", func(p *plan.Program, x *ir.Tensor) *ir.Tensor { p.Steps[0].Kernel.Grid = loop.Linear(num(5)); return x }, "no task writes element 5 of y"},
		{"scratch", func(p *plan.Program, x *ir.Tensor) *ir.Tensor {
			p.Steps[0].Kernel.Scratch = []*loop.Buffer{floatsOf(4, "scratch", true)}
			return x
		}, "the kernel's scratch ends at byte 16 of scratch, the plan has 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := chain(t)
			_, err := Program(p, []*ir.Tensor{c.harm(p, input(2))})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestPadding: what a layout adds to a value must be zero.
func TestPadding(t *testing.T) {
	v := &ir.Value{Name: "v", Type: ir.F32, Shape: ir.Dims(1, 3, 2), HasShape: true}
	h := &host{p: &plan.Program{Layouts: map[*ir.Value]layout.Layout{v: layout.Blocked(1, 2)}}}
	whole := []float32{1, 2, 1, 2, 3, 0, 3, 0} // pixels by channels 0 and 1, then by channel 2 and padding
	require.NoError(t, h.checkPadding(v, bytesOf(whole...)))
	for k := range whole {
		broken := append([]float32{}, whole...)
		broken[k] = 9
		err := h.checkPadding(v, bytesOf(broken...))
		if k == 5 || k == 7 {
			require.ErrorContains(t, err, `"v" is not zero at storage element`)
		} else {
			require.NoError(t, err)
		}
	}
}
