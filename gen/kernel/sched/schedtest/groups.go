package schedtest

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// copiedMatmul is C = A B, where A has m rows of k points and B has k rows of n points of a type: stages copy both, with zeros as far as whole rows,
// columns and points of the sum go on, and another one sums products of the copies in f32.
func copiedMatmul(t ir.DType, m, n, k, wholeM, wholeN, wholeK int) (w *sched.Work, reference []*te.Stage) {
	copied := func(operand, rows, columns, wholeRows, wholeColumns int) *te.Stage {
		l := te.Operand(operand, t, at("i0", "i1")...)
		for d, n := range [][2]int{{rows, wholeRows}, {columns, wholeColumns}} {
			if n[0] < n[1] {
				l.Guard = append(l.Guard, te.Within{E: l.Index[d], Hi: sym.Const(int64(n[0]))})
				l.Default = te.Float(t, 0)
			}
		}
		return &te.Stage{Name: fmt.Sprintf("copy of %c", 'A'+operand), Axes: axes("i0", wholeRows, "i1", wholeColumns), Results: []te.Expr{l}}
	}
	wide := func(l te.Load) te.Expr {
		if t == ir.F32 {
			return l
		}
		return te.Fn(ir.F32, "cast", l)
	}
	c := func(sum int, a, b te.Load) *te.Stage {
		return sumOf("product", axes("i0", m, "i1", n), axes("r0", sum), product(wide(a), wide(b)))
	}
	w = &sched.Work{Operands: []*ir.Value{value(t, int64(m), int64(k)), value(t, int64(k), int64(n))}, Stages: []*te.Stage{
		copied(0, m, k, wholeM, wholeK), copied(1, k, n, wholeK, wholeN),
		c(wholeK, te.FromStage(0, t, at("i0", "r0")...), te.FromStage(1, t, at("r0", "i1")...))}}
	return w, []*te.Stage{c(k, te.Operand(0, t, at("i0", "r0")...), te.Operand(1, t, at("r0", "i1")...))}
}

// Device: a work-group copies what it needs of both operands for some points of the reduction, and each of its items adds them.
func Device() Example {
	w, reference := copiedMatmul(ir.F32, 16, 16, 16, 16, 16, 16)
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
	w, reference := copiedMatmul(ir.F32, 50, 70, 24, 64, 96, 24)
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

// Halves: items copy halves as they are, eight neighbours along the sum together, and sub-groups of 8 by 4 of them multiply matrices of these. Neither axis of
// the result, nor the sum, is a whole number of tiles.
func Halves() Example {
	w, reference := copiedMatmul(ir.F16, 50, 70, 60, 64, 80, 64)
	return Example{Name: "halves that items multiply together", Work: w, Chip: "opencl_nvidia", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 2.k
  region i0 = 32 from 32*gm
  region i1 = 32 from 32*k
  ahead
  item a = i0
  item b = i1
  serial u = i0*2
  serial v = i1*8
stage 1 at 2.k
  region i0 = 32 from 32*k
  region i1 = 16 from 16*gn
  ahead
  item d = i0
  item e = i1
  serial w = i1*2
  serial z = i0*8
stage 2
  split i0 = mo mi*16
  split i1 = no ni*8
  tile mma_f16x2 bcast
  group gm = mo
  group gn = no
  serial k = r0
  item wm = mi
  item wn = ni
  item mm = mi*8
  item nn = ni*4
  rows x = mo*2 roundup
  columns c = no*2 roundup
  lanes l = ni*2
  sum s = r0*4
  dot t = r0*8
value stage 0.0: 1 0~1 1*8 in local
value stage 1.0: 0 1~1 0*8 in local
`}
}
