package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

func TestStatements(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int64
		tasks int64
		body  func(f *fixture) []loop.Stmt
		want  []float32
	}{
		{"loop", 4, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(4), put(f.y, i, add(mem(f.x, i), at(sym.Scale(i, 10)))))}
		}, []float32{0.5, 11.5, 22.5, 33.5}},
		{"loop of no iterations", 1, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", sym.Sub(n, num(6)), put(f.y, i, lit(1))), put(f.y, num(0), lit(2))}
		}, []float32{2}},
		{"tasks", 6, 3, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(2), put(f.y, sym.Add(sym.Scale(task, 2), i), at(task)))}
		}, []float32{0, 0, 1, 1, 2, 2}},
		{"symbol", 6, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", n, put(f.y, sym.Sub(sym.Sub(n, num(1)), i), at(sym.Mul(n, i))))}
		}, []float32{30, 24, 18, 12, 6, 0}},
		{"index that is no line", 6, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(6), loop.Index{Var: "p", Value: sym.Mod(sym.Scale(i, 5), num(6), nil)},
				loop.Index{Var: "q", Value: sym.FloorDiv(p, num(2), nil)}, put(f.y, i, add(at(sym.Scale(p, 10)), at(q))))}
		}, []float32{0, 52, 42, 31, 21, 10}},
		{"minimum and maximum", 5, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(5), put(f.y, i, add(at(sym.Min(i, num(2), nil)), at(sym.Scale(sym.Max(i, num(3), nil), 10)))))}
		}, []float32{30, 31, 32, 32, 42}},
		{"clamped bind", 4, 1, func(f *fixture) []loop.Stmt {
			v := te.Fn(ir.I64, "sub", te.Index{Type: ir.I64, E: sym.Scale(i, 4)}, te.Int(ir.I64, 3)) // -3, 1, 5, 9
			return []loop.Stmt{loopOver("i", num(4), loop.Bind{Var: "p", Value: v, Lo: num(0), Hi: num(6)}, put(f.y, i, mem(f.x, p)))}
		}, []float32{0.5, 1.5, 5.5, 6.5}},
		{"reduction", 2, 2, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{def("s", lit(0)), loopOver("i", num(6), set("s", add(ref("s"), mem(f.x, sym.Add(sym.Scale(task, 6), i))))), put(f.y, task, ref("s"))}
		}, []float32{18, 54}},
		{"reduction within lanes", 3, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("j", num(3), def("s", lit(0)), loopOver("i", num(4), set("s", add(ref("s"), mem(f.x, sym.Add(sym.Scale(i, 3), j))))), put(f.y, j, ref("s")))}
		}, []float32{20, 24, 28}},
		{"local array", 4, 2, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, loopOver("i", num(2), put(f.la, i, at(sym.Add(task, i)))),
				loopOver("i", num(2), put(f.y, sym.Add(sym.Scale(task, 2), i), mem(f.la, sym.Sub(num(1), i))))}
		}, []float32{1, 0, 2, 1}},
		{"scratch", 4, 2, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(2), put(f.s, i, at(sym.Add(task, i)))),
				loopOver("i", num(2), put(f.y, sym.Add(sym.Scale(task, 2), i), mem(f.s, i)))}
		}, []float32{0, 1, 1, 2}},
		{"if", 6, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(6), loop.If{Cond: append(within(i, 1, 5), within(sym.Scale(i, -1), -3, 0)...),
				Then: []loop.Stmt{put(f.y, i, lit(1))}, Else: []loop.Stmt{put(f.y, i, at(i))}})}
		}, []float32{0, 1, 1, 1, 4, 5}},
		{"if that is no range", 6, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(6), loop.If{Cond: within(sym.Mod(i, num(2), nil), 0, 1),
				Then: []loop.Stmt{put(f.y, i, lit(-1))}, Else: []loop.Stmt{put(f.y, i, at(i))}})}
		}, []float32{-1, 1, -1, 3, -1, 5}},
		{"select reads one arm", 6, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(6), put(f.y, i, te.Select{Cond: within(sym.Sub(i, num(2)), 0, 3), Then: mem(f.x, sym.Sub(i, num(2))), Else: lit(9)}))}
		}, []float32{9, 9, 0.5, 1.5, 2.5, 9}},
		{"variable from outside of a vector", 2, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{def("s", mem(f.x, num(3))), lanes("i", 2, 2, put(f.y, i, add(ref("s"), at(i))))}
		}, []float32{3.5, 4.5}},
		{"vectors in place", 8, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, lanes("i", 8, 4, put(f.la, i, mem(f.x, i))),
				lanes("i", 8, 4, put(f.la, i, add(mem(f.la, i), mem(f.la, i)))), lanes("i", 8, 4, put(f.y, i, mem(f.la, i)))}
		}, []float32{1, 3, 5, 7, 9, 11, 13, 15}},
		{"vectors over a loop", 4, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{lanes("i", 4, 4, loop.Alloc{Buf: f.la}, loopOver("j", num(2), put(f.la, sym.Add(i, sym.Scale(j, 4)), mem(f.x, sym.Add(i, j)))),
				put(f.y, i, add(mem(f.la, i), mem(f.la, sym.Add(i, num(4))))))}
		}, []float32{2, 4, 6, 8}},
		{"rest of a vector loop", 6, 1, func(f *fixture) []loop.Stmt { // its iterations may share memory
			at4 := sym.Min(i, num(4), nil)
			return []loop.Stmt{loop.Alloc{Buf: f.la}, lanes("i", 6, 4, put(f.la, at4, at(i)), put(f.y, i, mem(f.la, at4)))}
		}, []float32{0, 1, 2, 3, 4, 5}},
		{"more than a chunk", 2 * chunk, 1, func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(2*chunk), put(f.y, i, lit(1)))}
		}, ones(2 * chunk)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := kernelOf(c.size, c.tasks)
			got, err := f.run(c.body(f)...)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func ones(n int) []float32 {
	out := make([]float32, n)
	for k := range out {
		out[k] = 1
	}
	return out
}

// TestTypes: elements of every type are loaded, converted and stored as C++ does.
func TestTypes(t *testing.T) {
	for _, typ := range []ir.DType{ir.Bool, ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.BF16, ir.F32, ir.F64} {
		f := kernelOf(12, 1)
		f.y.Type = typ
		out := floatsOf(12, "out", true)
		f.kernel.Buffers = []*loop.Buffer{f.x, f.y, out}
		f.la.Type, f.la.Size = typ, num(12)
		f.kernel.Body = []loop.Stmt{loop.Alloc{Buf: f.la},
			loopOver("i", num(12), put(f.la, i, te.Fn(typ, "cast", mem(f.x, i)))),
			loopOver("i", num(12), put(f.y, i, mem(f.la, i))),
			loopOver("i", num(12), put(out, i, te.Fn(ir.F32, "cast", mem(f.y, i))))}
		k, err := Compile(&f.kernel, map[string]int64{"N": 6})
		require.NoError(t, err, typ)
		x := []float32{-3.7, 1, 1.25, 2.5, 100, 127, 0, 1e9, 3.14159, 65504, 1e-3, -0.5}
		got := aligned(48)
		require.NoError(t, k.Start(bytesOf(x...), aligned(int64(12*typ.Size())), got, aligned(32)), typ)
		require.NoError(t, k.Run(0, 1), typ)
		require.NoError(t, k.Finish(), typ)
		assert.Equal(t, converted(t, typ, x), floats(got), typ)
	}
}

// converted rounds to a type and back.
func converted(t *testing.T, typ ir.DType, x []float32) []float32 {
	to, err := scalar.Bind("cast", typ, []ir.DType{ir.F32})
	require.NoError(t, err)
	back, err := scalar.Bind("cast", ir.F32, []ir.DType{typ})
	require.NoError(t, err)
	mid, out := scalar.NewVec(typ, len(x)), scalar.NewVec(ir.F32, len(x))
	to(mid, []*scalar.Vec{{F32: x}})
	back(out, []*scalar.Vec{mid})
	return out.F32
}
