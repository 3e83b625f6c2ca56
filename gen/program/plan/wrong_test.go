package plan

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
	"rules_dnn/gen/ops/opaque"
)

// split is a program over two spaces: y is the fourfold negation of x, of shape [N, 3], the second and the third on the device.
// What takes place by step is in the comments of its steps.
type split struct {
	*Program
	v map[string]*ir.Value
}

// device is a memory space whose work-groups have 16 work-items at most.
func device() *Device { return &Device{Memory: Memory{Align: 128}, GroupItems: 16, Workers: 32} }

// value makes a value of the program in a space.
func (s *split) value(name string, at layout.Space) *ir.Value {
	v := value(name, ir.F32, n, sym.Const(3))
	s.Layouts[v] = layout.RowMajor.In(at)
	s.v[name] = v
	return v
}

// negate is y = -x, a task an element.
func (s *split) negate(x, y *ir.Value) *Call {
	size := sym.Scale(n, 3)
	a, b := &loop.Buffer{Name: "a", Type: ir.F32, Size: size}, &loop.Buffer{Name: "b", Type: ir.F32, Size: size, Write: true}
	task := sym.Var(loop.TaskVar)
	k := &loop.Kernel{Anchor: "test", Buffers: []*loop.Buffer{a, b}, Syms: []string{"N"}, Grid: loop.Linear(size), Facts: s.Facts,
		Body: []loop.Stmt{loop.Store{Buf: b, Index: task, Value: te.Fn(ir.F32, "neg", loop.Mem{Buf: a, Index: task})}}}
	return &Call{Kernel: k, Args: []*ir.Value{x, y}, Block: &block.Block{Origins: []string{y.Name}}}
}

func newSplit(t *testing.T) *split {
	facts := sym.Facts{"N": {Lo: 1, Hi: 64}}
	s := &split{&Program{Symbols: []ir.Symbol{{Name: "N", Lo: 1, Hi: 64}}, Facts: facts, Layouts: map[*ir.Value]layout.Layout{}, Device: device()}, map[string]*ir.Value{}}
	x, a, y := s.value("x", layout.Host), s.value("a", layout.Host), s.value("y", layout.Host)
	xd, bd, cd := s.value("xd", layout.Device), s.value("bd", layout.Device), s.value("cd", layout.Device)
	c := s.value("c", layout.Host)
	s.Inputs, s.Outputs = []*ir.Value{x}, []*ir.Value{y}
	s.Steps = []Step{
		{Call: s.negate(x, a)},                      // 0
		{Transfer: s.Move(a, xd)},                   // 1
		{Launch: s.Device.Launch(s.negate(xd, bd))}, // 2
		{Launch: s.Device.Launch(s.negate(bd, cd))}, // 3
		{Transfer: s.Move(cd, c)},                   // 4
		{Choose: &Choose{Label: "versions", Versions: []Version{ // 5
			{Guard{Dims: []ops.Check{{Kind: ops.AtLeast, A: n, B: sym.Const(8)}}}, []Step{{Call: s.negate(c, y)}}},
			{Guard{Features: []string{"avx2"}}, []Step{{Call: s.negate(c, y)}}},
			{Guard{}, []Step{{Call: s.negate(c, y)}}},
		}}},
	}
	require.NoError(t, Run(s.Program))
	return s
}

// TestSplitText: dumps show spaces, launches, transfers and versions.
func TestSplitText(t *testing.T) {
	s := newSplit(t)
	require.NoError(t, s.Verify(loop.Proofs{}))
	require.NoError(t, s.Fits())
	for _, want := range []string{
		"step 1: transfer host to device\n  reads bytes 0 to 12*N of \"a\" f32[N 3] row-major at arena + 0\n  writes bytes 0 to 12*N of \"xd\" f32[N 3] row-major on device at device arena + 0\n",
		"step 2: launch bd\n  test, tasks 3*N, global (16*((3*N + 15) // (16)), 1, 1), local (16, 1, 1)\n  reads \"xd\"",
		"step 5: choose versions\n  where N >= 8\n    step 6: y\n",
		"  with avx2\n    step 7: y\n", "  otherwise\n    step 8: y\n",
		"device arena 256*N (at least 256*N)", // of two values at once
	} {
		assert.Contains(t, s.String(), want)
	}
}

// TestWrongPrograms: what Verify finds, one thing wrong in each program.
func TestWrongPrograms(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(s *split)
		want string
	}{
		{"a call reads what lies on the device", func(s *split) { s.Steps[4] = Step{Call: s.negate(s.v["cd"], s.v["c"])} },
			`c, on the host, reads "cd", which is on the device; want a transfer that copies it`},
		{"a launch reads what lies on the host", func(s *split) { s.Steps[2].Launch.Args[0] = s.v["a"] },
			`bd, on the device, reads "a", which is on the host; want a transfer that copies it`},
		{"a launch writes to the host", func(s *split) { s.Steps[3].Launch.Args[1] = s.v["c"] },
			`cd, on the device, writes "c", which is on the host`},
		{"a branch's condition on the device", func(s *split) {
			flag := value("flag", ir.Bool)
			s.Layouts[flag] = layout.RowMajor.In(layout.Device)
			s.Steps = append(s.Steps, Step{If: &If{Label: "if", Cond: flag}})
		}, `if, on the host, reads "flag", which is on the device`},
		{"an output on the device", func(s *split) { s.Outputs[0] = s.v["cd"] }, `the program, on the host, reads "cd", which is on the device`},
		{"an input on the device", func(s *split) {
			s.Places[s.v["xd"]] = Place{Region: Input, Offset: sym.Const(0), Space: layout.Device}
		}, `"xd" is a caller's input 0; want it on the host, where the caller's memory is`},
		{"a view in another space", func(s *split) {
			s.Homes = map[*ir.Value]Home{s.v["bd"]: {Of: s.v["a"], At: sym.Const(0)}}
		}, `bd, on the device, writes "a", which is on the host`},
		{"a launch before its transfer", func(s *split) { s.Steps[1], s.Steps[2] = s.Steps[2], s.Steps[1] }, `bd reads "xd" before a step writes it`},
		{"a transfer before its launch", func(s *split) { s.Steps[3], s.Steps[4] = s.Steps[4], s.Steps[3] }, `the transfer of "cd" to "c" reads "cd" before a step writes it`},
		{"no device", func(s *split) { s.Device = nil }, `the transfer of "a" to "xd": the program has no device`},
		{"a launch without a device", func(s *split) { s.Device, s.Steps = nil, s.Steps[2:3] }, "block bd is launched, but the program has no device"},
		{"a transfer in one space", func(s *split) { s.Steps[1].Transfer = s.Move(s.v["x"], s.v["a"]) }, `the transfer of "x" to "a": both are on the host`},
		{"a transfer of more bytes", func(s *split) { s.Steps[1].Transfer.From.Bytes = sym.Scale(n, 16) }, "16*N bytes become 12*N"},
		{"a transfer beyond a value", func(s *split) {
			for _, r := range []*Range{&s.Steps[1].Transfer.From, &s.Steps[1].Transfer.To} {
				r.Bytes = sym.Scale(n, 16)
			}
		}, `bytes 0 to 16*N of "a", which has 12*N`},
		{"a transfer of another type", func(s *split) { s.v["xd"].Type = ir.I32 }, "f32 row-major becomes i32 row-major on device"},
		{"a transfer that changes the layout", func(s *split) {
			s.Layouts[s.v["a"]] = layout.Blocked(1, 3)
		}, "f32 axis1/3 becomes f32 row-major on device"},
		{"a transfer to an image", func(s *split) { s.Layouts[s.v["xd"]] = layout.Texels(1).In(layout.Device) }, "the transfer of \"a\" to \"xd\": only buffers can be transferred"},
		{"a transfer of a part alone", func(s *split) {
			for _, r := range []*Range{&s.Steps[1].Transfer.From, &s.Steps[1].Transfer.To} {
				r.Bytes = sym.Scale(n, 8)
			}
		}, `bd reads "xd" before a step writes it`},
		{"a transfer of a later part", func(s *split) {
			for _, r := range []*Range{&s.Steps[1].Transfer.From, &s.Steps[1].Transfer.To} {
				r.At, r.Bytes = sym.Scale(n, 4), sym.Scale(n, 8)
			}
		}, "the transfer of \"a\" to \"xd\": bytes from 4*N on are written after 0 bytes"},
		{"too few work-items", func(s *split) { s.Steps[2].Launch.Global[0] = n }, "block bd: N work-items in dimension 0; its kernel has 3*N, or 16*((3*N + 15) // (16)) in groups of 16"},
		{"another dimension", func(s *split) { s.Steps[2].Launch.Global[2] = sym.Const(2) }, "block bd: 2 work-items in dimension 2; its kernel has 1"},
		{"a group of no work-item", func(s *split) { s.Steps[2].Launch.Local[1] = sym.Const(0) }, "block bd: work-groups of 0 in dimension 1; want a number from 1"},
		{"a group of symbols", func(s *split) { s.Steps[2].Launch.Local[0] = n }, "block bd: work-groups of N in dimension 0"},
		{"a group that is too large", func(s *split) { s.Device.GroupItems = 8 }, "block bd: work-groups of 16 work-items; the device allows at most 8"},
		{"an opaque operator on the device", func(s *split) { s.Steps[2].Launch.Block.Call = &block.Call{Call: &opaque.Call{}} }, "block bd is launched on the device; only the host can run opaque operators"},
		{"a launch that computes a symbol", func(s *split) { s.Steps[2].Launch.Kernel.Sets = []string{"M"} }, `block bd is launched on the device and computes the symbol "M"`},
		{"work-items of a symbol that is not computed yet", func(s *split) { s.Symbols[0].Computed = true }, `the transfer of "a" to "xd": 12*N needs the symbol "N" before a step computes it`},
		{"a step of two kinds", func(s *split) { s.Steps[1].Launch = s.Steps[2].Launch }, "a step has 2 of its kinds set; want exactly one"},
		{"no version", func(s *split) { s.Steps[5].Choose.Versions = nil }, "versions: there is no version to choose"},
		{"no version for some runs", func(s *split) { s.Steps[5].Choose.Versions = s.Steps[5].Choose.Versions[:1] }, "versions: the last version has a guard, where N >= 8"},
		{"a version that never runs", func(s *split) { s.Steps[5].Choose.Versions[0].Guard = Guard{} }, "versions: version 0 has no guard, so later versions never run"},
		{"a feature without a name", func(s *split) { s.Steps[5].Choose.Versions[1].Guard.Features = []string{""} }, "versions: version 1 needs a feature without a name"},
		{"a guard of an unknown symbol", func(s *split) { s.Steps[5].Choose.Versions[0].Guard.Dims[0].A = m }, `versions: M + 8 needs the symbol "M" before a step computes it`},
		{"a version that writes less", func(s *split) { s.Steps[5].Choose.Versions[1].Steps = nil }, `the program reads "y" before a step writes it`},
		{"a kernel for fewer sizes than its version has", func(s *split) {
			s.Steps[5].Choose.Versions[0].Steps[0].Call.Kernel.Facts = sym.Facts{"N": {Lo: 8, Hi: 32}}
		}, `block y: its kernel supports values of N from 8 to 32, but runs may have 8 to 64`},
		{"a kernel for the sizes of another version", func(s *split) {
			s.Steps[5].Choose.Versions[1].Steps[0].Call.Kernel.Facts = sym.Facts{"N": {Lo: 8, Hi: 64}}
		}, `block y: its kernel supports values of N from 8 to 64, but runs may have 1 to 64`},
		{"a kernel for the sizes of a version, after it", func(s *split) {
			s.Steps = append(s.Steps, Step{Call: s.negate(s.v["c"], s.v["y"])})
			s.Steps[6].Kernel.Facts = sym.Facts{"N": {Lo: 8, Hi: 64}}
		}, `block y: its kernel supports values of N from 8 to 64, but runs may have 1 to 64`},
		{"a place in another space", func(s *split) {
			s.Places[s.v["bd"]] = Place{Region: Arena, Offset: sym.Const(0)}
		}, `"bd" is on the device, but its place is on the host`},
		{"no place", func(s *split) { delete(s.Places, s.v["cd"]) }, `"cd" has no place in memory`},
		{"lives that overlap", func(s *split) { s.Places[s.v["cd"]] = s.Places[s.v["bd"]] }, `"bd" and "cd" are live at the same time, at bytes 128 to 140 and 128 to 140 of the device arena (map[N:1])`},
		{"lives that overlap for large symbols", func(s *split) {
			s.Places[s.v["bd"]] = Place{Region: Arena, Offset: sym.Const(128), Space: layout.Device}
		}, `"xd" and "bd" are live at the same time, at bytes 0 to 768 and 128 to 896 of the device arena (map[N:64])`},
		{"a place beyond the arena", func(s *split) { s.Device.ArenaBytes = sym.Const(128) }, `"bd" lies at bytes 128 to 140 of device arena, which has 128 (map[N:1])`},
		{"a place that is not aligned", func(s *split) {
			s.Places[s.v["xd"]] = Place{Region: Arena, Offset: sym.Const(64), Space: layout.Device}
		}, `"xd" is at byte 64 of device arena, not a multiple of 128 (map[N:1])`},
		{"scratch that is not there", func(s *split) {
			s.Steps[2].Launch.Kernel.Scratch = []*loop.Buffer{{Name: "s", Type: ir.F32, Size: sym.Const(4), Write: true}}
			s.Steps[2].Launch = s.Device.Launch(s.Steps[2].Launch.Call)
		}, "block bd takes 64 bytes of scratch memory; the plan has 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSplit(t)
			c.harm(s)
			require.ErrorContains(t, s.Verify(loop.Proofs{}), c.want)
		})
	}
}

// TestImagesApart: values in images, wrong in each way.
func TestImagesApart(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(p *Program, a, b *ir.Value)
		want string
	}{
		{"nothing", func(*Program, *ir.Value, *ir.Value) {}, ""},
		{"one image for both", func(p *Program, a, b *ir.Value) { p.Places[b] = p.Places[a] }, `"a" and "b" are live at the same time, but both are in image 0`},
		{"no such image", func(p *Program, a, _ *ir.Value) { p.Places[a] = Place{Region: Image, N: 2} }, `"a" is in image 2 of 2`},
		{"an image in a buffer", func(p *Program, a, _ *ir.Value) { p.Places[a] = Place{} }, `"a" is stored as image of axis1/4, at arena + `},
	} {
		x, y := value("x", ir.F32, n, sym.Const(8)), value("y", ir.F32, n, sym.Const(8))
		a, b := value("a", ir.F32, n, sym.Const(8)), value("b", ir.F32, n, sym.Const(8))
		p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Layouts: map[*ir.Value]layout.Layout{a: layout.Texels(1), b: layout.Texels(1)},
			Steps: []Step{step(x, a), step(a, b), step(b, y)}}
		run(t, p)
		c.harm(p, a, b)
		err := p.verifyPlaces()
		if c.want == "" {
			assert.NoError(t, err, c.name)
		} else {
			assert.ErrorContains(t, err, c.want, c.name)
		}
	}
}

// TestConstantOfLoop: a constant that a loop is the first to read, and a step after it reads again.
func TestConstantOfLoop(t *testing.T) {
	s := newSplit(t)
	s.Device, s.Homes = nil, map[*ir.Value]Home{}
	w := &ir.Value{Name: "w", Type: ir.F32, Shape: ir.Dims(64, 3), HasShape: true, Const: ir.NewTensor(ir.F32, 64, 3)}
	a, b := value("a", ir.F32, sym.Const(64), sym.Const(3)), value("b", ir.F32, sym.Const(64), sym.Const(3))
	s.Layouts = map[*ir.Value]layout.Layout{w: layout.RowMajor, a: layout.RowMajor, b: layout.RowMajor}
	negate := func(y *ir.Value) *Call {
		c := s.negate(w, y)
		for _, b := range c.Kernel.Buffers {
			b.Size = sym.Const(64 * 3)
		}
		c.Kernel.Grid, c.Kernel.Syms = loop.Linear(sym.Const(64*3)), nil
		return c
	}
	s.Inputs, s.Outputs = nil, []*ir.Value{b}
	s.Steps = []Step{{Loop: &Loop{Label: "loop", Counter: "i", Trips: sym.Const(2), Body: []Step{{Call: negate(a)}}}}, {Call: negate(b)}}
	require.NoError(t, Run(s.Program))
	require.NoError(t, s.Verify(loop.Proofs{}))
}
