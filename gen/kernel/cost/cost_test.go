package cost

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
)

var chip = &target.Target{Name: "test", L1D: 32 << 10, L2: 1 << 20, BytesPerCycle: 4, L2BytesPerCycle: 16, LoadCycles: 0.5}

// copying is a kernel that copies n floats that lie stride apart.
func copying(n sym.Expr, stride, lanes int64) *loop.Kernel {
	x := &loop.Buffer{Name: "x", Type: ir.F32, Size: sym.Scale(n, stride)}
	y := &loop.Buffer{Name: "y", Type: ir.F32, Write: true, Size: n}
	i := sym.Var("i")
	body := []loop.Stmt{loop.Store{Buf: y, Index: i, Value: loop.Mem{Buf: x, Index: sym.Scale(i, stride)}}}
	return &loop.Kernel{Buffers: []*loop.Buffer{x, y}, Facts: sym.Facts{},
		Body: []loop.Stmt{loop.For{Var: "i", Extent: n, Body: body, Lanes: lanes}}}
}

func cycles(k *loop.Kernel, symbols sym.Facts) float64 { return Kernel(k, chip, symbols) }

// TestOrder states which of two kernels is the faster one.
func TestOrder(t *testing.T) {
	n := sym.Const(1 << 12)
	plain := cycles(copying(n, 1, 0), nil)
	assert.Less(t, cycles(copying(n, 1, 8), nil), plain, "vectors beat elements")
	assert.Greater(t, cycles(copying(n, 64, 0), nil), plain, "lines of which one element is used cost more")
	assert.Greater(t, cycles(copying(sym.Const(1<<13), 1, 0), nil), plain, "twice as many")

	divided := copying(n, 1, 0)
	at := sym.FloorDiv(sym.Mod(sym.Var("i"), sym.Const(100), nil), sym.Const(7), nil)
	store := loop.Store{Buf: divided.Buffers[1], Index: sym.Var("i"), Value: loop.Mem{Buf: divided.Buffers[0], Index: at}}
	divided.Body = []loop.Stmt{loop.For{Var: "i", Extent: n, Body: []loop.Stmt{store}}}
	assert.Greater(t, cycles(divided, nil), plain, "indices that divide")

	heavy := copying(n, 1, 0)
	store.Value = te.Fn(ir.F32, "exp", loop.Mem{Buf: heavy.Buffers[0], Index: sym.Var("i")})
	heavy.Body = []loop.Stmt{loop.For{Var: "i", Extent: n, Body: []loop.Stmt{store}}}
	assert.Greater(t, cycles(heavy, nil), plain, "functions")
}

// TestSums: products that are added up in registers take as long as FMAs do, loads beside them next to nothing, and conversions of what is loaded what
// the chip says.
func TestSums(t *testing.T) {
	local := func(name string) te.Expr { return loop.Ref{Name: name, Type: ir.F32} }
	at := *chip
	at.CPU, at.FMAPerCycle, at.LoadsPerCycle, at.WidenCycles = "arm64", 1, 2, 0.25
	of := func(typ ir.DType, products, loads int) float64 {
		var body []loop.Stmt
		for range loads {
			var x te.Expr = loop.Mem{Buf: &loop.Buffer{Name: "x", Type: typ, Size: sym.Const(8)}, Index: sym.Var("i")}
			if typ != ir.F32 {
				x = te.Fn(ir.F32, "cast", x)
			}
			body = append(body, loop.Def{Name: "x0", Init: x})
		}
		for range products {
			body = append(body, loop.Set{Name: "acc0", Value: te.Fn(ir.F32, "add", local("acc0"), te.Fn(ir.F32, "mul", local("x0"), local("x0")))})
		}
		e := &estimate{t: &at}
		return e.body([]loop.Stmt{loop.For{Var: "i", Extent: sym.Const(8), Lanes: 8, Body: body}}, "", 1)
	}
	sums := func(products, loads int) float64 { return of(ir.F32, products, loads) }
	none := sums(0, 0)
	assert.InDelta(t, 10, sums(10, 0)-none, 1e-9)
	assert.InDelta(t, 10+2.0/16, sums(10, 4)-none, 1e-9)
	assert.InDelta(t, 10+4.0/16, sums(4, 20)-none, 1e-9, "more loads than products")
	assert.InDelta(t, 10+4*0.25+2.0/16, of(ir.F16, 10, 4)-none, 1e-9, "converted from f16")
	assert.InDelta(t, 10+4*0.5+2.0/16, of(ir.BF16, 10, 4)-none, 1e-9, "converted from bf16")
}

// TestApart: vectors that are stored lane by lane cost more; loads of whole vectors do not, wherever a loop in the vector loop goes.
func TestApart(t *testing.T) {
	x := &loop.Buffer{Name: "x", Type: ir.F32, Size: sym.Const(1 << 10)}
	y := &loop.Buffer{Name: "y", Type: ir.F32, Write: true, Size: sym.Const(1 << 10)}
	i, j := sym.Var("i"), sym.Var("j")
	vectors := func(to, step int64) float64 {
		body := []loop.Stmt{loop.For{Var: "j", Extent: sym.Const(8), Body: []loop.Stmt{
			loop.Store{Buf: y, Index: sym.Scale(i, to), Value: loop.Mem{Buf: x, Index: sym.Add(i, sym.Scale(j, step))}}}}}
		return cycles(&loop.Kernel{Buffers: []*loop.Buffer{x, y}, Facts: sym.Facts{}, Body: []loop.Stmt{loop.For{Var: "i", Extent: sym.Const(64), Body: body, Lanes: 8}}}, nil)
	}
	assert.Greater(t, vectors(2, 1), vectors(1, 1), "stored apart")
	assert.Equal(t, vectors(1, 1), vectors(1, 64), "loaded far apart by the inner loop")
}

// TestMemoryBounds a kernel that computes little.
func TestMemoryBounds(t *testing.T) {
	n := int64(1 << 24)
	bytes := float64(2 * 4 * n)
	assert.InEpsilon(t, bytes/chip.BytesPerCycle, cycles(copying(sym.Const(n), 1, 16), nil), 0.0045)
}

func TestSymbolsAreTypical(t *testing.T) {
	s := sym.Facts{"N": {Lo: 1, Hi: 64}}
	k := copying(sym.Mul(sym.Var("N"), sym.Const(100)), 1, 0)
	assert.Equal(t, cycles(copying(sym.Const(800), 1, 0), nil), cycles(k, s), "8 of 1 to 64")
	unbounded := sym.Facts{"N": {Lo: 1, Hi: 1<<31 - 1}}
	assert.Equal(t, cycles(copying(sym.Const(3200), 1, 0), nil), cycles(k, unbounded), "32 of 1 to many")
}

// TestReadAgain: a buffer that does not fit in the cache is read again for each task, unless tasks read parts of it.
func TestReadAgain(t *testing.T) {
	const n, tasks = 1 << 20, 8
	reading := func(task string, at sym.Expr, each int64) float64 {
		x := &loop.Buffer{Name: "x", Type: ir.F32, Size: sym.Const(n)}
		y := &loop.Buffer{Name: "y", Type: ir.F32, Write: true, Size: sym.Const(1)}
		load := loop.Store{Buf: y, Index: sym.Const(0), Value: loop.Mem{Buf: x, Index: sym.Add(at, sym.Var("i"))}}
		body := []loop.Stmt{loop.Index{Var: "first", Value: sym.Scale(sym.Var(task), n/tasks)}, loop.For{Var: "i", Extent: sym.Const(each), Lanes: 1 << 10, Body: []loop.Stmt{load}}}
		return cycles(&loop.Kernel{Buffers: []*loop.Buffer{x, y}, Facts: sym.Facts{}, Body: body,
			Grid: []te.Axis{{Var: "o", Extent: sym.Const(2)}, {Var: "t", Extent: sym.Const(tasks)}}}, nil)
	}
	once := 4 * n / chip.BytesPerCycle
	assert.InEpsilon(t, 16*once, reading("t", sym.Const(0), n), 0.01, "each task reads all of it")
	assert.InEpsilon(t, 2*once, reading("t", sym.Var("first"), n/tasks), 0.01, "the inner axis walks it, twice")
	assert.InEpsilon(t, 8*once, reading("o", sym.Var("first"), n), 0.01, "a half is read again by each task")
	assert.Less(t, reading("t", sym.Const(0), 64), 4*once/tasks, "of which tasks touch little")
}

// TestGathered: rows of a table that loaded integers name are what tasks read of it, not the whole table each.
func TestGathered(t *testing.T) {
	const rows, row, tasks = 1 << 14, 1 << 8, 64
	reading := func(from sym.Expr, times int64) float64 {
		ids := &loop.Buffer{Name: "ids", Type: ir.I64, Size: sym.Const(tasks)}
		x := &loop.Buffer{Name: "x", Type: ir.F32, Const: true, Size: sym.Const(rows * row)}
		y := &loop.Buffer{Name: "y", Type: ir.F32, Write: true, Size: sym.Const(row)}
		load := loop.Store{Buf: y, Index: sym.Var("i"), Value: loop.Mem{Buf: x, Index: sym.Add(sym.Scale(sym.Var("at"), row), sym.Var("i"))}}
		walk := loop.For{Var: "i", Extent: sym.Const(row), Lanes: 16, Body: []loop.Stmt{load}}
		body := []loop.Stmt{loop.Bind{Var: "at", Value: loop.Mem{Buf: ids, Index: from}, Lo: sym.Const(0), Hi: sym.Const(rows)},
			loop.For{Var: "again", Extent: sym.Const(times), Body: []loop.Stmt{walk}}}
		return cycles(&loop.Kernel{Buffers: []*loop.Buffer{ids, x, y}, Facts: sym.Facts{}, Body: body, Grid: []te.Axis{{Var: "t", Extent: sym.Const(tasks)}}}, nil)
	}
	assert.Less(t, reading(sym.Var("t"), 1), 2*kernel(chip)+4.0*row*tasks/chip.BytesPerCycle, "a row each")
	whole := 4.0 * rows * row / chip.BytesPerCycle
	assert.Greater(t, reading(sym.Const(0), rows), tasks*whole, "all tasks the same, again and again")
	assert.Less(t, reading(sym.Var("t"), rows), tasks*whole/4, "parts, again and again")
}

// TestWaits: what moves within a local array waits for what stored it there.
func TestWaits(t *testing.T) {
	b := &loop.Buffer{Name: "b", Type: ir.F32, Local: true, Write: true, Size: sym.Const(32)}
	moving := func(by int64) float64 {
		load := loop.Mem{Buf: b, Index: sym.Add(sym.Var("i"), sym.Const(by))}
		return cycles(&loop.Kernel{Facts: sym.Facts{}, Body: []loop.Stmt{loop.For{Var: "i", Extent: sym.Const(16), Lanes: 16,
			Body: []loop.Stmt{loop.Store{Buf: b, Index: sym.Var("i"), Value: load}}}}}, nil)
	}
	assert.InDelta(t, moving(0)+perForward, moving(16), 1e-9)
}

// TestFraction: what runs for one point of an axis only costs that part of the axis.
func TestFraction(t *testing.T) {
	work := copying(sym.Const(1024), 1, 16).Body
	at := func(lo, hi int64) float64 {
		only := []te.Within{{E: sym.Var("t"), Lo: sym.Const(lo), Hi: sym.Const(hi)}}
		return cycles(&loop.Kernel{Facts: sym.Facts{"t": {Lo: 0, Hi: 9}}, Grid: []te.Axis{{Var: "t", Extent: sym.Const(10)}},
			Body: []loop.Stmt{loop.If{Cond: only, Then: work}}}, nil) - kernel(chip)
	}
	assert.InDelta(t, at(0, 10), 10*at(9, 12), 10*perBranch*9+1, "one point of ten")
	assert.InDelta(t, 10*perBranch, at(10, 12), 1e-9, "none")
}
