package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
)

// stores is the cycles in which sums become results: vectors along the lanes' axis, and element by element what fills none.
func (e *scheduled) stores(x *nest) float64 {
	lane, along := "", 1.0
	others := 1.0
	for k, p := range x.spans {
		switch {
		case p.Reduce:
		case len(p.Loops) > 0 && x.sched.Loops[p.Loops[len(p.Loops)-1]].Kind == sched.Lanes:
			lane, along = p.Axes[0].Var, x.whole[k]
		default:
			others *= x.whole[k]
		}
	}
	lanes := float64(x.micro.Lanes())
	vectors := math.Floor(along / lanes)
	single := along - float64(vectors*lanes)
	c := 0.0
	for part, r := range x.te.Results {
		c += float64(vectors*float64(x.micro.Instr.PerSum())*e.result(x, part, r, lane, lanes)) + float64(single*e.result(x, part, r, lane, 1))
	}
	return float64(others * c)
}

// result is the cycles of a vector of a stage's results along an axis, or of one where lanes are 1: one after the other where they are not
// neighbours in memory.
func (e *scheduled) result(x *nest, part int, r te.Expr, lane string, lanes float64) float64 {
	v := e.s.Place(e.w, te.Source{Stage: true, N: x.n, Part: part})
	d := slices.IndexFunc(x.te.Axes, func(a te.Axis) bool { return a.Var == lane })
	if d >= 0 && !neighbours(v, d, lanes) && !x.interleaved(v, d) {
		return float64(lanes * (perStep + e.t.StoreCycles() + perStride + e.vector(r, lane, 1)))
	}
	return perStep + e.t.StoreCycles() + e.vector(r, lane, lanes)
}

// neighbours reports whether so many points of an axis lie side by side in storage.
func neighbours(v sched.Value, d int, lanes float64) bool {
	last := v.Parts[len(v.Parts)-1]
	return last.Axis == d && (last.Size == 0 || float64(last.Size) >= lanes)
}

// interleaved reports whether a tile has all that lies side by side in storage: its lanes, and for each of them the rows that lie together.
func (x *nest) interleaved(v sched.Value, d int) bool {
	n := len(v.Parts) - 1
	if x.micro == nil || n < 1 || v.Parts[n-1].Axis != d || v.Parts[n-1].Size != x.micro.Lanes() {
		return false
	}
	return slices.ContainsFunc(x.sched.Loops, func(l sched.Loop) bool {
		return l.Kind == sched.Rows && l.Axis == x.te.Axes[v.Parts[n].Axis].Var && l.Size == v.Parts[n].Size
	})
}

// vector is the cycles of an expression for neighbours along an axis.
func (e *scheduled) vector(x te.Expr, lane string, lanes float64) float64 {
	switch y := x.(type) {
	case te.Acc:
		return perLocal
	case te.Load:
		return e.t.LoadCycles + e.apart(y, lane, lanes)
	case te.Call:
		c := e.flops(y)
		for _, a := range y.Args {
			c += e.vector(a, lane, lanes)
		}
		return c
	case te.Select:
		return perBranch + max(e.vector(y.Then, lane, lanes), e.vector(y.Else, lane, lanes))
	case te.Let:
		return e.t.ArithmeticCycles() + e.vector(y.Value, lane, lanes) + e.vector(y.Body, lane, lanes)
	}
	return 0
}

// apart is what a load of neighbours along an axis takes longer where they are not neighbours in memory.
func (e *scheduled) apart(l te.Load, lane string, lanes float64) float64 {
	if lanes == 1 {
		return 0
	}
	v := e.s.Place(e.w, l.Source)
	for d, at := range l.Index {
		if at.Uses(lane) && v.Parts.Lane() != d && !e.single(l, d, v.Parts) {
			return float64(e.t.PerLane() * lanes)
		}
	}
	return 0
}

// single reports whether all of an operand's storage after the innermost part of a dimension has a single point.
func (e *scheduled) single(l te.Load, d int, parts layout.Parts) bool {
	if l.Source.Stage {
		return false
	}
	dims := parts.Dims(e.w.Operands[l.Source.N].Shape)
	for i := len(parts) - 1; i >= 0 && parts[i].Axis != d; i-- {
		if !dims[i].Is(1) {
			return false
		}
	}
	return true
}

// copied is the cycles of a computation of a stage that is no sum: its innermost loop runs in vectors, and element by element what fills none.
func (e *scheduled) copied(x *nest) float64 {
	inner, along, others := x.vectors(len(x.sched.Loops) - 1)
	if n := e.t.Moved(); n > 1 && x.narrow() {
		c := 0.0
		for part, r := range x.te.Results {
			c += e.result(x, part, r, inner, 1)
		}
		return perLoop + float64(math.Ceil(others*along/float64(n))*c)
	}
	return e.rows(others, along, func(lanes float64) float64 {
		c := 0.0
		for part, r := range x.te.Results {
			c += e.result(x, part, r, inner, lanes)
		}
		return c
	})
}

// narrow reports whether all results are integers of 16 bits at most.
func (x *nest) narrow() bool {
	return !slices.ContainsFunc(x.te.Results, func(e te.Expr) bool { return !e.DType().IsInteger() || e.DType().Size() > 2 })
}

// vectors are the axis of loop i, how many of its points neighbour each other, and how often the loops around run.
func (x *nest) vectors(i int) (inner string, along, others float64) {
	along, others = 1, 1
	for k, p := range x.spans {
		if n := len(p.Loops); n > 0 && p.Loops[n-1] == i {
			inner, along = p.Axes[0].Var, x.whole[k]
			if n := float64(x.sched.Loops[i].Size); n > 0 {
				along = min(along, n)
			}
		}
		others *= x.whole[k]
	}
	return inner, along, others / max(along, 1)
}

// rows is the cycles of loops over so many points, one in vectors and element by element what fills none.
func (e *scheduled) rows(times, along float64, body func(lanes float64) float64) float64 {
	lanes := float64(e.t.Lanes(ir.F32))
	vectors := math.Floor(along / lanes)
	single := along - float64(vectors*lanes)
	c := perLoop
	if vectors > 0 {
		c += float64(vectors * body(lanes))
	}
	if single > 0 {
		c += float64(single * body(1))
	}
	return float64(times * c)
}
