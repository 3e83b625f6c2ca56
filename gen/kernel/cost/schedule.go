package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target"
)

// Schedule is the cycles of a kernel that follows a schedule on each of some processors, read from that: no kernel is made. Tiles are the
// micro-kernels of the stages' whole tiles (follow.Tiles). It is false where no stage is computed in tiles, or one that sums is not, where loops
// run in other ways than one after the other in tasks or written out, and where only the run knows how often: what such kernels take is to be
// estimated from their loops.
func Schedule(w *sched.Work, s *sched.Schedule, tiles []*loop.MicroKernel, on []*target.Target, symbols sym.Facts) ([]float64, bool) {
	if on[0].WorkItems() {
		return nil, false
	}
	e, ok := newScheduled(w, s, tiles, symbols)
	if !ok {
		return nil, false
	}
	out := make([]float64, len(on))
	for i, t := range on { // loops, and what they touch, are the same
		e.t = t
		out[i] = e.cycles()
	}
	return out, true
}

// newScheduled is the state of estimates of a schedule, on processors that it is given; false where it is not estimated so.
func newScheduled(w *sched.Work, s *sched.Schedule, tiles []*loop.MicroKernel, symbols sym.Facts) (*scheduled, bool) {
	if !slices.ContainsFunc(tiles, func(m *loop.MicroKernel) bool { return m != nil }) {
		return nil, false
	}
	e := &scheduled{estimate: estimate{tile: callCycles, facts: typical(w.Facts, symbols)}, w: w, s: s, at: make([]*nest, len(w.Stages))}
	for n := len(w.Stages) - 1; n >= 0; n-- { // a stage is placed at loops of later ones
		x, ok := e.nest(n, tiles[n])
		if !ok {
			return nil, false
		}
		e.at[n] = x
	}
	e.all = e.accesses()
	e.touches()
	return e, true
}

// cycles are those on a processor.
func (e *scheduled) cycles() float64 {
	compute := 0.0
	for _, x := range e.at {
		compute += e.compute(x)
	}
	cycles := max(compute, e.near())
	far, late := e.far(cycles)
	return kernel(e.t) + max(overlapped(cycles, far), cycles+late) + e.spilled()
}

// overlap is the part of what is not the bottleneck that takes time besides it.
const overlap = 1.0 / 16

// overlapped is what several things take that go on at once.
func overlapped(of ...float64) float64 {
	sum, most := 0.0, 0.0
	for _, x := range of {
		sum, most = sum+x, max(most, x)
	}
	return most + float64(overlap*(sum-most))
}

// scheduled is the state of an estimate.
type scheduled struct {
	estimate
	w   *sched.Work
	s   *sched.Schedule
	at  []*nest
	all []access
	// values is how many values all accesses are of, and whole the bytes of all that they touch.
	values int
	whole  float64
}

// compute is the cycles of a stage's statements.
func (e *scheduled) compute(x *nest) float64 {
	switch {
	case x.micro == nil && x.unrolled():
		return float64(x.times * e.written(x))
	case x.micro == nil:
		return float64(x.times * e.copied(x))
	case e.direct(x):
		return float64(x.times * e.calls(x))
	}
	return float64(x.times * (e.calls(x) + e.stores(x) + e.claims(x)))
}

// claims is the cycles in which a stage asks for the lines of its results: each takes as long as a load.
func (e *scheduled) claims(x *nest) float64 {
	if x.sched.Tile == nil || !x.sched.Tile.Claims {
		return 0
	}
	points, bytes := 1.0, 0
	for k, p := range x.spans {
		if !p.Reduce {
			points *= x.whole[k]
		}
	}
	for _, r := range x.te.Results {
		bytes += r.DType().Size()
	}
	return points * float64(bytes) / loop.CacheLine / e.t.LoadsPerCycle
}

// calls is the cycles of the micro-kernels that a computation of the stage calls: of whole tiles, and of what is left at the ends of its rows.
func (e *scheduled) calls(x *nest) float64 {
	runs, sizes := 1.0, []part{{times: 1, rows: float64(x.micro.Rows)}}
	for k, p := range x.spans {
		var rows bool
		within, edge := 1.0, sched.Exact
		for _, i := range p.Loops {
			l := x.sched.Loops[i]
			if !l.Kind.Tile() {
				continue
			}
			rows = rows || l.Kind == sched.Rows
			n := float64(l.Size)
			if l.Size == 0 {
				n = math.Ceil(x.whole[k] / float64(x.sched.Within(i)))
			}
			within, edge = within*n, max(edge, l.Edge)
		}
		switch {
		case rows && edge == sched.Peel:
			sizes = peeled(sizes, x.whole[k], within)
		case p.Reduce && within > 1:
			runs *= max(1, math.Floor(x.whole[k]/within)) // parts of a sum that tiles have whole
		default:
			runs *= math.Ceil(x.whole[k] / within)
		}
	}
	c, m := 0.0, *x.micro
	for _, s := range sizes {
		if m.Rows = int64(s.rows); s.times > 0 && m.Rows > 0 {
			c += float64(s.times * e.tile(e.t, &m))
		}
	}
	return float64(runs * c)
}

// part is tiles of so many rows.
type part struct{ times, rows float64 }

// peeled are the tiles along a span of so many points, of which a tile has some: the last one has fewer.
func peeled(sizes []part, points, within float64) []part {
	whole := math.Floor(points / within)
	left := points - float64(whole*within)
	var out []part
	for _, s := range sizes {
		out = append(out, part{s.times * whole, s.rows})
		if left > 0 {
			out = append(out, part{s.times, s.rows / within * left})
		}
	}
	return out
}

// direct reports whether tiles put their sums where they belong, as part of a call: they are the results, in a worker's memory.
func (e *scheduled) direct(x *nest) bool {
	return sched.Plain(x.te, x.micro.Instr) && len(x.te.Results) == 1 && e.s.Place(e.w, te.Source{Stage: true, N: x.n}).Space == sched.Worker
}
