package plan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

var n, m = sym.Var("N"), sym.Var("M")

func value(name string, t ir.DType, dims ...sym.Expr) *ir.Value {
	return &ir.Value{Name: name, Type: t, Shape: dims, HasShape: true}
}

// step is a step whose last argument is what it writes.
func step(args ...*ir.Value) Step {
	k := &loop.Kernel{Anchor: "test"}
	for i, v := range args {
		k.Buffers = append(k.Buffers, &loop.Buffer{Name: fmt.Sprint(i), Type: v.Type, Write: i == len(args)-1})
	}
	return Step{Call: &Call{Kernel: k, Args: args, Block: &block.Block{Origins: []string{"test"}}}}
}

func run(t *testing.T, p *Program) {
	t.Helper()
	if p.Facts == nil {
		p.Facts = sym.Facts{}
	}
	require.NoError(t, Run(p))
}

func eval(t *testing.T, e sym.Expr, env map[string]int64) int64 {
	t.Helper()
	x, err := e.Eval(env)
	require.NoError(t, err)
	return x
}

// dims are extents as networks have them: constants, symbols, and what convolutions and slices make of these.
var dims = []sym.Expr{
	sym.Const(1), sym.Const(3), sym.Const(16), sym.Const(50), n, m, sym.Add(n, m), sym.Sub(n, sym.Const(1)),
	sym.FloorDiv(sym.Add(n, sym.Const(1)), sym.Const(2), nil), sym.Add(sym.FloorDiv(sym.Sub(n, sym.Const(3)), sym.Const(2), nil), sym.Const(1)),
	sym.Max(n, m, nil), sym.Min(n, sym.Const(4), nil), sym.Add(sym.Scale(n, 2), sym.Const(-1)),
}

// randomProgram is a chain of steps; each reads values that were written before and writes a new one.
func randomProgram(r *rand.Rand) *Program {
	x := value("x", ir.F32, n)
	p := &Program{Inputs: []*ir.Value{x}, Layouts: map[*ir.Value]layout.Layout{}, Symbols: []ir.Symbol{{Name: "M", Lo: 1, Hi: 9}, {Name: "N", Lo: 3, Hi: 42}}}
	made := []*ir.Value{x}
	types := []ir.DType{ir.Bool, ir.I8, ir.F16, ir.F32, ir.I64}
	for i := range 2 + r.IntN(30) {
		shape := ir.Shape{}
		for range r.IntN(4) {
			shape = append(shape, dims[r.IntN(len(dims))])
		}
		v := value(fmt.Sprint("v", i), types[r.IntN(len(types))], shape...)
		var args []*ir.Value
		for range 1 + r.IntN(3) {
			args = append(args, made[max(0, len(made)-1-r.IntN(6))])
		}
		if len(shape) > 1 {
			if l := layout.Blocked(1, 8); l.Fits(shape) && r.IntN(2) == 0 {
				p.Layouts[v] = l
			}
		}
		p.Steps = append(p.Steps, step(append(args, v)...))
		made = append(made, v)
	}
	p.Outputs = []*ir.Value{made[len(made)-1]}
	return p
}

// life is when a value must keep its bytes: from the step that writes it to its last reader.
type life struct{ first, last int }

func livesOf(p *Program) map[*ir.Value]life {
	out := map[*ir.Value]life{}
	for i, s := range p.Steps {
		for _, v := range s.Args {
			l, seen := out[v]
			if !seen {
				l.first = i
			}
			l.last = i
			out[v] = l
		}
	}
	return out
}

// TestRandomPrograms: values that live at one time share no byte, all lie aligned within the
// arena, and the arena is at least as large as what lives at once. Whatever the symbols' values.
func TestRandomPrograms(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := randomProgram(r)
		run(t, p)
		lives := livesOf(p)
		for range 4 {
			env := map[string]int64{"N": 3 + r.Int64N(40), "M": 1 + r.Int64N(9)}
			checkArena(t, p, lives, env, fmt.Sprintf("seed %d, %v\n%s", seed, env, p))
		}
	}
}

func checkArena(t *testing.T, p *Program, lives map[*ir.Value]life, env map[string]int64, what string) {
	t.Helper()
	type span struct {
		v      *ir.Value
		at, to int64
	}
	var spans []span
	total := eval(t, p.ArenaBytes, env)
	for v := range lives {
		if p.Places[v].Region != Arena {
			continue
		}
		at := eval(t, p.Places[v].Offset, env)
		size := eval(t, p.Layouts[v].Elements(v.Shape), env) * int64(v.Type.Size())
		require.Zero(t, at%Alignment, "%s of %s", v.Name, what)
		require.GreaterOrEqual(t, at, int64(0), what)
		require.LessOrEqual(t, at+size, total, "%s of %s", v.Name, what)
		spans = append(spans, span{v, at, at + size})
	}
	for i, a := range spans {
		for _, b := range spans[:i] {
			la, lb := lives[a.v], lives[b.v]
			if la.first <= lb.last && lb.first <= la.last && a.at < a.to && b.at < b.to {
				require.False(t, a.at < b.to && b.at < a.to, "%s and %s overlap; %s", a.v.Name, b.v.Name, what)
			}
		}
	}
	for i := range p.Steps {
		live := int64(0)
		for _, s := range spans {
			if l := lives[s.v]; l.first <= i && i <= l.last {
				live += s.to - s.at
			}
		}
		require.LessOrEqual(t, live, total, what)
	}
	require.LessOrEqual(t, eval(t, p.LowerBoundBytes, env), total, what)
}

// TestChain: of a chain, two values live at a time, and the greedy plan needs no more.
func TestChain(t *testing.T) {
	x := value("x", ir.F32, n, sym.Const(100))
	p := &Program{Inputs: []*ir.Value{x}}
	last := x
	for i := range 10 {
		v := value(fmt.Sprint("v", i), ir.F32, n, sym.Const(100))
		p.Steps = append(p.Steps, step(last, v))
		last = v
	}
	p.Outputs = []*ir.Value{last}
	run(t, p)
	assert.Equal(t, "896*N", p.ArenaBytes.String(), "twice 400*N bytes, rounded up to 448*N")
	assert.Equal(t, p.ArenaBytes, p.LowerBoundBytes)
	assert.Equal(t, "input 0", p.Places[x].String())
	assert.Equal(t, "output 0", p.Places[last].String())
}

// TestEmpty: a value of no elements lies apart from what is computed of it.
func TestEmpty(t *testing.T) {
	x, e, s, y := value("x", ir.F32, n), value("e", ir.F32, sym.Const(0), n), value("s", ir.F32, n), value("y", ir.F32, n)
	p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Symbols: []ir.Symbol{{Name: "N", Lo: 1, Hi: 9}}, Steps: []Step{step(x, e), step(e, s), step(s, y)}}
	run(t, p)
	assert.NotEqual(t, p.Places[e].String(), p.Places[s].String())
	assert.Equal(t, "64*N + 64", p.ArenaBytes.String())
}

// TestConstants: equal bytes lie in the file once, in the order of their first use, aligned.
func TestConstants(t *testing.T) {
	constant := func(name string, typ ir.DType, bytes ...byte) *ir.Value {
		return ir.ConstValue(name, &ir.Tensor{Type: typ, Shape: []int64{int64(len(bytes) / typ.Size())}, Data: bytes})
	}
	a, b := constant("a", ir.U8, 1, 2, 3), constant("b", ir.U8, 4)
	same, long := constant("same", ir.I8, 1, 2, 3), constant("long", ir.U8, make([]byte, 65)...)
	unread := constant("unread", ir.U8, 9)
	x, y, z := value("x", ir.U8, n), value("y", ir.U8, n), value("z", ir.U8, n)
	p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{z}, Steps: []Step{step(x, long, a, y), step(y, b, same, long, z)}}
	run(t, p)
	assert.Equal(t, "weights + 0", p.Places[long].String())
	assert.Equal(t, "weights + 128", p.Places[a].String())
	assert.Equal(t, "weights + 192", p.Places[b].String())
	assert.Equal(t, p.Places[a], p.Places[same])
	assert.NotContains(t, p.Places, unread)
	require.Len(t, p.Constants, 3)
	assert.Equal(t, int64(256), p.WeightsBytes)
	broken := ir.ConstValue("broken", &ir.Tensor{Type: ir.U8, Shape: []int64{4}, Src: &ir.Source{File: &ir.File{R: nothing{}}, Length: 4}})
	p.Steps = append(p.Steps, step(broken, value("w", ir.U8)))
	assert.ErrorContains(t, Run(p), "reading 4 bytes")
}

// TestLongConstants: those that differ only beyond their beginning lie apart, and equal ones share a place,
// in memory or not.
func TestLongConstants(t *testing.T) {
	const size = 3 * beginning
	long := func(last byte) []byte { return append(make([]byte, size-1), last) }
	tensor := func(data []byte) *ir.Tensor { return &ir.Tensor{Type: ir.U8, Shape: []int64{size}, Data: data} }
	file := &ir.File{R: bytes.NewReader(long(1)), Size: size}
	computed := ir.Computed(ir.U8, []int64{size}, 1, func(b []byte, first int64) error {
		clear(b)
		if first+int64(len(b)) == size {
			b[len(b)-1] = 2
		}
		return nil
	})
	var args []*ir.Value
	for i, t := range []*ir.Tensor{tensor(long(1)), tensor(long(2)), {Type: ir.U8, Shape: []int64{size}, Src: &ir.Source{File: file, Length: size}}, computed, tensor(long(3))} {
		args = append(args, ir.ConstValue(fmt.Sprint("c", i), t))
	}
	z := value("z", ir.U8, n)
	p := &Program{Outputs: []*ir.Value{z}, Steps: []Step{step(append(args, z)...)}}
	run(t, p)
	for i, want := range []string{"weights + 0", "weights + 12288", "weights + 0", "weights + 12288", "weights + 24576"} {
		assert.Equal(t, want, p.Places[args[i]].String(), args[i].Name)
	}
	file.R = nothing{}
	p = &Program{Outputs: []*ir.Value{z}, Steps: []Step{step(append(args, z)...)}}
	assert.ErrorContains(t, Run(p), "no bytes")
}

type nothing struct{}

func (nothing) ReadAt([]byte, int64) (int, error) { return 0, fmt.Errorf("no bytes") }

// TestTwoPlaces: the pass before gives each output a value of its own.
func TestTwoPlaces(t *testing.T) {
	x := value("x", ir.F32, n)
	assert.EqualError(t, Run(&Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{x}}), `output "x" has two places`)
}

// TestScratch is the greatest of the steps' scratch memories; several buffers of one lie side by side.
func TestScratch(t *testing.T) {
	x, y := value("x", ir.F32, n), value("y", ir.F32, n)
	first, second := step(x, y), step(y, value("z", ir.F32, n))
	first.Kernel.Scratch = []*loop.Buffer{{Type: ir.F32, Size: sym.Const(20)}, {Type: ir.I8, Size: n}}
	second.Kernel.Scratch = []*loop.Buffer{{Type: ir.I64, Size: sym.Const(100)}}
	p := &Program{Inputs: []*ir.Value{x}, Steps: []Step{first, second}, Facts: sym.Facts{"N": {Lo: 1, Hi: 64}}}
	run(t, p)
	offsets, bytes := first.Scratch()
	assert.Equal(t, "128", offsets[1].String())
	assert.Equal(t, "64*N + 128", bytes.String())
	assert.Equal(t, "max(64*N + 128, 832)", p.ScratchBytes.String())
}

func TestRoundUp(t *testing.T) {
	for _, c := range []struct {
		e    sym.Expr
		want string
	}{
		{sym.Const(0), "0"},
		{sym.Const(65), "128"},
		{sym.Scale(n, 4), "64*N"},
		{sym.Add(sym.Scale(n, 68), sym.Const(4)), "128*N + 64"},
		{sym.Sub(sym.Scale(n, 64), sym.Const(64)), "64*N - 64"},
		{sym.Sub(sym.Scale(n, 4), sym.Const(4)), "64*((N + 14) // (16))"},
	} {
		got := roundUp(c.e, Alignment)
		assert.Equal(t, c.want, got.String(), "%s", c.e)
	}
}

// TestAlign: constants and intermediate values of a chip of long vectors lie at multiples of these.
func TestAlign(t *testing.T) {
	x, y := &ir.Value{Name: "x", Type: ir.U8, Shape: ir.Dims(3), HasShape: true}, &ir.Value{Name: "y", Type: ir.U8, Shape: ir.Dims(3), HasShape: true}
	a, b := ir.ConstValue("a", ir.NewTensor(ir.U8, 65)), ir.ConstValue("b", ir.NewTensor(ir.U8, 1))
	k := &loop.Kernel{Buffers: make([]*loop.Buffer, 4)}
	p := &Program{Memory: Memory{Align: 128}, Layouts: map[*ir.Value]layout.Layout{}, Steps: []Step{{Call: &Call{Kernel: k, Args: []*ir.Value{a, b, x, y}, Block: &block.Block{}}}}}
	require.NoError(t, Run(p))
	assert.Equal(t, []string{"0", "128", "0", "128"}, []string{p.Places[a].Offset.String(), p.Places[b].Offset.String(), p.Places[x].Offset.String(), p.Places[y].Offset.String()})
	assert.Equal(t, int64(256), p.WeightsBytes)
	assert.True(t, p.ArenaBytes.Is(256))
}
