package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
)

// beside is chain with its second step on a device: a goes there, y comes back. The last step is a + a, y + y or y + 1, by the
// version that runs.
func beside(t *testing.T) *plan.Program {
	p := chain(t)
	x, y, z := p.Inputs[0], p.Outputs[0], p.Outputs[1]
	a, w := p.Steps[0].Args[0], p.Steps[1].Args[2]
	on := func(v *ir.Value) *ir.Value {
		d := *v
		d.Name += "_d"
		p.Layouts[&d] = layout.RowMajor.In(layout.Device)
		return &d
	}
	ad, wd, yd := on(a), on(w), on(y)
	p.Device = &plan.Device{Memory: plan.Memory{Align: 128}, GroupItems: 4, Workers: 8}
	p.Places, p.Constants, p.WeightsBytes = nil, nil, 0
	p.Steps = []plan.Step{
		sum(a, x, nil),
		{Transfer: p.Move(a, ad)},
		{Launch: p.Device.Launch(sum(yd, ad, wd).Call)},
		{Transfer: p.Move(yd, y)},
		{Choose: &plan.Choose{Label: "versions", Versions: []plan.Version{
			{Guard: plan.Guard{Dims: []ops.Check{{Kind: ops.AtLeast, A: n, B: num(3)}}}, Steps: []plan.Step{sum(z, a, a)}},
			{Guard: plan.Guard{Features: []string{"avx2", "fma"}}, Steps: []plan.Step{sum(z, y, y)}},
			{Steps: []plan.Step{sum(z, y, nil)}},
		}}},
	}
	require.NoError(t, plan.Run(p))
	return p
}

func TestLaunch(t *testing.T) {
	for _, c := range []struct {
		rows     int64
		features []string
		want     []float32 // the first row of z
	}{
		{2, nil, []float32{12, 22, 32}},
		{2, []string{"fma", "avx2"}, []float32{22, 42, 62}},
		{2, []string{"avx2"}, []float32{12, 22, 32}},
		{3, []string{"fma", "avx2"}, []float32{2, 2, 2}},
		{64, nil, []float32{2, 2, 2}},
	} {
		got, err := Program(beside(t), []*ir.Tensor{input(c.rows)}, c.features...)
		require.NoError(t, err)
		assert.Equal(t, []float32{11, 21, 31}, floats(got[0].Data)[:3])
		assert.Equal(t, c.want, floats(got[1].Data)[:3], "%d rows, %v", c.rows, c.features)
	}
}

// TestLaunchChecks breaks a program of two spaces in each way that a run shows.
func TestLaunchChecks(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(p *plan.Program)
		want string
	}{
		{"too few work-items", func(p *plan.Program) { p.Steps[2].Launch.Global[0] = num(4) }, "no task writes element 4 of y, which has 9"},
		{"no whole groups", func(p *plan.Program) { p.Steps[2].Launch.Global[0] = num(9) }, "9 work-items in groups of 4"},
		{"no transfer", func(p *plan.Program) { p.Steps = append(p.Steps[:1:1], p.Steps[2:]...) }, `"a_d" is read before a step writes it`},
		{"no transfer back", func(p *plan.Program) { p.Steps = append(p.Steps[:3:3], p.Steps[4:]...) }, `no step writes the output "y"`},
		{"a transfer of a part", func(p *plan.Program) { p.Steps[1].Transfer.To.Bytes = num(12) }, `36 bytes of "a" become 12 of "a_d"`},
		{"a transfer beyond a value", func(p *plan.Program) { p.Steps[1].Transfer.From.At = num(12) }, `bytes 12 to 48 of "a", which has 36`},
		{"one place for two", func(p *plan.Program) {
			l := p.Steps[2].Launch
			p.Places[l.Args[0]] = p.Places[l.Args[1]]
		}, `within the step: "a_d" is overwritten by "y_d" from byte 0`},
		{"the device's constants", func(p *plan.Program) { p.Device.Constants = nil }, `constant "w_d" is not what lies at its place`},
		{"no device", func(p *plan.Program) { p.Device = nil }, "the value is on the device, but the program has no plan for that memory"},
		{"no version", func(p *plan.Program) { p.Steps[4].Choose.Versions = p.Steps[4].Choose.Versions[1:2] }, "step 4 (versions): no version's guard holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := beside(t)
			c.harm(p)
			_, err := Program(p, []*ir.Tensor{input(3)})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestWorkers: tasks that need memory of their own run by workers, each with its own.
func TestWorkers(t *testing.T) {
	p := beside(t)
	l := p.Steps[2].Launch
	s := &loop.Buffer{Name: "s", Type: ir.F32, Size: num(1), Write: true}
	l.Kernel.Scratch = []*loop.Buffer{s}
	store := l.Kernel.Body[0].(loop.Store)
	kept := store
	kept.Buf, kept.Index = s, num(0)
	store.Value = mem(s, num(0))
	l.Kernel.Body = []loop.Stmt{kept, store}
	*l = *p.Device.Launch(l.Call)
	assert.True(t, l.Global[0].Is(8), "as many as there are workers")
	p.Device.ScratchBytes = num(plan.Alignment)
	got, err := Program(p, []*ir.Tensor{input(9)})
	require.NoError(t, err)
	assert.Equal(t, []float32{11, 21, 31}, floats(got[0].Data)[24:])
}
