package schedtest

import (
	"math/rand/v2"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/sched"
)

// Pruned: a convolution of kernels that keep one of three patterns, or are dropped, in the order in which they are stored. Its sums
// are of eight pixels at a time.
func Pruned() Example {
	const filters, channels = 6, 5
	x, f := te.Operand(0, ir.F32, at("r0", "i1 + r1", "i2 + r2")...), te.Operand(1, ir.F32, at("i0", "r0", "r1", "r2")...)
	st := sumOf("convolution", axes("i0", filters, "i1", 4, "i2", 16), axes("r0", channels, "r1", 3, "r2", 3), product(f, x))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, channels, 6, 18), value(ir.F32, filters, channels, 3, 3)}, Stages: []*te.Stage{st}}
	w.Operands[1].Const = ir.NewTensor(ir.F32, filters, channels, 3, 3)
	return Example{Name: "pruned convolution", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Prepare: func(in []*ir.Tensor) {
		prune(in[1], 1, rand.New(rand.NewPCG(3, 4)))
	}, Schedule: `stage 0
  join k = r0 r1 r2
  task f = i0 stored
  serial y = i1
  serial c = i2
  serial s = k stored
  serial p = i2*8
value operand 1: 0 1 2 3 in arena, encoding fkw of 20 kernels 1b b2 1b0
`}
}

// shared is a convolution of groups of 8 filters that keep the same kernels and taps, with the schedule of what sums them.
func shared(name, schedule string) Example {
	const filters, channels = 24, 20
	x, f := te.Operand(0, ir.F32, at("r0", "i1 + r1", "i2 + r2")...), te.Operand(1, ir.F32, at("i0", "r0", "r1", "r2")...)
	st := sumOf("convolution", axes("i0", filters, "i1", 5, "i2", 7), axes("r0", channels, "r1", 3, "r2", 3), product(x, f))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, channels, 7, 9), value(ir.F32, filters, channels, 3, 3)}, Stages: []*te.Stage{st}}
	w.Operands[1].Const = ir.NewTensor(ir.F32, filters, channels, 3, 3)
	return Example{Name: name, Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Schedule: schedule, Prepare: func(in []*ir.Tensor) {
		prune(in[1], 8, rand.New(rand.NewPCG(3, 4)))
	}}
}

// PrunedTile sums what is stored in a register tile, whose lanes are the filters that share it; kernels lie in blocks of channels.
func PrunedTile() Example {
	return shared("pruned convolution in tiles", `stage 0
  join k = r0 r1 r2
  tile fma_f32x8 bcast
  task f = i0 stored
  serial y = i1
  serial q = i2
  rows r = i2*4 peel
  lanes l = i0*8
  sum s = k stored
value operand 0: 0 1 2 0*8 in arena
value operand 1: 0 1 2 3 in arena, encoding fkw of 42 kernels shared by 8 in blocks of 8 1b b2 1b0
value stage 0.0: 0 1 2 0*8 in arena
`)
}

// PrunedPixels sums what each filter keeps in a register tile, whose lanes are pixels of a row.
func PrunedPixels() Example {
	const filters, channels = 6, 20
	x, f := te.Operand(0, ir.F32, at("r0", "i1 + r1", "i2 + r2")...), te.Operand(1, ir.F32, at("i0", "r0", "r1", "r2")...)
	st := sumOf("convolution", axes("i0", filters, "i1", 5, "i2", 19), axes("r0", channels, "r1", 3, "r2", 3), product(f, x))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, channels, 7, 26), value(ir.F32, filters, channels, 3, 3)}, Stages: []*te.Stage{st}}
	w.Operands[1].Const = ir.NewTensor(ir.F32, filters, channels, 3, 3)
	return Example{Name: "pruned convolution of vectors of pixels", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Prepare: func(in []*ir.Tensor) {
		prune(in[1], 1, rand.New(rand.NewPCG(3, 4)))
	}, Schedule: `stage 0
  join k = r0 r1 r2
  tile fma_f32x8 vec, claims
  task f = i0 stored
  serial y = i1*2 clip
  serial q = i2
  rows r = i1*3 peel
  lanes l = i2*8 roundup
  sum s = k stored
value operand 1: 0 1 2 3 in arena, encoding fkw of 81 kernels in blocks of 8 1b b2 1b0
`}
}

// PrunedParts sums what each filter keeps in register tiles of one block of channels after the other: those of some filters, whose sums are in memory
// meanwhile. Pixels of a register lie apart, and those of registers beside each other are loaded once for all taps.
func PrunedParts() Example {
	const filters, channels = 6, 16
	x, f := te.Operand(0, ir.F32, at("r0", "i1 + r1", "i2 + r2", "i3")...), te.Operand(1, ir.F32, at("i0", "r0", "r1", "r2")...)
	st := sumOf("convolution", axes("i0", filters, "i1", 5, "i2", 2, "i3", 8), axes("r0", channels, "r1", 3, "r2", 3), product(f, x))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, channels, 7, 5, 8), value(ir.F32, filters, channels, 3, 3)}, Stages: []*te.Stage{st}}
	w.Operands[1].Const = ir.NewTensor(ir.F32, filters, channels, 3, 3)
	return Example{Name: "pruned convolution of parts of the channels", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Prepare: func(in []*ir.Tensor) {
		prune(in[1], 1, rand.New(rand.NewPCG(3, 4)))
	}, Schedule: `stage 0
  join k = r0 r1 r2
  sums worker
  tile fma_f32x8 vec
  task y = i1
  serial g = i0 stored
  serial b = k stored
  serial f = i0*3 stored
  rows r = i1*3 peel
  columns v = i2
  lanes l = i3
  sum s = k*72 stored
value operand 1: 0 1 2 3 in arena, encoding fkw of 62 kernels in blocks of 8 1b b2 1b0
`}
}

// PrunedDealt has tasks of some filters each, which are dealt out among them, and of one copy of some rows: the first task that a worker runs makes it.
func PrunedDealt() Example {
	const filters, channels = 6, 16
	cp := &te.Stage{Name: "copy", Axes: axes("i0", channels, "i1", 8, "i2", 5, "i3", 8), Results: []te.Expr{te.Operand(0, ir.F32, at("i0", "i1", "i2", "i3")...)}}
	x, f := te.FromStage(0, ir.F32, at("r0", "i1 + r1", "i2 + r2", "i3")...), te.Operand(1, ir.F32, at("i0", "r0", "r1", "r2")...)
	st := sumOf("convolution", axes("i0", filters, "i1", 6, "i2", 3, "i3", 8), axes("r0", channels, "r1", 3, "r2", 3), product(f, x))
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, channels, 8, 5, 8), value(ir.F32, filters, channels, 3, 3)}, Stages: []*te.Stage{cp, st}}
	w.Operands[1].Const = ir.NewTensor(ir.F32, filters, channels, 3, 3)
	return Example{Name: "pruned convolution of filters that are dealt out", Work: w, Chip: "x86_64_v3", Reference: w.Stages, Error: 1e-5, Prepare: func(in []*ir.Tensor) {
		prune(in[1], 1, rand.New(rand.NewPCG(3, 4)))
	}, Schedule: `stage 0 at 1.y
  region i1 = 5 from 3*y
  serial a = i0
  serial b = i1
  serial c = i2
  serial d = i3
stage 1
  split i0 = j0 j1*3
  join k = r0 r1 r2
  tile fma_f32x8 vec, early
  task y = i1
  task e = j1 stored
  serial f = j0 stored
  rows r = i1*3
  columns v = i2
  lanes l = i3
  sum s = k stored
value operand 1: 0 1 2 3 in arena, encoding fkw of 62 kernels 1b b2 1b0
`}
}

// SharedKernels sums the same one point after the other.
func SharedKernels() Example {
	return shared("pruned convolution of groups of filters", `stage 0
  join k = r0 r1 r2
  task y = i1
  serial f = i0 stored
  serial p = i2
  serial s = k stored
  serial l = i0*8
value operand 1: 0 1 2 3 in arena, encoding fkw of 42 kernels shared by 8 in blocks of 8 1b b2 1b0
`)
}

// prune keeps a random pattern of every other kernel or so, the same of so many neighbouring filters.
func prune(w *ir.Tensor, share int64, r *rand.Rand) {
	channels := int(w.Shape[1])
	keep := make([]fkw.Pattern, channels)
	for k := range int(w.Shape[0]) * channels {
		if k%(channels*int(share)) < channels {
			keep[k%channels] = 0
			if r.IntN(5) < 3 {
				keep[k%channels] = []fkw.Pattern{0x1b, 0xb2, 0x1b0}[r.IntN(3)]
			}
		}
		for t := range 9 {
			if keep[k%channels]>>t&1 == 0 {
				set(w, 9*k+t, 0)
			}
		}
	}
}
