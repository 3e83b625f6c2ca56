package schedtest

import (
	"math/rand/v2"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// planes is a product of matrices for each of three planes, whose constants drop the same weights of groups of 8 filters.
func planes(name, schedule string) Example {
	const planes, pixels, filters, channels = 3, 7, 24, 20
	x, f := te.Operand(0, ir.F32, at("i0", "r0", "i1")...), te.Operand(1, ir.F32, at("i0", "i2", "r0")...)
	st := sumOf("products", axes("i0", planes, "i1", pixels, "i2", filters), axes("r0", channels), product(x, f))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, planes, channels, pixels), value(ir.F32, planes, filters, channels)}, Stages: []*te.Stage{st}}
	w.Operands[1].Const = ir.NewTensor(ir.F32, planes, filters, channels)
	return Example{Name: name, Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Schedule: schedule, Prepare: func(in []*ir.Tensor) {
		r := rand.New(rand.NewPCG(3, 4))
		for group := range filters / 8 {
			for c := range channels {
				if r.IntN(2) > 0 {
					continue
				}
				for i := range planes * 8 {
					set(in[1], (i/8*filters+group*8+i%8)*channels+c, 0)
				}
			}
		}
	}}
}

// PlanesTile sums what is kept in register tiles, whose lanes are the filters that share it.
func PlanesTile() Example {
	return planes("products of planes in tiles", `stage 0
  tile fma_f32x8 bcast
  task p = i0
  serial f = i2 stored
  serial q = i1
  rows r = i1*4 peel
  lanes l = i2*8
  sum s = r0 stored
value operand 1: 0 1 2 in arena, encoding fkw of 31 kernels by 3 planes shared by 8 1
`)
}

// Planes sums the same one point after the other, those of all planes for a group of filters.
func Planes() Example {
	return planes("products of planes", `stage 0
  task f = i2 stored
  serial p = i0
  serial q = i1
  serial s = r0 stored
  serial l = i2*8
value operand 1: 0 1 2 in arena, encoding fkw of 31 kernels by 3 planes shared by 8 1
`)
}

// PlanesPeeled sums them for two planes at a time, where code of its own computes the last one.
func PlanesPeeled() Example {
	return planes("products of planes, two at a time", `stage 0
  task f = i2 stored
  serial p = i0
  serial o = i0*2 peel
  serial q = i1
  serial s = r0 stored
  serial l = i2*8
value operand 1: 0 1 2 in arena, encoding fkw of 31 kernels by 3 planes shared by 8 1
`)
}
