package nest

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// Variables of a reduction along a row.
const (
	stepVar    = "rs"     // step of partial accumulators
	rowRestVar = "s0rest" // vector of those behind the last whole step
	partVar    = "rp"     // partial accumulator
)

// partials is how many vectors of partial accumulators hide an addition's latency.
const partials = 4

// fewPoints is the shortest row that a vector of partial accumulators is made of: the shortest vector.
const fewPoints = 4

// rowReduction reports whether the innermost reduction axis walks memory, so that partial
// accumulators side by side make vectors; the elements themselves do not lie so.
func (n *Nest) rowReduction(axes []te.Axis) bool {
	if n.Combiner == nil || !n.joinsParts() && n.pick() == nil || n.lanes < 2 || len(n.trimmed) > 0 || len(n.Reduce) == 0 {
		return false
	}
	r := n.Reduce[len(n.Reduce)-1]
	if c, ok := r.Extent.Const(); ok && (c < fewPoints || c < n.lanes && len(n.Reduce) > 1) {
		return false
	}
	return !slices.ContainsFunc(n.Values, func(v te.Expr) bool { return !loop.VectorExpr(v, r.Var, lower.Vectors(n.target), n.Facts) })
}

// alongMemory puts an axis of a reduction that walks memory innermost, where the innermost one does not and the order is of no account:
// an operand whose channels lie together has pixels far apart.
func (n *Nest) alongMemory() {
	last := len(n.Reduce) - 1
	if last < 1 || !regroups[n.Combiner.Name] || n.target.WorkItems() || n.rowReduction(n.Axes) || n.sideBySide(n.Axes) {
		return
	}
	for i := last - 1; i >= 0; i-- {
		along := *n
		along.Reduce = slices.Concat(n.Reduce[:i], n.Reduce[i+1:], n.Reduce[i:i+1])
		if !n.Reduce[i].Extent.Is(1) && along.rowReduction(n.Axes) {
			n.Reduce = along.Reduce
			return
		}
	}
}

// joinsParts reports whether partial results join as values do.
func (n *Nest) joinsParts() bool { return len(n.Values) == 1 && match.Reorders[n.Combiner.Name] }

// sideBySide reports whether vectors of elements can be computed after all, those of short rows with loads of what lies some apart.
// Axes of one point, as those that a reduction keeps, are no loops.
func (n *Nest) sideBySide(axes []te.Axis) bool {
	i := len(axes) - 1
	for i >= 0 && axes[i].Extent.Is(1) {
		i--
	}
	return i >= 0 && len(n.within) == 0 && n.vectorises(axes[i], 1)
}

// rowPoint computes one element from vectors of partial accumulators, which it joins in a fixed order: the
// result does not depend on who computes it.
func (n *Nest) rowPoint() []loop.Stmt {
	if !n.joinsParts() {
		return n.pickPoint()
	}
	r := n.row()
	body := []loop.Stmt{loop.Alloc{Buf: r.parts}}
	body = append(body, r.vectors()...)
	body = append(body, r.halve()...)
	acc := loop.Ref{Name: n.accName(0), Type: r.parts.Type}
	body = append(body, loop.Def{Name: acc.Name, Init: r.join(r.part(sym.Const(0)), r.part(sym.Const(1)))})
	if r.known && r.length%2 == 1 && !r.overlaps() {
		last := loop.Set{Name: acc.Name, Value: r.join(acc, r.value(sym.Const(r.length-1)))}
		body = append(body, Loops(r.outer, []loop.Stmt{last})...)
	}
	body = append(body, n.Stores(func(int) te.Expr { return acc }, n.At)...)
	return n.boundedPoint(body)
}

// boundedPoint computes an element where that is within the result, and is zero beside it.
func (n *Nest) boundedPoint(body []loop.Stmt) []loop.Stmt {
	if len(n.within) == 0 {
		return body
	}
	return []loop.Stmt{loop.If{Cond: n.within, Then: body, Else: n.zeros(n.At)}}
}

// row is the nest with the row that it reduces.
type row struct {
	n      *Nest
	axis   te.Axis
	outer  []te.Axis           // of the reduction, around the row, of more points than one
	first  map[string]sym.Expr // the only points of its other axes
	length int64
	known  bool  // the length
	width  int64 // of a vector of partial accumulators, a power of 2
	number int64 // of such vectors
	parts  *loop.Buffer
	lane   string
}

func (n *Nest) row() *row {
	last := len(n.Reduce) - 1
	r := &row{n: n, axis: n.Reduce[last], first: map[string]sym.Expr{}, lane: partVar + n.tag, width: n.lanes, number: partials}
	for _, a := range n.Reduce[:last] {
		if a.Extent.Is(1) {
			r.first[a.Var] = sym.Const(0)
		} else {
			r.outer = append(r.outer, a)
		}
	}
	t := n.Values[0].DType()
	if size := int64(t.Size()); t == ir.F64 || t == ir.I64 || t == ir.U64 {
		r.width = max(n.lanes*int64(ir.F32.Size())/size, fewPoints)
	}
	if r.length, r.known = r.axis.Extent.Const(); r.known {
		for r.width > r.length {
			r.width /= 2
		}
		r.number = min(partials, r.length/r.width)
	}
	r.parts = n.Local("part"+n.tag, t, sym.Const(r.width))
	n.AddRanges([]te.Axis{{Var: r.lane, Extent: sym.Const(r.width)}})
	return r
}

// overlaps reports whether what the row has behind its whole vectors is in a vector that overlaps the last one of these: points that are joined twice make no difference.
func (r *row) overlaps() bool {
	return r.known && r.length%r.width > 0 && regroups[r.n.Combiner.Name]
}

// join joins what an accumulator has with a value.
func (r *row) join(acc, v te.Expr) te.Expr {
	joined := r.n.joined([]te.Expr{v}, func(int) te.Expr { return acc })
	return joined[len(joined)-1].(loop.Def).Init
}

// value is what the reduction takes at a point of the row.
func (r *row) value(at sym.Expr) te.Expr {
	m := maps.Clone(r.first)
	m[r.axis.Var] = at
	return loop.SubstIndices(r.n.Values[0], m, r.n.Facts)
}

func (r *row) part(at sym.Expr) loop.Mem { return loop.Mem{Buf: r.parts, Index: at} }

// each runs statements for so many lanes.
func (r *row) each(lanes sym.Expr, body ...loop.Stmt) []loop.Stmt {
	return Loops([]te.Axis{{Var: r.lane, Extent: lanes}}, body)
}

// vectors joins all whole vectors of the row in registers, and stores one vector.
func (r *row) vectors() []loop.Stmt {
	n := r.n
	accs := make([]te.Expr, r.number)
	var body []loop.Stmt
	for i := range accs {
		acc := loop.Ref{Name: n.accName(i + 1), Type: r.parts.Type}
		accs[i], body = acc, append(body, loop.Def{Name: acc.Name, Init: n.Combiner.Init[0]})
	}
	lane := sym.Var(r.lane)
	take := func(i int64, at sym.Expr) loop.Stmt {
		return loop.Set{Name: accs[i].(loop.Ref).Name, Value: r.join(accs[i], r.value(sym.Add(at, lane)))}
	}
	width, whole := sym.Const(r.width), sym.Const(r.width*r.number)
	steps := te.Axis{Var: stepVar + n.tag, Extent: sym.FloorDiv(r.axis.Extent, whole, n.Facts)}
	n.AddRanges([]te.Axis{steps})
	var step []loop.Stmt
	for i := range r.number {
		first := sym.Scale(sym.Var(steps.Var), r.width*r.number)
		if steps.Extent.Is(1) {
			first = sym.Const(0)
		}
		step = append(step, take(i, sym.Add(first, sym.Const(i*r.width))))
	}
	if !steps.Extent.Is(1) {
		step = []loop.Stmt{loop.For{Var: steps.Var, Extent: steps.Extent, Body: step}}
	}
	done := sym.Mul(steps.Extent, whole)
	if r.known {
		first, _ := done.Const()
		left := r.length/r.width - first/r.width
		for i := range left {
			step = append(step, take(i, sym.Const(first+i*r.width)))
		}
		if r.overlaps() {
			step = append(step, take(left%r.number, sym.Const(r.length-r.width)))
		}
	} else {
		rest := te.Axis{Var: rowRestVar + n.tag, Extent: sym.FloorDiv(sym.Sub(r.axis.Extent, done), width, n.Facts)}
		n.AddRanges([]te.Axis{rest})
		step = append(step, loop.For{Var: rest.Var, Extent: rest.Extent, Body: []loop.Stmt{take(0, sym.Add(done, sym.Scale(sym.Var(rest.Var), r.width)))}})
	}
	body = append(body, Loops(r.outer, step)...)
	for len(accs) > 1 {
		half := (len(accs) + 1) / 2
		for i := half; i < len(accs); i++ {
			accs[i-half] = r.join(accs[i-half], accs[i])
		}
		accs = accs[:half]
	}
	body = append(body, loop.Store{Buf: r.parts, Index: lane, Value: accs[0]})
	out := r.each(width, body...)
	if !r.known {
		first := sym.Scale(sym.FloorDiv(r.axis.Extent, width, n.Facts), r.width)
		out = append(out, r.rest(first, sym.Sub(r.axis.Extent, first))...)
	}
	return out
}

// rest joins so many points of the row, fewer than a vector's, into the first partial accumulators.
func (r *row) rest(first, points sym.Expr) []loop.Stmt {
	at := sym.Var(r.lane)
	return Loops(r.outer, r.each(points, loop.Store{Buf: r.parts, Index: at, Value: r.join(r.part(at), r.value(sym.Add(first, at)))}))
}

// halve joins the second half of the partial accumulators into the first, until two are left: as vectors, and each sum
// waits for a few others instead of all before it. What the row has behind its whole vectors joins where so many are left.
func (r *row) halve() []loop.Stmt {
	var out []loop.Stmt
	at := sym.Var(r.lane)
	for w := r.width / 2; w > 1; w /= 2 {
		out = append(out, r.each(sym.Const(w), loop.Store{Buf: r.parts, Index: at, Value: r.join(r.part(at), r.part(sym.Add(at, sym.Const(w))))})...)
		if r.known && r.length%(2*w) >= w && !r.overlaps() {
			out = append(out, r.rest(sym.Const(r.length-r.length%(2*w)), sym.Const(w))...)
		}
	}
	return out
}
