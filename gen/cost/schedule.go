package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// Schedule is the cycles of a kernel that follows a schedule, read from that: no kernel is made. Tiles are the micro-kernels of the stages'
// whole tiles (follow.Tiles). It is false where the results are not computed in tiles, or another stage is neither computed so nor a copy, where
// loops run in other ways than one after the other in tasks, and where only the run knows how often: what such kernels take is to be estimated
// from their loops.
func Schedule(w *sched.Work, s *sched.Schedule, tiles []*loop.MicroKernel, t *target.Target, symbols sym.Facts, tile Tile) (float64, bool) {
	if t.WorkItems() || tiles[len(tiles)-1] == nil {
		return 0, false
	}
	e := &scheduled{estimate: estimate{t: t, tile: tile, facts: typical(w.Facts, symbols)}, w: w, s: s, at: make([]*nest, len(w.Stages))}
	for n := len(w.Stages) - 1; n >= 0; n-- { // a stage is placed at loops of later ones
		x, ok := e.nest(n, tiles[n])
		if !ok {
			return 0, false
		}
		e.at[n] = x
	}
	compute := 0.0
	for _, x := range e.at {
		compute += e.compute(x)
	}
	near, far := e.traffic()
	return perKernel + overlapped(max(compute, near), far), true
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
	w  *sched.Work
	s  *sched.Schedule
	at []*nest
}

// nest is a stage's loops.
type nest struct {
	n     int
	te    *te.Stage
	sched *sched.Stage
	micro *loop.MicroKernel // of whole tiles, or nil
	spans []sched.Span
	of    []int     // by loop: the number of its span
	whole []float64 // points of each span
	times float64   // how often the stage is computed
	first int       // loop of its tile, or the number of loops
	depth int       // of the last stage's loops around it
	// ranges are those of its axes, by the last stage's loops outside.
	ranges []sym.Facts
}

// nest is false for a stage that cannot be estimated so.
func (e *scheduled) nest(n int, micro *loop.MicroKernel) (*nest, bool) {
	x := &nest{n: n, te: e.w.Stages[n], sched: &e.s.Stages[n], micro: micro, times: 1}
	x.first = len(x.sched.Loops)
	var err error
	if x.spans, err = x.sched.Spans(x.te); err != nil || micro == nil && x.te.Combine != nil {
		return nil, false
	}
	x.of = make([]int, len(x.sched.Loops))
	for k, p := range x.spans {
		if _, known := p.Extent.Const(); !known {
			return nil, false // kernels of other kinds are estimated from loops, which count all that the run may have to do
		}
		x.whole = append(x.whole, e.trips(p.Extent))
		for _, i := range p.Loops {
			x.of[i] = k
		}
	}
	for i, l := range x.sched.Loops {
		switch {
		case l.Stored || l.Kind == sched.Unroll || l.Kind == sched.Vector || l.Kind == sched.Group || l.Kind == sched.Item:
			return nil, false
		case l.Kind.Tile():
			x.first = min(x.first, i)
		}
	}
	for part := range x.te.Results {
		if v := e.s.Place(e.w, te.Source{Stage: true, N: n, Part: part}); v.Space != sched.Arena && v.Space != sched.Worker || v.Fold.Points > 0 {
			return nil, false
		}
	}
	if at := x.sched.At; at != sched.Root {
		around := e.at[at.Stage]
		i := slices.IndexFunc(around.sched.Loops, func(l sched.Loop) bool { return l.Var == at.Loop })
		if i < 0 {
			return nil, false
		}
		x.times, x.depth = float64(around.times*around.iterations(i)), i+1
		if at.Stage != len(e.w.Stages)-1 {
			x.depth = around.depth
		}
	}
	return x, true
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

// compute is the cycles of a stage's statements.
func (e *scheduled) compute(x *nest) float64 {
	if x.micro == nil {
		return float64(x.times * e.copied(x))
	}
	return float64(x.times * (e.calls(x) + e.stores(x)))
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
		c += float64(vectors*e.result(x, part, r, lane, lanes)) + float64(single*e.result(x, part, r, lane, 1))
	}
	return float64(others * c)
}

// result is the cycles of a vector of a stage's results along an axis, or of one where lanes are 1: one after the other where they are not
// neighbours in memory.
func (e *scheduled) result(x *nest, part int, r te.Expr, lane string, lanes float64) float64 {
	v := e.s.Place(e.w, te.Source{Stage: true, N: x.n, Part: part})
	d := slices.IndexFunc(x.te.Axes, func(a te.Axis) bool { return a.Var == lane })
	if d >= 0 && !neighbours(v, d, lanes) && !x.interleaved(v, d) {
		return float64(lanes * (perStep + perStore + perStride + e.vector(r, lane, 1)))
	}
	return perStep + perStore + e.vector(r, lane, lanes)
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
		c := flops(y)
		for _, a := range y.Args {
			c += e.vector(a, lane, lanes)
		}
		return c
	case te.Select:
		return perBranch + max(e.vector(y.Then, lane, lanes), e.vector(y.Else, lane, lanes))
	case te.Let:
		return perFLOP + e.vector(y.Value, lane, lanes) + e.vector(y.Body, lane, lanes)
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
			return float64(perStore * lanes)
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
	points, inner, along := 1.0, "", 1.0
	for k, p := range x.spans {
		points *= x.whole[k]
		if i := len(x.sched.Loops) - 1; len(p.Loops) > 0 && p.Loops[len(p.Loops)-1] == i {
			inner, along = p.Axes[0].Var, x.whole[k]
			if n := float64(x.sched.Loops[i].Size); n > 0 {
				along = min(along, n)
			}
		}
	}
	lanes := float64(e.t.Lanes(ir.F32))
	vectors := math.Floor(along / lanes)
	single := along - float64(vectors*lanes)
	c := perLoop
	for part, r := range x.te.Results {
		c += float64(vectors*e.result(x, part, r, inner, lanes)) + float64(single*e.result(x, part, r, inner, 1))
	}
	return float64(points / max(along, 1) * c)
}
