package schedtest

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Device: a work-group copies what it needs of both operands for some points of the reduction, and each of its items adds them.
func Device() Example {
	load := func(n int) *te.Stage {
		return &te.Stage{Name: fmt.Sprintf("copy %d", n), Axes: axes("i0", 16, "i1", 16), Results: []te.Expr{te.Operand(n, ir.F32, at("i0", "i1")...)}}
	}
	c := func(a, b te.Expr) *te.Stage {
		return sumOf("product", axes("i0", 16, "i1", 16), axes("r0", 16), product(a, b))
	}
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, 16, 16), value(ir.F32, 16, 16)}, Stages: []*te.Stage{load(0), load(1),
		c(te.FromStage(0, ir.F32, at("i0", "r0")...), te.FromStage(1, ir.F32, at("r0", "i1")...))}}
	reference := []*te.Stage{c(te.Operand(0, ir.F32, at("i0", "r0")...), te.Operand(1, ir.F32, at("r0", "i1")...))}
	return Example{Name: "MatMul of work-groups", Work: w, Chip: "opencl_buffers", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 2.k
  region i0 = 8 from 8*gm
  region i1 = 4 from 4*k
  item a = i0
  serial b = i1
stage 1 at 2.k
  region i0 = 4 from 4*k
  region i1 = 8 from 8*gn
  item e = i1
  serial d = i0
stage 2
  group gm = i0
  group gn = i1
  serial k = r0
  item m = i0*4
  item n = i1*8
  serial u = i0*2
  serial s = r0*4
value stage 0.0: 0 1 in local
value stage 1.0: 0 1 in local
`}
}

// GroupTiles: a work-group copies parts of both operands, and each of its items adds their products to a register tile, of rows and columns in fours
// that lie apart. Neither axis of the result is a whole number of tiles.
func GroupTiles() Example {
	const m, n, k, side, step = 50, 70, 24, 32, 8
	whole := func(n, size int) int { return (n + size - 1) / size * size }
	copied := func(name string, operand int, r, c int, wholeR, wholeC int) *te.Stage {
		l := te.Operand(operand, ir.F32, at("i0", "i1")...)
		l.Guard = []te.Within{{E: sym.Var("i0"), Hi: sym.Const(int64(r))}, {E: sym.Var("i1"), Hi: sym.Const(int64(c))}}
		l.Default = te.Float(ir.F32, 0)
		return &te.Stage{Name: name, Axes: axes("i0", wholeR, "i1", wholeC), Results: []te.Expr{l}}
	}
	c := func(a, b te.Expr) *te.Stage {
		return sumOf("product", axes("i0", m, "i1", n), axes("r0", k), product(a, b))
	}
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, m, k), value(ir.F32, k, n)}, Stages: []*te.Stage{
		copied("copy of A", 0, m, k, whole(m, 2*side), k), copied("copy of B", 1, k, n, k, whole(n, side)),
		c(te.FromStage(0, ir.F32, at("i0", "r0")...), te.FromStage(1, ir.F32, at("r0", "i1")...))}}
	reference := []*te.Stage{c(te.Operand(0, ir.F32, at("i0", "r0")...), te.Operand(1, ir.F32, at("r0", "i1")...))}
	return Example{Name: "register tiles of work-groups", Work: w, Chip: "opencl_buffers", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 2.k
  region i0 = 64 from 64*gm
  region i1 = 8 from 8*k
  item a = i0
  item b = i1*8
  serial u = i0*8
stage 1 at 2.k
  region i0 = 8 from 8*k
  region i1 = 32 from 32*gn
  item d = i0
  item e = i1
  serial v = i0*4
stage 2
  split i0 = mo mi*32
  split i1 = no ni*32
  tile mad_f32x4 bcast
  group gm = mo
  group gn = no
  serial k = r0
  item wm = mi
  item wn = ni
  item mm = mi*4
  item nn = ni*4
  rows x = mo*2 roundup
  rows y = mi*4
  columns c = no*1 roundup
  lanes l = ni*4
  sum s = r0*8
value stage 0.0: 1 0~4 in local
value stage 1.0: 0 1 in local
`}
}
