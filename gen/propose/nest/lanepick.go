package nest

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// lanePick computes the vector of elements along the axis, each of which picks one of the points of a column: from several vectors of tuples that take points in turns,
// so that a comparison does not wait for the one before it, with numbers of no more bits than they need. It is nil where the reduction picks no point, or has few.
func (n *Nest) lanePick(a te.Axis) []loop.Stmt {
	p := n.pick()
	if p == nil || len(n.trimmed) > 0 || len(n.fills) > 0 {
		return nil
	}
	p.row = &row{n: n, axis: n.Reduce[0], number: partials}
	length, known := p.axis.Extent.Const()
	if !known || length < 2*p.number {
		return nil
	}
	var body, step []loop.Stmt
	best := make([][]te.Expr, p.number)
	for i := range best {
		var first []loop.Stmt
		first, best[i] = p.define(p.tuple(sym.Const(int64(i))))
		body = append(body, first...)
	}
	steps := te.Axis{Var: stepVar + n.tag, Extent: sym.Const(length/p.number - 1)}
	n.AddRanges([]te.Axis{steps})
	for i, b := range best {
		at := sym.Add(sym.Scale(sym.Add(sym.Var(steps.Var), sym.Const(1)), p.number), sym.Const(int64(i)))
		step = append(step, p.takeBetter(p.later, p.tuple(at), b)...)
	}
	body = append(body, loop.For{Var: steps.Var, Extent: steps.Extent, Body: step})
	for i := length - length%p.number; i < length; i++ {
		body = append(body, p.takeBetter(p.later, p.tuple(sym.Const(i)), best[i%p.number])...)
	}
	one := loop.For{Var: a.Var, Extent: a.Extent, Body: append(append(body, p.join(best)...), p.results(best[0])...)}
	if !loop.CanVectorise(one, lower.Vectors(n.target), n.Facts) {
		return nil
	}
	return []loop.Stmt{one}
}
