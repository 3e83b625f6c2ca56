package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// library is a program of two steps, in a loop the second, for two chips: the first chip's kernels need more scratch memory and
// read a constant of their own.
func library() *Program {
	sixteen := sym.Const(16)
	x, w, y := value("x", ir.F32, sixteen), value("w", ir.F32, sixteen), value("y", ir.F32, sixteen)
	shared, own := ir.ConstValue("shared", ir.NewTensor(ir.F32, 16)), ir.ConstValue("own", ir.NewTensor(ir.F32, 32))
	other := func(s Step, scratch int64, args ...*ir.Value) Step {
		k := *s.Kernel
		k.Scratch = []*loop.Buffer{{Name: "s", Type: ir.F32, Write: true, Size: sym.Const(scratch)}}
		s.Call.Others = []Lowering{{Kernel: &k, Args: args}}
		return s
	}
	return &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Others: 1, Layouts: map[*ir.Value]layout.Layout{}, Homes: map[*ir.Value]Home{},
		Steps: []Step{
			other(step(x, shared, w), 100, x, own, w),
			{Loop: &Loop{Label: "loop", Counter: "i", Trips: sym.Const(1), Body: []Step{other(step(w, shared, y), 1, w, shared, y)}}},
		}}
}

// TestVariant: each chip's program has its kernels at the same places; memory is enough for all, and a constant that both read is there once.
func TestVariant(t *testing.T) {
	p := library()
	run(t, p)
	require.Equal(t, 2, p.Variants())
	assert.Same(t, p, p.Variant(1))
	first := p.Variant(0)
	require.Len(t, first.Calls(), 2)
	for i, c := range first.Calls() {
		assert.Same(t, p.Calls()[i].Others[0].Kernel, c.Kernel)
		assert.Empty(t, c.Others)
		assert.NotEmpty(t, p.Calls()[i].Others, "the program itself is as it was")
	}
	assert.True(t, p.ScratchBytes.Is(448), p.ScratchBytes.String())
	require.Len(t, p.Constants, 2)
	assert.Equal(t, "shared", p.Constants[0].Value.Name, "what the program itself reads comes first")
	for i, want := range [][2]int64{{64 + 128, 128}, {64, 0}} {
		read, alone := p.ConstantBytes(i)
		assert.Equal(t, want, [2]int64{read, alone}, "variant %d", i)
	}
}

// TestVariantsVerified: what is wrong with the kernels of a variant.
func TestVariantsVerified(t *testing.T) {
	for want, spoil := range map[string]func(p *Program){
		"block test has kernels of 0 more variants; the program has 1 more":   func(p *Program) { p.Calls()[1].Others = nil },
		"block test: its kernels take different values in different variants": func(p *Program) { p.Calls()[1].Others[0].Args[0] = p.Inputs[0] },
		"variant 0: block": func(p *Program) { p.Calls()[0].Others[0].Kernel.Buffers = nil },
	} {
		p := library()
		spoil(p)
		assert.ErrorContains(t, p.Verify(loop.Proofs{}), want)
	}
}

// TestConstantsOfVariants: a variant's kernel may read more constants than another one's, before an operand over which both store their result.
func TestConstantsOfVariants(t *testing.T) {
	sixteen := sym.Const(16)
	x, w, y, z := value("x", ir.F32, sixteen), value("w", ir.F32, sixteen), value("y", ir.F32, sixteen), value("z", ir.F32, sixteen)
	own := ir.ConstValue("own", ir.NewTensor(ir.F32, 16))
	over, first, last := negation(w, y), negation(x, w), negation(y, z)
	for _, s := range []Step{over, first, last} {
		for _, b := range s.Kernel.Buffers {
			b.Name = "b" + b.Name
		}
	}
	k := *over.Kernel
	k.Buffers = append([]*loop.Buffer{{Name: "c", Type: ir.F32, Size: sixteen}}, k.Buffers...)
	over.Call.Others = []Lowering{{Kernel: &k, Args: append([]*ir.Value{own}, over.Args...)}}
	for _, s := range []Step{first, last} {
		s.Call.Others = []Lowering{{Kernel: s.Kernel, Args: s.Args}}
	}
	p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{z}, Others: 1, Layouts: map[*ir.Value]layout.Layout{}, Homes: map[*ir.Value]Home{}, Steps: []Step{first, over, last}}
	InPlace(p)
	run(t, p)
	require.Contains(t, p.Homes, y)
	require.NoError(t, p.Verify(loop.Proofs{}))
	for _, c := range p.Calls() {
		for _, l := range c.Others {
			assert.Equal(t, varying(c.Args), varying(l.Args))
		}
	}
	assert.Contains(t, p.Calls()[1].Others[0].Args, own)
}

// TestVariantsInPlace: a result lies over an operand where all variants' kernels allow it, and in all of them.
func TestVariantsInPlace(t *testing.T) {
	sixteen := sym.Const(16)
	for _, allowed := range []bool{true, false} {
		x, w, y, z := value("x", ir.F32, sixteen), value("w", ir.F32, sixteen), value("y", ir.F32, sixteen), value("z", ir.F32, sixteen)
		same := func(s Step) Step {
			s.Call.Others = []Lowering{{Kernel: s.Kernel, Args: s.Args}}
			return s
		}
		over := negation(w, y)
		if over = same(over); !allowed {
			backwards := negation(w, y).Kernel
			load := loop.Mem{Buf: backwards.Buffers[0], Index: sym.Sub(sym.Const(15), sym.Var("i0"))}
			backwards.Body[0].(loop.For).Body[0] = loop.Store{Buf: backwards.Buffers[1], Index: sym.Var("i0"), Value: load}
			over.Call.Others[0].Kernel = backwards
		}
		p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{z}, Others: 1, Layouts: map[*ir.Value]layout.Layout{}, Homes: map[*ir.Value]Home{},
			Steps: []Step{same(step(x, w)), over, same(step(y, z))}}
		InPlace(p)
		got := p.Steps[1].Call
		if !allowed {
			assert.Empty(t, got.Over)
			continue
		}
		assert.Equal(t, []*ir.Value{w}, got.Over)
		assert.Equal(t, []*ir.Value{y}, got.Others[0].Args)
		assert.Len(t, got.Others[0].Kernel.Buffers, 1)
	}
}
