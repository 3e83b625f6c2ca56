package schedtest

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// Tiles: squares of 3 x 4 results, those at the edges smaller ones. Squares run as one axis, some of which a task computes. Of each
// one a stage makes what the results of a column have in common, three numbers at a time, with code of its own for squares that
// read nothing beyond the image.
func Tiles() Example {
	const height, width = 7, 10
	read := func(row string) te.Expr {
		l := te.Operand(0, ir.F32, at(row, "4*t2 + q1 - 1", "c0")...)
		l.Guard = []te.Within{{E: l.Index[0], Hi: sym.Const(height)}, {E: l.Index[1], Hi: sym.Const(width)}}
		l.Default = te.Float(ir.F32, 0)
		return l
	}
	above, here, below := read("3*t1"), read("3*t1 + 1"), read("3*t1 + 2")
	both := te.Fn(ir.F32, "add", te.Fn(ir.F32, "add", above, here), below)
	choice := func(k int64, then, otherwise te.Expr) te.Expr {
		return te.Select{Cond: []te.Within{{E: sym.Var("q0"), Lo: sym.Const(k), Hi: sym.Const(k + 1)}}, Then: then, Else: otherwise}
	}
	common := &te.Stage{Name: "common", Axes: axes("q0", 3, "q1", 4, "t1", 3, "t2", 3, "c0", 8),
		Results: []te.Expr{choice(0, te.Fn(ir.F32, "sub", both, above), choice(1, te.Fn(ir.F32, "sub", both, here), te.Fn(ir.F32, "sub", both, below)))}}
	results := &te.Stage{Name: "results", Axes: axes("i0", height, "i1", width, "i2", 6), Results: []te.Expr{
		product(te.FromStage(0, ir.F32, at("i0 % 3", "i1 % 4", "i0 // 3", "i1 // 4", "i2")...), te.Operand(0, ir.F32, at("i0", "i1", "i2")...))}}
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, height, width, 8)}, Stages: []*te.Stage{common, results}}
	return Example{Name: "tiles", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-6, Schedule: `stage 0 at 1.s
  region t1 = 1 from ((s + 4*t) // (3)) as row
  region t2 = 1 from ((s + 4*t) % (3)) as column
  inside
  serial a = q1
  serial b = c0
  unroll u = q0
stage 1
  split i0 = ty y*3
  split i1 = tx x*4
  join tiles = ty tx
  task t = tiles
  serial s = tiles*4 clip
  serial v = y clip
  serial w = x clip
  serial c = i2
  serial l = i2*4 roundup
value stage 0.0: 1 2 3 0 4 in worker, claimed 16 ahead
value stage 1.0: 0 1 2 2*4 in arena
`}
}
