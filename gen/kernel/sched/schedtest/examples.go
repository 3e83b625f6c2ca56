// Package schedtest is algorithms as stages and schedules, for tests.
package schedtest

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
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
	return []Example{MatMul(), accumulators(), joined(), peeled(), Device(), GroupTiles(), Ahead(), Points(), Depthwise(), Groups(), Runs(), Dots(), Columns(), Quads(), Winograd(), Tiles(), Attention(), Pruned(), PrunedTile(), PrunedPixels(), PrunedParts(), PrunedDealt(), SharedKernels(), PlanesTile(), Planes(), PlanesPeeled()}
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
