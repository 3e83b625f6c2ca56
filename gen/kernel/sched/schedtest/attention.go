package schedtest

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// Attention: scores of some keys at a time, with a running maximum, a running sum and running results, which are what is kept
// of stages that read themselves one chunk of keys before.
func Attention() Example {
	const queries, keys, depth, chunk = 6, 12, 5, 4
	w := &sched.Work{Operands: []*ir.Value{value(ir.F32, queries, depth), value(ir.F32, keys, depth), value(ir.F32, keys, 8)}}
	w.Stages = running(queries, keys, depth, chunk)
	return Example{Name: "attention", Work: w, Chip: "x86_64_v3", Reference: attention(queries, keys, depth), Error: 1e-5, Schedule: `stage 0 at 5.k
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

// running are the stages of Attention.
func running(queries, keys, depth, chunk int) []*te.Stage {
	n := keys / chunk
	key := func(within string) string { return fmt.Sprintf("%d*i0 + %s", chunk, within) }
	before := func(stage int, otherwise te.Expr, rest ...string) te.Load {
		l := te.FromStage(stage, ir.F32, at(append([]string{"i0 - 1", "i1"}, rest...)...)...)
		l.Guard, l.Default = []te.Within{{E: at("i0 - 1")[0], Hi: sym.Const(int64(n))}}, otherwise
		return l
	}
	f32 := func(fn string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, fn, args...) }
	now := func(stage int, index ...string) te.Load { return te.FromStage(stage, ir.F32, at(index...)...) }
	lowest, zero := te.Lowest(ir.F32), te.Float(ir.F32, 0)
	row := axes("i0", n, "i1", queries)
	scores := sumOf("scores", axes("i0", n, "i1", queries, "i2", chunk), axes("r0", depth),
		product(te.Operand(0, ir.F32, at("i1", "r0")...), te.Operand(1, ir.F32, at(key("i2"), "r0")...)))
	most := &te.Stage{Name: "maximum", Axes: row, Reduce: axes("r0", chunk), Combine: te.Max(ir.F32), Values: []te.Expr{now(0, "i0", "i1", "r0")},
		Results: []te.Expr{f32("max", te.Acc{Type: ir.F32}, before(1, lowest))}}
	scale := &te.Stage{Name: "scale", Axes: row, Results: []te.Expr{f32("exp", f32("sub", before(1, lowest), now(1, "i0", "i1")))}}
	weights := &te.Stage{Name: "weights", Axes: scores.Axes, Results: []te.Expr{f32("exp", f32("sub", now(0, "i0", "i1", "i2"), now(1, "i0", "i1")))}}
	total := sumOf("total", row, axes("r0", chunk), now(3, "i0", "i1", "r0"))
	total.Results[0] = f32("add", total.Results[0], product(before(4, zero), now(2, "i0", "i1")))
	out := sumOf("results", axes("i0", n, "i1", queries, "i2", 8), axes("r0", chunk), product(now(3, "i0", "i1", "r0"), te.Operand(2, ir.F32, at(key("r0"), "i2")...)))
	out.Results[0] = f32("add", out.Results[0], product(before(5, zero, "i2"), now(2, "i0", "i1")))
	last := fmt.Sprint(n - 1)
	y := &te.Stage{Name: "y", Axes: axes("i0", queries, "i1", 8), Results: []te.Expr{f32("div", now(5, last, "i0", "i1"), now(4, last, "i0"))}}
	return []*te.Stage{scores, most, scale, weights, total, out, y}
}

// attention is what Attention computes, without chunks.
func attention(queries, keys, depth int) []*te.Stage {
	f32 := func(fn string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, fn, args...) }
	now := func(stage int, index ...string) te.Load { return te.FromStage(stage, ir.F32, at(index...)...) }
	all := sumOf("scores", axes("i0", queries, "i1", keys), axes("r0", depth), product(te.Operand(0, ir.F32, at("i0", "r0")...), te.Operand(1, ir.F32, at("i1", "r0")...)))
	highest := &te.Stage{Name: "maximum", Axes: axes("i0", queries), Reduce: axes("r0", keys), Combine: te.Max(ir.F32), Values: []te.Expr{now(0, "i0", "r0")}, Results: []te.Expr{te.Acc{Type: ir.F32}}}
	weight := func(i, k string) te.Expr { return f32("exp", f32("sub", now(0, i, k), now(1, i))) }
	sums := sumOf("total", axes("i0", queries), axes("r0", keys), weight("i0", "r0"))
	mean := sumOf("mean", axes("i0", queries, "i1", 8), axes("r0", keys), product(weight("i0", "r0"), te.Operand(2, ir.F32, at("r0", "i1")...)))
	mean.Results[0] = f32("div", mean.Results[0], now(2, "i0"))
	return []*te.Stage{all, highest, sums, mean}
}
