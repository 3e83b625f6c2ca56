package schedtest

import (
	"math/rand/v2"

	"rules_dnn/gen/fkw"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/te"
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
		prune(in[1], rand.New(rand.NewPCG(3, 4)))
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

// prune keeps a random pattern of every other kernel or so.
func prune(w *ir.Tensor, r *rand.Rand) {
	for k := range int(w.Shape[0] * w.Shape[1]) {
		keep := fkw.Pattern(0)
		if r.IntN(5) < 3 {
			keep = []fkw.Pattern{0x1b, 0xb2, 0x1b0}[r.IntN(3)]
		}
		for t := range 9 {
			if keep>>t&1 == 0 {
				set(w, 9*k+t, 0)
			}
		}
	}
}
