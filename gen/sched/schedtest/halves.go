package schedtest

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Halves: items copy halves as they are, four neighbours along the sum together, and sub-groups of 8 by 4 of them multiply matrices of these. Neither axis of
// the result, nor the sum, is a whole number of tiles.
func Halves() Example {
	const m, n, k, rows, columns, step = 50, 70, 60, 32, 16, 32
	whole := func(n, size int) int { return (n + size - 1) / size * size }
	copied := func(operand int, r, c int, wholeR, wholeC int) *te.Stage {
		l := te.Operand(operand, ir.F16, at("i0", "i1")...)
		l.Guard = []te.Within{{E: sym.Var("i0"), Hi: sym.Const(int64(r))}, {E: sym.Var("i1"), Hi: sym.Const(int64(c))}}
		l.Default = te.Number(ir.F16, 0)
		return &te.Stage{Name: fmt.Sprintf("copy %d", operand), Axes: axes("i0", wholeR, "i1", wholeC), Results: []te.Expr{l}}
	}
	wide := func(e te.Expr) te.Expr { return te.Fn(ir.F32, "cast", e) }
	half := func(of int, names ...string) te.Expr {
		return wide(te.FromStage(of, ir.F16, at(names...)...))
	}
	c := func(sum int, a, b te.Expr) *te.Stage {
		return sumOf("product", axes("i0", m, "i1", n), axes("r0", sum), product(a, b))
	}
	w := &sched.Work{Operands: []*ir.Value{value(ir.F16, m, k), value(ir.F16, k, n)}, Stages: []*te.Stage{
		copied(0, m, k, whole(m, rows), whole(k, step)), copied(1, k, n, whole(k, step), whole(n, columns)),
		c(whole(k, step), half(0, "i0", "r0"), half(1, "r0", "i1"))}}
	reference := []*te.Stage{c(k, wide(te.Operand(0, ir.F16, at("i0", "r0")...)), wide(te.Operand(1, ir.F16, at("r0", "i1")...)))}
	return Example{Name: "halves that items multiply together", Work: w, Chip: "opencl_nvidia", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 2.k
  region i0 = 32 from 32*gm
  region i1 = 32 from 32*k
  ahead
  item a = i0
  item b = i1
  serial u = i0*4
  serial v = i1*4
stage 1 at 2.k
  region i0 = 32 from 32*k
  region i1 = 16 from 16*gn
  ahead
  item d = i0
  item e = i1
  serial w = i1*2
  serial z = i0*4
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
  sum s = r0*8
  dot t = r0*4
value stage 0.0: 1 0~4 1*4 in local
value stage 1.0: 0 1~4 0*4 in local
`}
}
