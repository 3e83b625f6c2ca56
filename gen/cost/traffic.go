package cost

import (
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// access is what a stage reads, or stores: elements of a value at an index over the stage's axes.
type access struct {
	x      *nest
	index  []sym.Expr
	shape  ir.Shape
	size   float64 // bytes of an element
	stored float64 // bytes of the value
	// constant: it is a constant; own: it is in a worker's memory, written before it is read.
	constant, own bool
}

// traffic is the cycles in which the first-level cache, and the second-level one, get what they do not hold: of the nest of loops whose
// bodies fit in a cache, what is read there stays between the iterations of the outermost one, and everything comes again in each iteration
// of the loops around. Constants come from memory once a run, however few a block has: all blocks' together are more than caches hold.
func (e *scheduled) traffic() (near, far float64) {
	all := e.accesses()
	depth := e.at[len(e.at)-1].first
	bytes := make([][]float64, len(all)) // by access, and by the loops outside
	total := make([]float64, depth+1)
	for i, a := range all {
		for k := range depth + 1 {
			if k > 0 && a.x.depth > 0 && k > a.x.depth {
				break // it is computed outside of these loops
			}
			b := e.footprint(a, k)
			bytes[i] = append(bytes[i], b)
			total[k] += b
		}
	}
	last := e.at[len(e.at)-1]
	moved := func(i int, cache int64) float64 {
		k := 0
		for k < depth && total[k] > float64(cache) {
			k++
		}
		k = min(max(k-1, 0), len(bytes[i])-1)
		return float64(bytes[i][k] * last.iterations(k-1))
	}
	for i, a := range all {
		near += moved(i, e.t.L1D) / e.t.L2BytesPerCycle
		switch b := moved(i, e.t.L2); {
		case a.constant:
			far += b / e.t.BytesPerCycle
		case a.own && total[0] <= float64(e.t.L2):
		case a.stored > float64(e.t.L2) || b > a.stored:
			far += b / e.t.BytesPerCycle
		}
	}
	return near, far
}

// accesses are those of all stages.
func (e *scheduled) accesses() []access {
	var out []access
	for _, x := range e.at {
		seen := map[te.Source]bool{}
		note := func(y te.Expr) {
			l, ok := y.(te.Load)
			if !ok || seen[l.Source] || l.Source.Stage {
				return // what a stage stored is counted there
			}
			seen[l.Source] = true
			v := e.w.Operands[l.Source.N]
			out = append(out, e.access(x, l.Index, v.Shape, v.Type, v.Const != nil, false))
		}
		for _, y := range x.te.Values {
			te.Walk(y, note)
		}
		for _, y := range x.te.Results {
			te.Walk(y, note)
		}
		index := make([]sym.Expr, len(x.te.Axes))
		for i, a := range x.te.Axes {
			index[i] = sym.Var(a.Var)
		}
		for part, r := range x.te.Results {
			own := e.s.Place(e.w, te.Source{Stage: true, N: x.n, Part: part}).Space == sched.Worker
			out = append(out, e.access(x, index, x.te.Shape(), r.DType(), false, own))
		}
	}
	return out
}

func (e *scheduled) access(x *nest, index []sym.Expr, shape ir.Shape, t ir.DType, constant, own bool) access {
	a := access{x: x, index: index, shape: shape, size: float64(t.Size()), constant: constant, own: own}
	a.stored = a.size
	for _, d := range shape {
		a.stored *= e.trips(d)
	}
	return a
}

// footprint is how many bytes an access has within the k outermost loops of the last stage, in one iteration of these.
func (e *scheduled) footprint(a access, k int) float64 {
	ranges := e.ranges(a.x, k)
	bytes := a.size
	for d, at := range a.index {
		lo, hi := at.Bounds(ranges)
		bytes *= min(float64(hi-lo)+1, max(e.trips(a.shape[d]), 1))
	}
	return bytes
}

// ranges are those of the axes of a stage within the k outermost loops of the last one.
func (e *scheduled) ranges(x *nest, k int) sym.Facts {
	if x.ranges == nil {
		x.ranges = make([]sym.Facts, len(e.at[len(e.at)-1].sched.Loops)+1)
	}
	if x.ranges[k] == nil {
		x.ranges[k] = e.rangesOf(x, k)
	}
	return x.ranges[k]
}

func (e *scheduled) rangesOf(x *nest, k int) sym.Facts {
	out := maps.Clone(e.facts)
	last := e.at[len(e.at)-1]
	own := k // of the stage's own loops that are outside
	if x != last {
		own = 0
		for i, l := range last.sched.Loops { // of which regions begin at another place
			n := 1.0
			if i >= k {
				n = last.counted(last.of[i], i) / max(1, last.counted(last.of[i], i-1))
			}
			out[l.Var] = sym.Range{Lo: 0, Hi: int64(max(n, 1)) - 1}
		}
	}
	for i, p := range x.spans {
		n := int64(max(x.points(i, own-1), 1))
		lo, hi := p.First.Bounds(out)
		for d := len(p.Axes) - 1; d > 0; d-- { // of joined axes
			inner := int64(max(e.trips(p.Axes[d].Extent), 1))
			out[p.Axes[d].Var] = sym.Range{Lo: 0, Hi: min(n, inner) - 1}
			n = (n + inner - 1) / inner
		}
		v, before := p.Axes[0].Var, int64(0)
		if p.Name != v && len(p.Axes) == 1 { // a part of a split axis; the outer one comes first
			if r, ok := out[v]; ok && p.Step == 1 {
				before = r.Hi
			}
		}
		out[v] = sym.Range{Lo: 0, Hi: before + hi - lo + (n-1)*p.Step}
	}
	return out
}
