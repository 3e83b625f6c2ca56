package cost

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// access is what a stage reads of a value, or stores.
type access struct {
	x      *nest
	of     te.Source
	value  int          // its number among the values of all accesses
	at     [][]sym.Expr // over the stage's axes: where each load reads
	dims   []float64    // of what is stored
	size   float64      // bytes of an element: of a constant of which only a part is stored, on average
	stored float64      // bytes of the value
	// constant: it is a constant; own: it is in a worker's memory, written before it is read.
	constant, own bool
	bytes         []float64 // within so many of the loops around, in one iteration of these
}

// near is the cycles in which the first-level cache gets what it does not hold: of the nest of loops whose bodies fit in a cache, what is read
// there stays between the iterations of the outermost one, and everything comes again in each iteration of the loops around.
func (e *scheduled) near() float64 {
	c := 0.0
	for i := range e.all {
		c += e.moved(&e.all[i], e.t.L1D) / e.t.L2BytesPerCycle
	}
	return c
}

// waited is the part of what comes late for which tiles wait: processors fetch streams ahead beyond a tile.
const waited = 1.0 / 2

// far is the same of the second-level cache. Constants come from memory once a run, however few a block has: all blocks' together are more than
// caches hold. Behind them hides only what those tiles do that are the first to read them, of all that a kernel does in so many cycles: late is
// what the tiles wait for.
func (e *scheduled) far(cycles float64) (far, late float64) {
	for i := range e.all {
		a := &e.all[i]
		switch b := e.moved(a, e.t.L2); {
		case a.constant:
			c := e.constant(b, a.stored)
			far += c
			late += float64(waited * max(0, c-float64(e.first(a, b)*cycles)))
		case a.own: // see spilled
		case a.stored > float64(e.t.L2) || b > a.stored:
			far += b / e.t.Behind(a.stored)
		}
	}
	return far, late
}

// first is the part of all iterations of the loops around an access in which it gets so many bytes that were not there before.
func (e *scheduled) first(a *access, bytes float64) float64 {
	k := len(a.x.path)
	return min(1, bytes/float64(a.bytes[k]*a.x.runs(k)))
}

// spilled is the cycles in which tasks write and read their worker's memory where it does not fit in the second-level cache. They wait for it,
// since what they do next needs it. What is written most often stays.
func (e *scheduled) spilled() float64 {
	bytes, all := map[float64]float64{}, 0.0 // that are written so often
	for i := range e.all {
		if a := &e.all[i]; a.own && a.of.N == a.x.n {
			bytes[a.x.times] += a.stored
			all += a.stored
		}
	}
	beyond, c := max(0, all-float64(e.t.L2)), 0.0
	for _, times := range slices.Sorted(maps.Keys(bytes)) {
		part := min(beyond, bytes[times])
		c, beyond = c+float64(2*part*times/e.t.Spill()), beyond-part
	}
	return c
}

// moved is how many bytes an access gets that a cache of some size does not hold.
func (e *scheduled) moved(a *access, cache int64) float64 {
	k := 0
	for k < len(a.x.path) && e.touched(a.x, k) > float64(cache) {
		k++
	}
	if e.touched(a.x, k) <= float64(cache) {
		k = max(k-1, 0)
	}
	return float64(a.bytes[k] * a.x.runs(k))
}

// touched is how many bytes an iteration of the k outermost loops around a stage touches: of each value, as many as the stage does that touches
// most.
func (e *scheduled) touched(x *nest, k int) float64 {
	if k == 0 {
		return e.whole
	}
	l := x.path[k-1]
	return l.x.touched[l.loop]
}

// touches finds what iterations of all loops touch.
func (e *scheduled) touches() {
	most := make([]float64, e.values)
	e.whole = e.sum(most, 0, around{})
	for _, x := range e.at {
		x.touched = make([]float64, len(x.sched.Loops))
		for i := range x.touched {
			x.touched[i] = e.sum(most, len(x.outer)+i+1, around{x, i})
		}
	}
}

// sum is the bytes that are touched within a loop, the last one of k around what reads or stores them. most is memory, by value.
func (e *scheduled) sum(most []float64, k int, l around) float64 {
	clear(most)
	for i := range e.all {
		if a := &e.all[i]; k == 0 || len(a.x.path) >= k && a.x.path[k-1] == l {
			most[a.value] = max(most[a.value], a.bytes[k])
		}
	}
	sum := 0.0
	for _, n := range most {
		sum += n
	}
	return sum
}

// accesses are those of all stages.
func (e *scheduled) accesses() []access {
	var out []access
	for _, x := range e.at {
		first := len(out)
		seen := map[*sym.Expr]bool{} // copies of one load share its index
		note := func(y te.Expr) {
			l, ok := y.(te.Load)
			if !ok || len(l.Index) > 0 && seen[&l.Index[0]] {
				return
			}
			if len(l.Index) > 0 {
				seen[&l.Index[0]] = true
			}
			if i := slices.IndexFunc(out[first:], func(a access) bool { return a.of == l.Source }); i >= 0 {
				out[first+i].at = append(out[first+i].at, l.Index)
			} else if a, ok := e.read(x, l); ok {
				out = append(out, a)
			}
		}
		for _, y := range slices.Concat(x.te.Values, x.te.Results) {
			te.Walk(y, note)
		}
		for part := range x.te.Results {
			if a, ok := e.kept(x, te.Source{Stage: true, N: x.n, Part: part}, te.AxisVars(x.te.Axes)); ok {
				out = append(out, a)
			}
		}
		e.footprints(x, out[first:])
	}
	e.values = numbered(out)
	return out
}

// numbered gives the values of accesses their numbers; there are so many.
func numbered(all []access) int {
	of := map[te.Source]int{}
	for i := range all {
		n, known := of[all[i].of]
		if !known {
			n = len(of)
			of[all[i].of] = n
		}
		all[i].value = n
	}
	return len(of)
}

// read is what a stage reads, false of registers.
func (e *scheduled) read(x *nest, l te.Load) (access, bool) {
	if l.Source.Stage {
		return e.kept(x, l.Source, l.Index)
	}
	v := e.w.Operands[l.Source.N]
	a := e.access(x, l.Source, l.Index, v.Shape, v.Type)
	a.constant = v.Const != nil
	part := e.part(x, l.Source)
	a.size, a.stored = a.size*part, a.stored*part
	return a, true
}

// part is how much of a constant is stored.
func (e *scheduled) part(x *nest, of te.Source) float64 {
	if x.stored == nil || of.Stage || of.N != x.stored.Operand {
		return 1
	}
	n := 1.0
	for _, d := range e.w.Operands[of.N].Shape {
		n *= e.trips(d)
	}
	all, _ := x.stored.Elements()
	return float64(all) / n
}

// kept is what a stage reads or stores of a stage's results: of those that are placed at a loop, memory holds one region.
func (e *scheduled) kept(x *nest, of te.Source, index []sym.Expr) (access, bool) {
	v, by := e.s.Place(e.w, of), e.at[of.N]
	if v.Space == sched.Register {
		return access{}, false
	}
	a := e.access(x, of, index, by.sched.Shape(by.te, v.Fold), by.te.Results[of.Part].DType())
	a.own = v.Space == sched.Worker
	return a, true
}

func (e *scheduled) access(x *nest, of te.Source, index []sym.Expr, shape ir.Shape, t ir.DType) access {
	a := access{x: x, of: of, at: [][]sym.Expr{index}, size: float64(t.Size())}
	a.stored = a.size
	for _, d := range shape {
		n := e.trips(d)
		a.dims, a.stored = append(a.dims, max(n, 1)), a.stored*n
	}
	return a
}
