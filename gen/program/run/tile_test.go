package run

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// row is an instruction of so many lanes.
func row(lanes int64, fused bool) *instr.Row {
	return &instr.Row{Name: "mac", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: lanes, Group: 1, Broadcast: []instr.Operand{instr.Register, instr.Lane}, Fused: fused}
}

// TestTile compares micro-kernels with their definition.
func TestTile(t *testing.T) {
	for _, m := range []*loop.MicroKernel{
		{Instr: row(2, true), X: instr.Register, Rows: 2, Vectors: 1, RowStep: 3, K: []loop.KLoop{{Extent: 3, XStep: 1, WStep: 2}}},
		{Instr: row(2, false), X: instr.Register, Rows: 1, Vectors: 2, RowStep: 9, K: []loop.KLoop{{Extent: 2, XStep: 6, WStep: 8}, {Extent: 2, XStep: 2, WStep: 4}}},
		{Instr: row(4, false), X: instr.Vector, Rows: 2, Vectors: 1, RowStep: 4, K: []loop.KLoop{{Extent: 2, XStep: 2, WStep: 4}}},
		{Instr: row(2, true), X: instr.Lane, Rows: 2, Vectors: 1, RowStep: 4, K: []loop.KLoop{{Extent: 4, XStep: 1, WStep: 2}}},
	} {
		f := kernelOf(m.Rows*m.Vectors*m.Lanes(), 1)
		f.la.Size = f.y.Size
		w := floatsOf(16, "w", false)
		f.kernel.Buffers = []*loop.Buffer{f.x, f.y, w}
		f.kernel.Body = []loop.Stmt{loop.Alloc{Buf: f.la}, loop.Tile{Micro: m, X: f.x, XAt: num(1), W: w, At: num(0), Acc: f.la},
			loopOver("i", f.y.Size, put(f.y, i, mem(f.la, i)))}
		k, err := Compile(&f.kernel, map[string]int64{"N": 6})
		require.NoError(t, err)
		x, ws := ramp(12), ramp(16)
		y := aligned(4 * k.params[1].size)
		require.NoError(t, k.Start(bytesOf(x...), y, bytesOf(ws...), aligned(4*8)))
		require.NoError(t, k.Run(0, 1))
		assert.Equal(t, definition(m, x[1:], ws), floats(y))
	}
}

// TestIntegerTile: groups of two neighbours, registers of W apart, sums that wrap.
func TestIntegerTile(t *testing.T) {
	mac := &instr.Row{Name: "mac", X: ir.I16, W: ir.U16, Acc: ir.I32, Lanes: 2, Group: 2, Broadcast: []instr.Operand{instr.Scalar}}
	m := &loop.MicroKernel{Instr: mac, X: instr.Scalar, Rows: 2, Vectors: 2, RowStep: 4, VecStep: 8, K: []loop.KLoop{{Extent: 2, XStep: 2, WStep: 4}}}
	x, w := &loop.Buffer{Name: "x", Type: ir.I16, Size: num(8)}, &loop.Buffer{Name: "w", Type: ir.U16, Size: num(16)}
	acc, y := &loop.Buffer{Name: "acc", Type: ir.I32, Write: true, Local: true, Size: num(8)}, &loop.Buffer{Name: "y", Type: ir.I32, Write: true, Size: num(8)}
	kernel := &loop.Kernel{Anchor: "test", Buffers: []*loop.Buffer{x, w, y}, Grid: loop.Linear(num(1))}
	kernel.Body = []loop.Stmt{loop.Alloc{Buf: acc}, loop.Tile{Micro: m, X: x, XAt: num(0), W: w, At: num(0), Acc: acc},
		loopOver("i", y.Size, put(y, i, mem(acc, i)))}
	k, err := Compile(kernel, nil)
	require.NoError(t, err)
	xs, ws, out := []int16{1, -2, 3, 4, -32768, -32768, -32768, -32768}, make([]uint16, 16), aligned(32)
	for n := range ws {
		ws[n] = uint16(65535 - 3*n)
	}
	require.NoError(t, k.Start(little(xs), little(ws), out))
	require.NoError(t, k.Run(0, 1))
	var want []int32
	for r := range 2 {
		for v := range 2 {
			for l := range 2 {
				sum := int32(0)
				for g := range 4 {
					sum += int32(xs[4*r+g]) * int32(ws[8*v+g/2*4+2*l+g%2])
				}
				want = append(want, sum)
			}
		}
	}
	got := make([]int32, 8)
	_, err = binary.Decode(out, binary.LittleEndian, got)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestVectorsOfGroups: each lane has neighbours of its own in X.
func TestVectorsOfGroups(t *testing.T) {
	mac := &instr.Row{Name: "mac", X: ir.U8, W: ir.I8, Acc: ir.I32, Lanes: 2, Group: 2, Broadcast: []instr.Operand{instr.Scalar}}
	m := &loop.MicroKernel{Instr: mac, X: instr.Vector, Rows: 2, Vectors: 2, RowStep: 8, K: []loop.KLoop{{Extent: 2, XStep: 16, WStep: 8}}}
	x, w := &loop.Buffer{Name: "x", Type: ir.U8, Size: num(32)}, &loop.Buffer{Name: "w", Type: ir.I8, Size: num(16)}
	acc, y := &loop.Buffer{Name: "acc", Type: ir.I32, Write: true, Local: true, Size: num(8)}, &loop.Buffer{Name: "y", Type: ir.I32, Write: true, Size: num(8)}
	kernel := &loop.Kernel{Anchor: "test", Buffers: []*loop.Buffer{x, w, y}, Grid: loop.Linear(num(1))}
	kernel.Body = []loop.Stmt{loop.Alloc{Buf: acc}, loop.Tile{Micro: m, X: x, XAt: num(0), W: w, At: num(0), Acc: acc},
		loopOver("i", y.Size, put(y, i, mem(acc, i)))}
	require.NoError(t, loop.Verify(kernel))
	k, err := Compile(kernel, nil)
	require.NoError(t, err)
	xs, ws, out := make([]uint8, 32), make([]int8, 16), aligned(32)
	for n := range xs {
		xs[n], ws[n/2] = uint8(37*n), int8(29*n)
	}
	require.NoError(t, k.Start(little(xs), little(ws), out))
	require.NoError(t, k.Run(0, 1))
	var want []int32
	for r := range 2 {
		for l := range 4 {
			sum := int32(0)
			for g := range 4 {
				sum += int32(xs[16*(g/2)+8*r+2*l+g%2]) * int32(ws[8*(g/2)+2*l+g%2])
			}
			want = append(want, sum)
		}
	}
	got := make([]int32, 8)
	_, err = binary.Decode(out, binary.LittleEndian, got)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	x.Size = num(31)
	assert.ErrorContains(t, loop.Verify(kernel), "x")
}

// TestAlignedTile: an instruction that loads whole groups and registers finds them at multiples of their size, or all registers anywhere.
func TestAlignedTile(t *testing.T) {
	mac := &instr.Row{Name: "mac", X: ir.I8, W: ir.I8, Acc: ir.I32, Lanes: 2, Group: 4, Broadcast: []instr.Operand{instr.Scalar}, Aligned: true}
	of := func(xAt, wAt, step int64) error {
		m := &loop.MicroKernel{Instr: mac, X: instr.Scalar, Rows: 2, Vectors: 1, RowStep: 8, K: []loop.KLoop{{Extent: 2, XStep: 4, WStep: step}}}
		x, w := &loop.Buffer{Name: "x", Type: ir.I8, Size: num(32)}, &loop.Buffer{Name: "w", Type: ir.I8, Size: num(32)}
		acc, y := &loop.Buffer{Name: "acc", Type: ir.I32, Write: true, Local: true, Size: num(4)}, &loop.Buffer{Name: "y", Type: ir.I32, Write: true, Size: num(4)}
		kernel := &loop.Kernel{Anchor: "test", Buffers: []*loop.Buffer{x, w, y}, Grid: loop.Linear(num(1))}
		kernel.Body = []loop.Stmt{loop.Alloc{Buf: acc}, loop.Tile{Micro: m, X: x, XAt: num(xAt), W: w, At: num(wAt), Acc: acc},
			loopOver("i", y.Size, put(y, i, mem(acc, i)))}
		k, err := Compile(kernel, nil)
		require.NoError(t, err)
		require.NoError(t, k.Start(aligned(32), aligned(32), aligned(16)))
		return k.Run(0, 1)
	}
	require.NoError(t, of(4, 8, 8))
	require.NoError(t, of(4, 3, 4), "registers anywhere")
	require.ErrorContains(t, of(2, 8, 8), "a group of x is loaded at element 2, no multiple of 4")
	require.ErrorContains(t, of(4, 4, 8), "a register of w is loaded at element 4, no multiple of 8")
}

func little(xs any) []byte {
	out, err := binary.Append(nil, binary.LittleEndian, xs)
	if err != nil {
		panic(err)
	}
	return out
}

func ramp(n int) []float32 {
	out := make([]float32, n)
	for k := range out {
		out[k] = float32(k*k%7 + 1)
	}
	return out
}

// definition is loop.MicroKernel's comment in Go, for sums that float32 holds.
func definition(m *loop.MicroKernel, x, w []float32) []float32 {
	out := make([]float32, m.Rows*m.Vectors*m.Lanes())
	for step := range m.Steps() {
		xo, wo := int64(0), int64(0)
		for i := len(m.K) - 1; i >= 0; i-- {
			k := m.K[i]
			xo, wo, step = xo+step%k.Extent*k.XStep, wo+step%k.Extent*k.WStep, step/k.Extent
		}
		for r := range m.Rows {
			for l := range m.Vectors * m.Lanes() {
				at := r*m.RowStep + xo
				if !m.Broadcast() {
					at += l
				}
				out[r*m.Vectors*m.Lanes()+l] += x[at] * w[wo+l]
			}
		}
	}
	return out
}

func TestTileChecks(t *testing.T) {
	m := &loop.MicroKernel{Instr: row(4, true), X: instr.Register, Rows: 2, Vectors: 1, RowStep: 6, K: []loop.KLoop{{Extent: 2, XStep: 1, WStep: 4}}}
	for _, c := range []struct {
		name string
		tile func(f *fixture) loop.Tile
		want string
	}{
		{"X", func(f *fixture) loop.Tile { return loop.Tile{Micro: m, X: f.x, XAt: num(5), W: f.x, Acc: f.la} }, "tile of x + (5), x + (0) into acc, task 0: element 12 is outside of x"},
		{"W", func(f *fixture) loop.Tile { return loop.Tile{Micro: m, X: f.x, W: f.x, At: num(8), Acc: f.la} }, "element 12 is outside of x, which has 12"},
		{"scratch", func(f *fixture) loop.Tile { return loop.Tile{Micro: m, X: f.s, W: f.x, Acc: f.la} }, "element 0 of scratch is read before it is written"},
		{"accumulators", func(f *fixture) loop.Tile { f.la.Size = num(7); return loop.Tile{Micro: m, X: f.x, W: f.x, Acc: f.la} }, "element 7 is outside of acc"},
		{"result", func(f *fixture) loop.Tile { return loop.Tile{Micro: m, X: f.x, W: f.x, Acc: f.y} }, "a tile into y, which is neither a local array nor the worker's memory"},
		{"kind of X", func(f *fixture) loop.Tile {
			mem := *m
			mem.X = instr.Memory
			return loop.Tile{Micro: &mem, X: f.x, W: f.x, Acc: f.la}
		}, "instruction mac, of groups of 1, and X of kind mem"},
		{"type of W", func(f *fixture) loop.Tile {
			integers := *m
			row := *m.Instr
			integers.Instr, row.W = &row, ir.I8
			return loop.Tile{Micro: &integers, X: f.x, W: f.x, Acc: f.la}
		}, "a tile reads or writes x of type f32; instruction mac wants i8"},
		{"lanes of X", func(f *fixture) loop.Tile {
			lane := *m
			lane.X = instr.Lane
			return loop.Tile{Micro: &lane, X: f.x, W: f.x, Acc: f.la}
		}, "lanes of X along 2 elements in steps of 1; a register has 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := kernelOf(8, 1)
			tile := c.tile(f)
			_, err := f.run(loop.Alloc{Buf: f.la}, tile)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestNarrowTile: sums in 16 bits that have no room for their products are found; they begin anew after as many points as the tile says.
func TestNarrowTile(t *testing.T) {
	of := func(weight int8, points int64) error {
		m := &loop.MicroKernel{Instr: instr.Lookup("vmpy_i8u8"), X: instr.Scalar, Rows: 1, Vectors: 1, Narrow: points, K: []loop.KLoop{{Extent: 4, XStep: 1, WStep: 128}}}
		x, w := &loop.Buffer{Name: "x", Type: ir.I8, Size: num(4)}, &loop.Buffer{Name: "w", Type: ir.U8, Size: num(512)}
		acc, y := &loop.Buffer{Name: "acc", Type: ir.I32, Write: true, Local: true, Size: num(128)}, &loop.Buffer{Name: "y", Type: ir.I32, Write: true, Size: num(128)}
		kernel := &loop.Kernel{Anchor: "test", Buffers: []*loop.Buffer{x, w, y}, Grid: loop.Linear(num(1))}
		kernel.Body = []loop.Stmt{loop.Alloc{Buf: acc}, loop.Tile{Micro: m, X: x, XAt: num(0), W: w, At: num(0), Acc: acc}, loopOver("i", y.Size, put(y, i, mem(acc, i)))}
		require.NoError(t, loop.Verify(kernel))
		k, err := Compile(kernel, nil)
		require.NoError(t, err)
		bytes := aligned(512)
		for n := range bytes {
			bytes[n] = 255
		}
		require.NoError(t, k.Start(little([]int8{weight, weight, weight, weight}), bytes, aligned(512)))
		return k.Run(0, 1)
	}
	require.NoError(t, of(127, 1))
	require.NoError(t, of(64, 2))
	require.NoError(t, of(-64, 2))
	require.ErrorContains(t, of(65, 2), "sums of 2 points of x by w leave 16 bits")
	require.ErrorContains(t, of(-64, 3), "sums of 3 points of x by w leave 16 bits")
}
