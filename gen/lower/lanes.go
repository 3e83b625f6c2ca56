package lower

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// laneAxis is the innermost axis, when a reduction may run outside of it: its
// accumulators then lie side by side, and are vectors.
func (n *nest) laneAxis(inner []te.Axis) (te.Axis, bool) {
	if n.combiner == nil || len(inner) == 0 || len(n.within) > 0 {
		return te.Axis{}, false
	}
	a := inner[len(inner)-1]
	for _, b := range n.trimmed {
		if b.uses(a.Var) {
			return te.Axis{}, false // each element has a window of its own
		}
	}
	c, ok := a.Extent.Const()
	return a, ok && c > 1 && c <= maxLanes
}

// lanePoint computes all elements of the innermost axis at once: as vectors in registers where
// the axis is one vector long, and otherwise in arrays.
func (n *nest) lanePoint(a te.Axis) []loop.Stmt {
	if c, _ := a.Extent.Const(); loop.IsVector(c, n.lanes) {
		one := loop.For{Var: a.Var, Extent: a.Extent, Body: n.point()}
		if loop.CanVectorise(one, n.target.VectorTypes(), n.facts) {
			if sums := n.laneSums(a); sums != nil {
				return sums
			}
			return []loop.Stmt{one}
		}
	}
	var body, first, set []loop.Stmt
	at := sym.Var(a.Var)
	bufs := make([]*loop.Buffer, len(n.values))
	for k, v := range n.values {
		bufs[k] = n.local(n.accName(k), v.DType(), a.Extent)
		body = append(body, loop.Alloc{Buf: bufs[k]})
		first = append(first, loop.Store{Buf: bufs[k], Index: at, Value: n.combiner.Init[k]})
		set = append(set, loop.Store{Buf: bufs[k], Index: at, Value: n.newValue(k, v)})
	}
	acc := func(k int) te.Expr { return loop.Mem{Buf: bufs[k], Index: at} }
	lane := []te.Axis{a}
	body = append(body, loops(lane, first)...)
	body = append(body, n.reduceLoops(loops(lane, append(n.joined(n.values, acc), set...)))...)
	return append(body, loops(lane, n.stores(acc, n.at))...)
}

func (n *nest) local(name string, t ir.DType, size sym.Expr) *loop.Buffer {
	return &loop.Buffer{Name: name, Type: t, Write: true, Local: true, Size: size}
}

// Variables of a reduction along a row.
const (
	stepVar = "rs" // step of partial accumulators
	partVar = "rp" // partial accumulator
)

// partials is how many vectors of partial accumulators hide an addition's latency.
const partials = 4

// rowReduction reports whether the innermost reduction axis walks memory, so that partial
// accumulators side by side make vectors; the elements themselves do not lie so.
func (n *nest) rowReduction(axes []te.Axis) bool {
	if n.combiner == nil || len(n.values) != 1 || !reorders[n.combiner.Name] || n.lanes < 2 || len(n.trimmed) > 0 || len(n.reduce) == 0 {
		return false
	}
	r := n.reduce[len(n.reduce)-1]
	if c, ok := r.Extent.Const(); ok && c < n.lanes {
		return false
	}
	return loop.VectorExpr(n.values[0], r.Var, n.target.VectorTypes(), n.facts)
}

// reorders are the combiners whose partial results join as values do.
var reorders = map[string]bool{"sum": true, "max": true, "min": true, "prod": true}

// rowPoint computes one element from partial accumulators, which it joins in a fixed order: the
// result does not depend on who computes it.
func (n *nest) rowPoint() []loop.Stmt {
	r := n.reduce[len(n.reduce)-1]
	width := n.lanes * partials
	if c, ok := r.Extent.Const(); ok && c < width {
		width = n.lanes
	}
	w := sym.Const(width)
	partVar, stepVar := partVar+n.tag, stepVar+n.tag
	n.addRanges([]te.Axis{{Var: partVar, Extent: w}, {Var: stepVar, Extent: sym.FloorDiv(r.Extent, w, n.facts)}})
	parts := n.local("part"+n.tag, n.values[0].DType(), w)
	part := loop.Mem{Buf: parts, Index: sym.Var(partVar)}
	parted := func(extent, at sym.Expr) []loop.Stmt {
		v := substMem(n.values[0], map[string]sym.Expr{r.Var: sym.Add(at, sym.Var(partVar))}, n.facts)
		body := append(n.joined([]te.Expr{v}, func(int) te.Expr { return part }), loop.Store{Buf: parts, Index: part.Index, Value: n.newValue(0, v)})
		return loops([]te.Axis{{Var: partVar, Extent: extent}}, body)
	}
	steps := sym.FloorDiv(r.Extent, w, n.facts)
	at := sym.Scale(sym.Var(stepVar), width)
	if steps.Is(1) {
		at = sym.Const(0)
	}
	row := loops([]te.Axis{{Var: stepVar, Extent: steps}}, parted(w, at))
	if rest := sym.Sub(r.Extent, sym.Scale(steps, width)); !rest.Is(0) {
		row = append(row, parted(rest, sym.Scale(steps, width))...)
	}
	each := []te.Axis{{Var: partVar, Extent: w}}
	body := []loop.Stmt{loop.Alloc{Buf: parts}}
	body = append(body, loops(each, []loop.Stmt{loop.Store{Buf: parts, Index: part.Index, Value: n.combiner.Init[0]}})...)
	body = append(body, loops(n.reduce[:len(n.reduce)-1], row)...)
	body = append(body, n.halve(parts, width)...)
	acc := func(int) te.Expr { return loop.Ref{Name: n.accName(0), Type: n.values[0].DType()} }
	body = append(body, loop.Def{Name: n.accName(0), Init: n.lastTwo(parts)})
	body = append(body, n.stores(acc, n.at)...)
	if len(n.within) == 0 {
		return body
	}
	return []loop.Stmt{loop.If{Cond: n.within, Then: body, Else: n.zeros(n.at)}}
}

// halve joins the second half of the partial accumulators into the first, until two are left: as vectors, and each sum
// waits for a few others instead of all before it.
func (n *nest) halve(parts *loop.Buffer, width int64) []loop.Stmt {
	var out []loop.Stmt
	at := sym.Var(partVar + n.tag)
	first := loop.Mem{Buf: parts, Index: at}
	for w := width / 2; w > 1; w /= 2 {
		second := loop.Mem{Buf: parts, Index: sym.Add(at, sym.Const(w))}
		join := append(n.joined([]te.Expr{second}, func(int) te.Expr { return first }), loop.Store{Buf: parts, Index: at, Value: n.newValue(0, second)})
		out = append(out, loops([]te.Axis{{Var: partVar + n.tag, Extent: sym.Const(w)}}, join)...)
	}
	return out
}

// lastTwo joins the two partial accumulators that halve leaves.
func (n *nest) lastTwo(parts *loop.Buffer) te.Expr {
	part := func(i int64) te.Expr { return loop.Mem{Buf: parts, Index: sym.Const(i)} }
	joined := n.joined([]te.Expr{part(1)}, func(int) te.Expr { return part(0) })
	return joined[len(joined)-1].(loop.Def).Init
}
