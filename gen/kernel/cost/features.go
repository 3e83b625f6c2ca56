package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target"
)

// Features are what a performance model may know of a kernel: the estimate and what it is made of, the register tile, and what tasks are, most of
// them as logarithms. Estimate is the first of them, the one that models correct.
var Features = []string{"estimate", "compute", "near", "far", "late", "spilled", "calls", "tasks", "steps", "rows", "vectors", "accumulators", "ahead", "stages"}

// FeaturesOf are those of a kernel of so many cycles by its estimate; those besides are 0 of one that was made without a schedule, or is estimated
// from its loops.
func FeaturesOf(cycles float64, w *sched.Work, s *sched.Schedule, tiles []*loop.MicroKernel, t *target.Target, symbols sym.Facts) []float64 {
	out := make([]float64, len(Features))
	out[0] = scalar.Log(max(cycles, 1))
	if s == nil || t.WorkItems() {
		return out
	}
	e, ok := newScheduled(w, s, tiles, symbols)
	if !ok {
		return out
	}
	e.t = t
	set := func(name string, x float64) { out[slices.Index(Features, name)] = x }
	compute := 0.0
	for _, x := range e.at {
		compute += e.compute(x)
	}
	near := e.near()
	far, late := e.far(max(compute, near))
	calls, main := e.called()
	for name, x := range map[string]float64{"compute": compute, "near": near, "far": far, "late": late, "spilled": e.spilled(), "calls": calls, "tasks": e.tasks()} {
		set(name, scalar.Log(1+x))
	}
	set("stages", float64(len(w.Stages)))
	if main == nil {
		return out
	}
	m := main.micro
	set("steps", scalar.Log(1+float64(m.Steps())))
	set("rows", float64(m.Rows))
	set("vectors", float64(m.Vectors))
	set("accumulators", float64(m.Rows*m.Vectors)/float64(max(t.VectorRegisters, 1)))
	set("ahead", scalar.Log(1+float64(main.sched.Tile.Ahead)))
	return out
}

// called is how many calls of micro-kernels there are, and the stage that has the most of them; nil where there is none.
func (e *scheduled) called() (calls float64, main *nest) {
	most := 0.0
	for _, x := range e.at {
		if x.micro == nil {
			continue
		}
		n := x.times
		for k, p := range x.spans {
			within := 1.0
			for _, i := range p.Loops {
				if l := x.sched.Loops[i]; l.Kind.Tile() {
					within = float64(x.sched.Within(i)) * max(1, float64(l.Size))
					break
				}
			}
			n *= max(1, math.Ceil(x.whole[k]/max(within, 1)))
		}
		if calls += n; n > most {
			most, main = n, x
		}
	}
	return calls, main
}

// tasks is how many of them there are.
func (e *scheduled) tasks() float64 {
	x := e.at[len(e.at)-1]
	last := -1
	for i, l := range x.sched.Loops {
		if l.Kind == sched.Task {
			last = i
		}
	}
	if last < 0 {
		return 1
	}
	return x.iterations(last)
}
