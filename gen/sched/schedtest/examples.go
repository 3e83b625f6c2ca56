// Package schedtest is algorithms as stages and schedules, for tests.
package schedtest

import (
	"encoding/binary"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Example is an algorithm: stages, a schedule of them, and what they are to compute.
type Example struct {
	Name string
	Work *sched.Work
	// Schedule is its text, and Chip the chip or device that it is for.
	Schedule, Chip string
	// Reference stages give the same results of the operands, up to Error.
	Reference []*te.Stage
	Error     float64
	// Prepare, if there is one, computes operands from others.
	Prepare func(in []*ir.Tensor)
}

// Examples are all of them.
func Examples() []Example {
	return []Example{MatMul(), accumulators(), joined(), peeled(), Device(), GroupTiles(), Ahead(), Depthwise(), Groups(), Runs(), Dots(), Columns(), Quads(), Winograd(), Tiles(), Attention(), Pruned(), PrunedTile(), PrunedPixels(), PrunedParts(), SharedKernels()}
}

// value is an operand.
func value(typ ir.DType, dims ...int64) *ir.Value {
	return &ir.Value{Type: typ, Shape: ir.Dims(dims...), HasShape: true}
}

// axes are named axes of constant extents: "i0", 4, "i1", 8.
func axes(of ...any) []te.Axis {
	var out []te.Axis
	for i := 0; i < len(of); i += 2 {
		out = append(out, te.Axis{Var: of[i].(string), Extent: sym.Const(int64(of[i+1].(int)))})
	}
	return out
}

// at parses indices.
func at(text ...string) []sym.Expr {
	out := make([]sym.Expr, len(text))
	for i, s := range text {
		e, err := sym.Parse(s)
		if err != nil {
			panic(err)
		}
		out[i] = e
	}
	return out
}

func product(x, w te.Expr) te.Expr { return te.Fn(ir.F32, "mul", x, w) }

func sumOf(name string, a, reduce []te.Axis, v te.Expr) *te.Stage {
	t := v.DType()
	return &te.Stage{Name: name, Axes: a, Reduce: reduce, Combine: te.Sum(t), Values: []te.Expr{v}, Results: []te.Expr{te.Acc{Type: t}}}
}

// matmul is C = A B, of which a stage packs B in columns of whole registers.
func matmul(m, n, k, whole int) (w *sched.Work, reference []*te.Stage) {
	b := te.Operand(1, ir.F32, at("i0", "i1")...)
	guarded := b
	guarded.Guard = []te.Within{{E: sym.Var("i1"), Hi: sym.Const(int64(n))}}
	guarded.Default = te.Float(ir.F32, 0)
	a := te.Operand(0, ir.F32, at("i0", "r0")...)
	c := func(b te.Expr) *te.Stage {
		return sumOf("product", axes("i0", m, "i1", n), axes("r0", k), product(a, b))
	}
	pack := &te.Stage{Name: "pack", Axes: axes("i0", k, "i1", whole), Results: []te.Expr{guarded}}
	w = &sched.Work{Operands: []*ir.Value{value(ir.F32, int64(m), int64(k)), value(ir.F32, int64(k), int64(n))}}
	w.Stages = []*te.Stage{pack, c(te.FromStage(0, ir.F32, at("r0", "i1")...))}
	return w, []*te.Stage{c(te.Operand(1, ir.F32, at("r0", "i1")...))}
}

// MatMul: a computed operand is packed where a tile's columns are, for all its rows.
func MatMul() Example {
	w, reference := matmul(10, 40, 7, 48)
	return Example{Name: "MatMul", Work: w, Chip: "x86_64_v3", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 1.g
  region i1 = 16 from 16*g
  serial p = i0
  serial q = i1
stage 1
  tile fma_f32x8 bcast
  task g = i1
  serial t = i0
  rows r = i0*4 peel
  columns c = i1*2 roundup
  lanes l = i1*8 roundup
  sum k = r0
`}
}

// accumulators has loops of results within the reduction.
func accumulators() Example {
	w, reference := matmul(10, 40, 7, 48)
	return Example{Name: "has loops of results within the reduction", Work: w, Chip: "x86_64_v3", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 1.u
  serial p = i0
  serial q = i1
stage 1
  task u = i0
  serial k = r0
  serial j = i1
`}
}

// joined has axes that run as one.
func joined() Example {
	w, reference := matmul(10, 40, 7, 48)
	return Example{Name: "has axes that run as one", Work: w, Chip: "x86_64_v3", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 1.u
  serial p = i0
  serial q = i1
stage 1
  join ij = i0 i1
  task u = ij
  serial j = ij*24 clip
  serial k = r0
`}
}

// peeled has an edge with code of its own.
func peeled() Example {
	w, reference := matmul(10, 40, 7, 48)
	return Example{Name: "has an edge with code of its own", Work: w, Chip: "x86_64_v3", Reference: reference, Error: 1e-5, Schedule: `stage 0 at 1.u
  region i1 = 12 from 12*u
  serial p = i0*7
  serial q = i1*12
stage 1
  task u = i1
  serial i = i0*10
  serial v = i1*12 peel
  serial k = r0
`}
}

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

// Winograd: F(2,3) along one axis. A task transforms the inputs of a chunk of tiles, multiplies them, and transforms the sums.
func Winograd() Example {
	const channels, inputs, width = 8, 5, 12
	// Operands: X, transformed weights U[p, ic, c], the transforms of inputs and of sums, the weights themselves.
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, inputs, width+2), value(ir.F32, 4, inputs, channels), value(ir.F32, 4, 4), value(ir.F32, 2, 4), value(ir.F32, channels, inputs, 3)}}
	v := sumOf("inputs", axes("i0", 4, "i1", width/2, "i2", inputs), axes("r0", 4),
		product(te.Operand(2, ir.F32, at("i0", "r0")...), te.Operand(0, ir.F32, at("i2", "2*i1 + r0")...)))
	m := sumOf("products", axes("i0", 4, "i1", width/2, "i2", channels), axes("r0", inputs),
		product(te.FromStage(0, ir.F32, at("i0", "i1", "r0")...), te.Operand(1, ir.F32, at("i0", "r0", "i2")...)))
	y := sumOf("sums", axes("i0", channels, "i1", width), axes("r0", 4),
		product(te.Operand(3, ir.F32, at("i1 % 2", "r0")...), te.FromStage(1, ir.F32, at("r0", "i1 // 2", "i0")...)))
	w.Stages = []*te.Stage{v, m, y}
	direct := sumOf("direct", axes("i0", channels, "i1", width), axes("r0", inputs, "r1", 3),
		product(te.Operand(4, ir.F32, at("i0", "r0", "r1")...), te.Operand(0, ir.F32, at("r0", "i1 + r1")...)))
	return Example{Name: "Winograd", Work: w, Chip: "x86_64_v3", Reference: []*te.Stage{direct}, Error: 1e-5, Prepare: func(in []*ir.Tensor) {
		fill := func(x *ir.Tensor, values ...float64) {
			for i, v := range values {
				set(x, i, v)
			}
		}
		fill(in[2], 1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1)
		fill(in[3], 1, 1, 1, 0, 0, 1, -1, -1)
		for ic := range inputs {
			for c := range channels {
				g := func(k int) float64 { return Float(in[4], (c*inputs+ic)*3+k) }
				for p, u := range []float64{g(0), (g(0) + g(1) + g(2)) / 2, (g(0) - g(1) + g(2)) / 2, g(2)} {
					set(in[1], (p*inputs+ic)*channels+c, u)
				}
			}
		}
	}, Schedule: `stage 0 at 2.c
  region i1 = 3 from 3*c
  serial vp = i0
  serial vt = i1
  serial vi = i2
  serial vq = r0
stage 1 at 2.c
  region i1 = 3 from 3*c
  tile fma_f32x8 bcast
  serial mp = i0
  rows mt = i1*3
  lanes ml = i2*8
  sum mk = r0
stage 2
  task c = i1
  serial x = i1*6
  serial k = r0
  vector l = i0
value stage 2.0: 1 0 in arena
`}
}

// Attention: scores of some keys at a time, with a running maximum, a running sum and running results, which are what is kept
// of stages that read themselves one chunk of keys before.
func Attention() Example {
	const queries, keys, depth, chunk = 6, 12, 5, 4
	const n = keys / chunk
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, queries, depth), value(ir.F32, keys, depth), value(ir.F32, keys, 8)}}
	before := func(stage int, otherwise te.Expr, rest ...string) te.Load {
		l := te.FromStage(stage, ir.F32, at(append([]string{"i0 - 1", "i1"}, rest...)...)...)
		l.Guard, l.Default = []te.Within{{E: at("i0 - 1")[0], Hi: sym.Const(n)}}, otherwise
		return l
	}
	f32 := func(fn string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, fn, args...) }
	now := func(stage int, index ...string) te.Load { return te.FromStage(stage, ir.F32, at(index...)...) }
	lowest, zero := te.Lowest(ir.F32), te.Float(ir.F32, 0)
	row := axes("i0", n, "i1", queries)
	scores := sumOf("scores", axes("i0", n, "i1", queries, "i2", chunk), axes("r0", depth),
		product(te.Operand(0, ir.F32, at("i1", "r0")...), te.Operand(1, ir.F32, at("4*i0 + i2", "r0")...)))
	most := &te.Stage{Name: "maximum", Axes: row, Reduce: axes("r0", chunk), Combine: te.Max(ir.F32), Values: []te.Expr{now(0, "i0", "i1", "r0")},
		Results: []te.Expr{f32("max", te.Acc{Type: ir.F32}, before(1, lowest))}}
	scale := &te.Stage{Name: "scale", Axes: row, Results: []te.Expr{f32("exp", f32("sub", before(1, lowest), now(1, "i0", "i1")))}}
	weights := &te.Stage{Name: "weights", Axes: scores.Axes, Results: []te.Expr{f32("exp", f32("sub", now(0, "i0", "i1", "i2"), now(1, "i0", "i1")))}}
	total := sumOf("total", row, axes("r0", chunk), now(3, "i0", "i1", "r0"))
	total.Results[0] = f32("add", total.Results[0], product(before(4, zero), now(2, "i0", "i1")))
	out := sumOf("results", axes("i0", n, "i1", queries, "i2", 8), axes("r0", chunk), product(now(3, "i0", "i1", "r0"), te.Operand(2, ir.F32, at("4*i0 + r0", "i2")...)))
	out.Results[0] = f32("add", out.Results[0], product(before(5, zero, "i2"), now(2, "i0", "i1")))
	y := &te.Stage{Name: "y", Axes: axes("i0", queries, "i1", 8), Results: []te.Expr{f32("div", now(5, "2", "i0", "i1"), now(4, "2", "i0"))}}
	w.Stages = []*te.Stage{scores, most, scale, weights, total, out, y}

	all := sumOf("scores", axes("i0", queries, "i1", keys), axes("r0", depth), product(te.Operand(0, ir.F32, at("i0", "r0")...), te.Operand(1, ir.F32, at("i1", "r0")...)))
	highest := &te.Stage{Name: "maximum", Axes: axes("i0", queries), Reduce: axes("r0", keys), Combine: te.Max(ir.F32), Values: []te.Expr{now(0, "i0", "r0")}, Results: []te.Expr{te.Acc{Type: ir.F32}}}
	weight := func(i, k string) te.Expr { return f32("exp", f32("sub", now(0, i, k), now(1, i))) }
	sums := sumOf("total", axes("i0", queries), axes("r0", keys), weight("i0", "r0"))
	mean := sumOf("mean", axes("i0", queries, "i1", 8), axes("r0", keys), product(weight("i0", "r0"), te.Operand(2, ir.F32, at("r0", "i1")...)))
	mean.Results[0] = f32("div", mean.Results[0], now(2, "i0"))

	return Example{Name: "attention", Work: w, Chip: "x86_64_v3", Reference: []*te.Stage{all, highest, sums, mean}, Error: 1e-5, Schedule: `stage 0 at 5.k
  region i0 = 1 from k
  region i1 = 2 from 2*t
  serial sq = i1
  serial sk = i2
  serial se = r0
stage 1 at 5.k
  region i0 = 1 from k
  region i1 = 2 from 2*t
  serial mq = i1
  serial mk = r0
stage 2 at 5.k
  region i0 = 1 from k
  region i1 = 2 from 2*t
  serial cq = i1
stage 3 at 5.k
  region i0 = 1 from k
  region i1 = 2 from 2*t
  serial pq = i1
  serial pk = i2
stage 4 at 5.k
  region i0 = 1 from k
  region i1 = 2 from 2*t
  serial lq = i1
  serial lk = r0
stage 5 at 6.t
  region i1 = 2 from 2*t
  tile fma_f32x8 bcast
  serial k = i0
  rows q = i1*2
  lanes d = i2*8
  sum j = r0
stage 6
  task t = i0
  serial u = i0*2
  vector v = i1
value stage 0.0: 0 1 2 in register
value stage 1.0: 0 1 in register, 2 points of axis 0
value stage 2.0: 0 1 in register
value stage 3.0: 0 1 2 in register
value stage 4.0: 0 1 in register, 1 points of axis 0
value stage 5.0: 0 1 2 in worker, 1 points of axis 0
`}
}

// set sets an element of f32.
func set(x *ir.Tensor, i int, v float64) {
	binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(v)))
}

// Float is an element of f32, or of i32.
func Float(x *ir.Tensor, i int) float64 {
	bits := binary.LittleEndian.Uint32(x.Data[4*i:])
	if x.Type == ir.I32 {
		return float64(int32(bits))
	}
	return float64(math.Float32frombits(bits))
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
