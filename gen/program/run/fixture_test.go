package run

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Short forms that the tests' kernels are made of.
var (
	i, j, p, q = sym.Var("i"), sym.Var("j"), sym.Var("p"), sym.Var("q")
	n          = sym.Var("N")
	task       = sym.Var(loop.TaskVar)
)

func num(v int64) sym.Expr              { return sym.Const(v) }
func lit(v float64) te.Expr             { return te.Float(ir.F32, v) }
func at(e sym.Expr) te.Expr             { return te.Index{Type: ir.F32, E: e} }
func ref(name string) te.Expr           { return loop.Ref{Name: name, Type: ir.F32} }
func add(a, b te.Expr) te.Expr          { return te.Fn(ir.F32, "add", a, b) }
func def(s string, e te.Expr) loop.Stmt { return loop.Def{Name: s, Init: e} }
func set(s string, e te.Expr) loop.Stmt { return loop.Set{Name: s, Value: e} }

func mem(b *loop.Buffer, e sym.Expr) te.Expr { return loop.Mem{Buf: b, Index: e} }
func put(b *loop.Buffer, e sym.Expr, v te.Expr) loop.Stmt {
	return loop.Store{Buf: b, Index: e, Value: v}
}
func loopOver(v string, extent sym.Expr, body ...loop.Stmt) loop.Stmt {
	return loop.For{Var: v, Extent: extent, Body: body}
}
func lanes(v string, extent, width int64, body ...loop.Stmt) loop.Stmt {
	return loop.For{Var: v, Extent: num(extent), Lanes: width, Body: body}
}
func within(e sym.Expr, lo, hi int64) []te.Within {
	return []te.Within{{E: e, Lo: num(lo), Hi: num(hi)}}
}
func floatsOf(size int64, name string, write bool) *loop.Buffer {
	return &loop.Buffer{Name: name, Type: ir.F32, Write: write, Size: num(size)}
}

// bytesOf are float32 elements.
func bytesOf(xs ...float32) []byte {
	out := aligned(int64(4 * len(xs)))
	for k, x := range xs {
		binary.LittleEndian.PutUint32(out[4*k:], math.Float32bits(x))
	}
	return out
}

func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for k := range out {
		out[k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return out
}

// fixture is a kernel from x, 0.5, 1.5, ... 11.5, to y; scratch has 8 elements.
type fixture struct {
	kernel      loop.Kernel
	x, y, s, la *loop.Buffer
}

func kernelOf(sizeY, tasks int64) *fixture {
	f := &fixture{x: floatsOf(12, "x", false), y: floatsOf(sizeY, "y", true), s: floatsOf(8, "scratch", true), la: floatsOf(8, "acc", true)}
	f.la.Local = true
	f.kernel = loop.Kernel{Buffers: []*loop.Buffer{f.x, f.y}, Scratch: []*loop.Buffer{f.s}, Grid: loop.Linear(num(tasks)), Syms: []string{"N"},
		Facts: sym.Facts{"N": {Lo: 1, Hi: 64}}}
	return f
}

// run compiles and runs all tasks for N = 6 and gives y.
func (f *fixture) run(body ...loop.Stmt) ([]float32, error) {
	f.kernel.Body = body
	k, err := Compile(&f.kernel, map[string]int64{"N": 6})
	if err != nil {
		return nil, err
	}
	y := aligned(4 * k.params[1].size)
	x := bytesOf(0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5)
	if err := k.Start(x, y, aligned(4*8)); err != nil {
		return nil, err
	}
	if err := k.Run(0, k.Tasks()); err != nil {
		return nil, err
	}
	return floats(y), k.Finish()
}
