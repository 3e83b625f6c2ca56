package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// nest is a stage's loops.
type nest struct {
	n     int
	te    *te.Stage
	sched *sched.Stage
	micro *loop.MicroKernel // of whole tiles, or nil
	// stored is the constant of which only a part is stored, or nil.
	stored *sched.Nonzeros
	spans  []sched.Span
	of     []int     // by loop: the number of its span
	whole  []float64 // points of each span
	times  float64   // how often the stage is computed
	first  int       // loop of its tile, or the number of loops
	// outer are the loops of later stages around it, outermost first, and path those and its own that are no tile's, where these decide what
	// stays in caches: a stage that is no sum reads what it reads once.
	outer, path []around
	// touched is the bytes of all that an iteration touches, by loop.
	touched []float64
}

// around is a loop around a stage.
type around struct {
	x    *nest
	loop int
}

// nest is false for a stage that cannot be estimated so.
func (e *scheduled) nest(n int, micro *loop.MicroKernel) (*nest, bool) {
	x := &nest{n: n, te: e.w.Stages[n], sched: &e.s.Stages[n], micro: micro, times: 1}
	if micro == nil && x.te.Combine != nil || !x.findSpans(&e.estimate) || !x.findLoops() || !e.placed(x) {
		return nil, false
	}
	if x.path = x.outer; micro != nil || n == len(e.w.Stages)-1 {
		x.path = slices.Concat(x.outer, x.loops(x.first))
	}
	var err error
	x.stored, err = e.s.Nonzeros(e.w, n)
	return x, err == nil
}

// findSpans finds what loops walk; false where only the run knows how far that is: such kernels are estimated from loops, which count all that
// the run may have to do.
func (x *nest) findSpans(e *estimate) bool {
	var err error
	if x.spans, err = x.sched.Spans(x.te); err != nil {
		return false
	}
	x.of = make([]int, len(x.sched.Loops))
	for k, p := range x.spans {
		if _, known := p.Extent.Const(); !known {
			return false
		}
		x.whole = append(x.whole, e.trips(p.Extent))
		for _, i := range p.Loops {
			x.of[i] = k
		}
	}
	return true
}

// findLoops finds the first loop of a tile; false where loops run in other ways than those that are estimated.
func (x *nest) findLoops() bool {
	x.first = len(x.sched.Loops)
	for i, l := range x.sched.Loops {
		switch {
		case l.Stored && x.micro == nil || l.Kind == sched.Vector || l.Kind == sched.Group || l.Kind == sched.Item:
			return false
		case l.Kind.Tile():
			x.first = min(x.first, i)
		}
	}
	return true
}

// placed finds where a stage is computed, and how often; false where its results are in other memory than that of the run, of a worker, or registers.
func (e *scheduled) placed(x *nest) bool {
	for part := range x.te.Results {
		v := e.s.Place(e.w, te.Source{Stage: true, N: x.n, Part: part})
		if v.Space != sched.Arena && v.Space != sched.Worker && v.Space != sched.Register || v.Fold.Points > 0 {
			return false
		}
	}
	at := x.sched.At
	if at == sched.Root {
		return true
	}
	y := e.at[at.Stage]
	i := slices.IndexFunc(y.sched.Loops, func(l sched.Loop) bool { return l.Var == at.Loop })
	if i < 0 {
		return false
	}
	x.times, x.outer = float64(y.times*y.parts(i)), slices.Concat(y.outer, y.loops(i+1))
	return true
}

// loops are the n outermost ones.
func (x *nest) loops(n int) []around {
	out := make([]around, n)
	for i := range out {
		out[i] = around{x, i}
	}
	return out
}

// unrolled reports whether the innermost loop is written out.
func (x *nest) unrolled() bool {
	n := len(x.sched.Loops)
	return n > 0 && x.sched.Loops[n-1].Kind == sched.Unroll
}

// runs is how often the k outermost loops around a stage run their bodies.
func (x *nest) runs(k int) float64 {
	if k == 0 {
		return 1
	}
	l := x.path[k-1]
	return float64(l.x.times * l.x.iterations(l.loop))
}

// parts is how often a stage that is placed at loop i is computed, in one computation of the stage: what the last iteration of a loop lacks is
// not computed.
func (x *nest) parts(i int) float64 {
	n := 1.0
	for k, p := range x.spans {
		if l := slices.IndexFunc(p.Loops, func(l int) bool { return l > i }); l != 0 && len(p.Loops) > 0 {
			if l < 0 {
				l = len(p.Loops)
			}
			n *= max(1, x.whole[k]/float64(x.sched.Within(p.Loops[l-1])))
		}
	}
	return n
}

// iterations is how often the loops down to i run, in one computation of the stage.
func (x *nest) iterations(i int) float64 {
	n := 1.0
	for k := range x.spans {
		n *= x.counted(k, i)
	}
	return n
}

// counted is how often the loops of span k down to loop i run: each ends with the span.
func (x *nest) counted(k, i int) float64 {
	n := 1.0
	for _, l := range x.spans[k].Loops {
		if l <= i {
			n = math.Ceil(x.whole[k] / float64(x.sched.Within(l)))
		}
	}
	return n
}

// points is how many points of span k one iteration of the loops down to i has.
func (x *nest) points(k, i int) float64 {
	n := x.whole[k]
	for _, l := range x.spans[k].Loops {
		if l <= i {
			n = min(x.whole[k], float64(x.sched.Within(l)))
		}
	}
	return n
}
