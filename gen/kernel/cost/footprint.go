package cost

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// footprints finds those of a stage's accesses within each number of the loops around it.
func (e *scheduled) footprints(x *nest, of []access) {
	f := maps.Clone(e.facts)
	e.around(f, x)
	for i := range of {
		of[i].bytes = make([]float64, 0, len(x.path)+1)
	}
	for k := range len(x.path) + 1 {
		same := !e.ranges(f, x, k) && k > 0 && x.stored == nil
		for i := range of {
			bytes := 0.0
			if same {
				bytes = of[i].bytes[k-1]
			} else {
				bytes = of[i].footprint(f, k)
			}
			of[i].bytes = append(of[i].bytes, bytes)
		}
	}
}

// footprint is how many bytes an access has within the k outermost loops around it, in one iteration of these, by the ranges of axes there.
func (a *access) footprint(f sym.Facts, k int) float64 {
	bytes := a.size
	for d, n := range a.dims {
		if n == 1 {
			continue
		}
		lo, hi := bounds(a.at[0][d], f)
		for _, at := range a.at[1:] {
			l, h := bounds(at[d], f)
			lo, hi = min(lo, l), max(hi, h)
		}
		bytes *= min(float64(hi-lo)+1, n)
	}
	return float64(bytes * a.x.walked(a, k))
}

// walked is the part of what its indices reach that an access has within the k outermost loops around it: kernels of one filter, or of a group of
// them, are of some channels.
func (x *nest) walked(a *access, k int) float64 {
	if x.stored == nil || x.micro == nil || x.micro.Kept == nil || a.constant || a.of == (te.Source{Stage: true, N: x.n, Part: a.of.Part}) {
		return 1
	}
	if i := slices.Index(x.path, around{x, x.stored.Filters}); i < 0 || i >= k {
		return 1
	}
	kept := x.micro.Kept
	return min(1, float64(kept.Kernels)/10/float64(kept.Walked()))
}

// bounds are those of an index, most of which are variables.
func bounds(e sym.Expr, f sym.Facts) (lo, hi int64) {
	if v, ok := e.AsVar(); ok {
		if r, known := f[v]; known {
			return r.Lo, r.Hi
		}
	}
	return e.Bounds(f)
}

// around sets the ranges of the variables of the loops of later stages around a stage.
func (e *scheduled) around(f sym.Facts, x *nest) {
	for _, l := range x.outer {
		n := l.x.counted(l.x.of[l.loop], l.loop) / max(1, l.x.counted(l.x.of[l.loop], l.loop-1))
		f[l.x.sched.Loops[l.loop].Var] = sym.Range{Lo: 0, Hi: int64(max(n, 1)) - 1}
	}
}

// ranges changes those within the k-1 outermost loops around a stage to those within k: of the variables of later stages' loops, where regions
// begin, and of the axes of the stage. It reports whether any is another one.
func (e *scheduled) ranges(f sym.Facts, x *nest, k int) (changed bool) {
	set := func(v string, r sym.Range) {
		if old, known := f[v]; !known || old != r {
			f[v], changed = r, true
		}
	}
	own := k - len(x.outer) - 1 // innermost of the stage's own loops
	if k > 0 && own < 0 {
		l := x.outer[k-1]
		set(l.x.sched.Loops[l.loop].Var, sym.Range{})
	}
	for i, p := range x.spans {
		if k > 0 && plain(&p) && (own < 0 && fixed(&p) || own >= 0 && x.of[own] != i) {
			continue // it is as it was
		}
		n := int64(max(x.points(i, own), 1))
		lo, hi := p.First.Bounds(f)
		for d := len(p.Axes) - 1; d > 0; d-- { // of joined axes
			inner := int64(max(e.trips(p.Axes[d].Extent), 1))
			set(p.Axes[d].Var, sym.Range{Lo: 0, Hi: min(n, inner) - 1})
			n = (n + inner - 1) / inner
		}
		v, before := p.Axes[0].Var, int64(0)
		if i > 0 && x.inner(i) {
			before = f[v].Hi
		}
		set(v, sym.Range{Lo: 0, Hi: before + hi - lo + (n-1)*p.Step})
	}
	for _, s := range x.sched.Splits {
		if outer, joined := f[s.Outer]; joined { // with others: its points are counted there
			set(s.Axis, sym.Range{Lo: 0, Hi: f[s.Axis].Hi + outer.Hi*s.Size})
		}
	}
	return changed
}

// plain reports whether a span is an axis: whole, or a region of it.
func plain(p *sched.Span) bool { return len(p.Axes) == 1 && p.Name == p.Axes[0].Var }

// fixed reports whether a span begins at one point.
func fixed(p *sched.Span) bool {
	_, known := p.First.Const()
	return known
}

// inner reports whether a span is the inner part of a split axis of which the span before is the outer one.
func (x *nest) inner(i int) bool {
	p, q := &x.spans[i], &x.spans[i-1]
	return p.Name != p.Axes[0].Var && len(p.Axes) == 1 && p.Step == 1 && len(q.Axes) == 1 && q.Axes[0].Var == p.Axes[0].Var
}
