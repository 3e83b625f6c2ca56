package schedtest

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// Depthwise: X is a vector, lanes are channels, rows are pixels.
func Depthwise() Example {
	x, f := te.Operand(0, ir.F32, at("i0", "i1 + r0")...), te.Operand(1, ir.F32, at("i0", "r0")...)
	st := sumOf("depthwise", axes("i0", 16, "i1", 10), axes("r0", 3), product(x, f))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, 16, 12), value(ir.F32, 16, 3)}, Stages: []*te.Stage{st}}
	return Example{Name: "depthwise convolution", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Schedule: `stage 0
  tile fma_f32x8 vec
  task c = i0
  serial t = i1
  rows r = i1*4 peel
  lanes l = i0*8
  sum k = r0
value operand 0: 0 1 0*8 in arena
value operand 1: 0 1 0*8 in arena
value stage 0.0: 0 1 0*8 in arena
`}
}

// Groups: a convolution of three groups of 12 channels, which blocks of 8 cut; the copy of what a task reads, with zeros around it, is a
// stage. Input channels are rounded up to what storage holds.
func Groups() Example {
	x := te.Operand(0, ir.F32, at("6*(i0 // 12) + r0", "i1 + r1 - 1")...)
	x.Guard, x.Default = []te.Within{{E: at("i1 + r1 - 1")[0], Hi: sym.Const(26)}}, te.Float(ir.F32, 0)
	f := te.Operand(1, ir.F32, at("i0 // 12", "i0 % 12", "r0", "r1")...)
	a, r := axes("i0", 36, "i1", 26), axes("r0", 6, "r1", 3)
	pad := te.Operand(0, ir.F32, at("i0", "i1 - 1")...)
	pad.Guard, pad.Default = []te.Within{{E: at("i1 - 1")[0], Hi: sym.Const(26)}}, te.Float(ir.F32, 0)
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, 18, 26), value(ir.F32, 3, 12, 6, 3)}}
	w.Stages = []*te.Stage{{Name: "pad", Axes: axes("i0", 18, "i1", 28), Results: []te.Expr{pad}},
		sumOf("groups", a, r, product(te.FromStage(0, ir.F32, at("6*(i0 // 12) + r0", "i1 + r1")...), f))}
	return Example{Name: "convolution of groups", Work: w, Chip: "x86_64_v3", Reference: []*te.Stage{sumOf("groups", a, r, product(x, f))}, Error: 1e-5, Schedule: `stage 0 at 1.t
  region i0 = 6 from 6*g
  region i1 = 26 from 24*t
  serial x0 = i0
  serial x1 = i1*26 clip
stage 1
  split i0 = j0 j1*12
  tile fma_f32x8 bcast, w 64 ahead, x ahead, next 288
  task g = j0
  task t = i1
  serial p = i1*6 clip
  rows r = i1*4 peel
  columns c = j1*4 roundup
  lanes l = j1*4 roundup
  sum k0 = r0
  sum k1 = r1
value operand 0: 0 1 0*8 in arena
value operand 1: 0 1 2 3 1*16 in arena
value stage 1.0: 0 1 0*8 in arena
`}
}

// Runs has a tile of whole rows of a small image, and tasks the last of which has what fills no tile besides its own.
func Runs() Example {
	x, f := te.Operand(0, ir.F32, at("i1", "2*i2", "r0")...), te.Operand(1, ir.F32, at("i0", "r0")...)
	st := sumOf("runs", axes("i0", 16, "i1", 7, "i2", 3), axes("r0", 8), product(x, f))
	last := sumOf("last", axes("i0", 16, "i1", 23), axes("r0", 21), product(te.FromStage(0, ir.F32, at("i0", "r0 // 3", "r0 % 3")...), te.Operand(2, ir.F32, at("r0", "i1")...)))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, 7, 6, 8), value(ir.F32, 16, 8), value(ir.F32, 21, 23)}, Stages: []*te.Stage{st, last}}
	return Example{Name: "has tiles of several rows", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-4, Schedule: `stage 0 at 1.t
  tile fma_f32x8 bcast
  serial u = i1
  rows v = i1*2 peel
  rows r = i2
  columns c = i0*2
  lanes l = i0*8
  sum k = r0
stage 1
  task t = i1
  serial p = i1*3 last
  serial q = i1*5 peel
  serial i = i0
  serial j = r0
value operand 1: 0 1 0*16 in arena
`}
}

// Dots: an instruction takes in several neighbours along the reduction, which the layout of W keeps together.
func Dots() Example {
	wide := func(l te.Load) te.Expr { return te.Fn(ir.I32, "cast", l) }
	v := te.Fn(ir.I32, "mul", wide(te.Operand(0, ir.I8, at("i0", "r0")...)), wide(te.Operand(1, ir.U8, at("i1", "r0")...)))
	w := &sched.Work{Operands: []*ir.Value{value(ir.I8, 5, 12), value(ir.U8, 40, 12)}, Stages: []*te.Stage{sumOf("dots", axes("i0", 5, "i1", 40), axes("r0", 12), v)}}
	return Example{Name: "integer products", Work: w, Chip: "hexagon_v68", Reference: w.Stages, Error: 0, Schedule: `stage 0
  tile vrmpy_i8u8 scalar
  task t = i0
  serial g = i1
  rows r = i0*2 peel
  lanes l = i1*32 roundup
  sum k = r0
  dot d = r0*4
value operand 1: 0 1 0*32 1*4 in arena
`}
}

// Columns: GCD2's 4-column layout of what is read and of what is stored: lanes are side by side in panels of 32, for each of them four rows.
func Columns() Example {
	wide := func(l te.Load) te.Expr { return te.Fn(ir.I32, "cast", l) }
	v := te.Fn(ir.I32, "mul", wide(te.Operand(0, ir.I8, at("i1", "r0")...)), wide(te.Operand(1, ir.U8, at("i0", "r0")...)))
	w := &sched.Work{Operands: []*ir.Value{value(ir.I8, 20, 12), value(ir.U8, 45, 12)}, Stages: []*te.Stage{sumOf("columns", axes("i0", 45, "i1", 20), axes("r0", 12), v)}}
	return Example{Name: "rows that lie together", Work: w, Chip: "hexagon_v68", Reference: w.Stages, Error: 0, Schedule: `stage 0
  tile vrmpy_i8u8 scalar
  task g = i0
  serial p = i1
  rows u = i1*2 peel
  rows r = i1*4
  columns c = i0*2 roundup
  lanes l = i0*32 roundup
  sum k = r0
  dot d = r0*4
value operand 1: 0 1 0*32 1*4 in arena
value stage 0.0: 0 1 0*32 1*4 in arena
`}
}

// Quads: rows of results go on to a whole number of four, and not as far as the registers of lanes.
func Quads() Example {
	x := Dots()
	x.Name, x.Schedule = "results that are padded to fewer than lanes", x.Schedule+"value stage 0.0: 0 1 1*4 in arena\n"
	w := *x.Work
	st := *w.Stages[0]
	st.Axes, w.Operands = axes("i0", 5, "i1", 45), []*ir.Value{w.Operands[0], value(ir.U8, 45, 12)}
	w.Stages = []*te.Stage{&st}
	x.Work, x.Reference = &w, w.Stages
	return x
}
