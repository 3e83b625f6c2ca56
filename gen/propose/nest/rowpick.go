package nest

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// A reduction that picks a point, as the greatest element and where it is, has a tuple of accumulators: the element, and numbers that count along the row.
// Each lane picks among the points that it sees, in vectors of elements and vectors of numbers, and then lanes are picked among. Which of two equal elements
// is picked the numbers decide, so that neither the order of points nor one that is seen twice makes a difference.

// picks are the combiners that pick the same point in any order.
var picks = map[string]bool{"argmax": true, "argmin": true}

// pickPoint computes one element, in vectors where the row has as many points as one has lanes.
func (n *Nest) pickPoint() []loop.Stmt {
	p, all := n.pick(), *n
	p.row, all.within = n.row(), nil
	size := int64(1)
	for _, t := range p.types {
		size = max(size, int64(t.Size()))
	}
	p.width = min(p.width, max(n.lanes*int64(ir.F32.Size())/size, fewPoints))
	if _, most := p.axis.Extent.Bounds(n.Facts); most < p.width {
		return n.boundedPoint(all.point())
	}
	if p.number = 1; p.known {
		p.number = min(partials, p.length/p.width)
	}
	var body []loop.Stmt
	for k, t := range p.types {
		p.bufs = append(p.bufs, n.Local(fmt.Sprintf("s%dpart%s", k, n.tag), t, sym.Const(p.width)))
		body = append(body, loop.Alloc{Buf: p.bufs[k]})
	}
	body = append(append(body, p.vectors()...), p.halve()...)
	if !p.known {
		whole := []te.Within{{E: p.axis.Extent, Lo: sym.Const(p.width), Hi: sym.Add(p.axis.Extent, sym.Const(1))}}
		body = []loop.Stmt{loop.If{Cond: whole, Then: body, Else: all.point()}}
	}
	return n.boundedPoint(body)
}

// tuple are the values of a point of the row.
func (p *pick) tuple(at sym.Expr) []te.Expr {
	out := make([]te.Expr, len(p.types))
	for k, v := range p.n.Values {
		v = loop.SubstIndices(v, map[string]sym.Expr{p.axis.Var: at}, p.n.Facts)
		if x, ok := v.(te.Index); ok {
			x.Type = p.types[k]
			v = x
		}
		out[k] = v
	}
	return out
}

// define gives expressions names.
func (p *pick) define(values []te.Expr) (body []loop.Stmt, names []te.Expr) {
	for _, v := range values {
		name := fmt.Sprintf("s%dbest%s", p.defined, p.n.tag)
		p.defined++
		body, names = append(body, loop.Def{Name: name, Init: v}), append(names, loop.Ref{Name: name, Type: v.DType()})
	}
	return body, names
}

// better are the components of the better one of two tuples, behind statements that compute which one it is.
func (p *pick) better(take te.Expr, in, acc []te.Expr) (body []loop.Stmt, out []te.Expr) {
	body, in = p.define(in)
	cond := te.Map(take, func(e te.Expr) te.Expr {
		switch x := e.(type) {
		case te.Acc:
			return acc[x.N]
		case te.In:
			return in[x.N]
		}
		return e
	})
	test, is := p.define([]te.Expr{cond})
	for k, t := range p.types {
		out = append(out, te.Fn(t, "select", is[0], in[k], acc[k]))
	}
	return append(body, test...), out
}

// takeBetter gives accumulators that are variables the better tuple.
func (p *pick) takeBetter(take te.Expr, in, acc []te.Expr) []loop.Stmt {
	body, out := p.better(take, in, acc)
	for k, v := range out {
		body = append(body, loop.Set{Name: acc[k].(loop.Ref).Name, Value: v})
	}
	return body
}

// vectors picks lane by lane among all points: the first ones of a lane are what it has picked to begin with, and where the row is no whole number of vectors,
// the last vector overlaps the one before.
func (p *pick) vectors() []loop.Stmt {
	lane, stride := sym.Var(p.lane), sym.Const(p.width*p.number)
	var body, step []loop.Stmt
	best := make([][]te.Expr, p.number)
	at := func(first sym.Expr, i int64) sym.Expr { return sym.Add(first, sym.Const(i*p.width), lane) }
	for i := range best {
		var first []loop.Stmt
		first, best[i] = p.define(p.tuple(at(sym.Const(0), int64(i))))
		body = append(body, first...)
	}
	steps := te.Axis{Var: stepVar + p.n.tag, Extent: sym.Sub(sym.FloorDiv(p.axis.Extent, stride, p.n.Facts), sym.Const(1))}
	p.n.AddRanges([]te.Axis{steps})
	for i, b := range best {
		first := sym.Scale(sym.Add(sym.Var(steps.Var), sym.Const(1)), p.width*p.number)
		step = append(step, p.takeBetter(p.later, p.tuple(at(first, int64(i))), b)...)
	}
	if !steps.Extent.Is(0) {
		body = append(body, loop.For{Var: steps.Var, Extent: steps.Extent, Body: step})
	}
	next := 0
	take := func(first sym.Expr) {
		body = append(body, p.takeBetter(p.later, p.tuple(sym.Add(first, lane)), best[next%len(best)])...)
		next++
	}
	for first := p.length - p.length%(p.width*p.number); first+p.width <= p.length; first += p.width {
		take(sym.Const(first))
	}
	if !p.known || p.length%p.width > 0 {
		take(sym.Sub(p.axis.Extent, sym.Const(p.width)))
	}
	body = append(body, p.join(best)...)
	return p.each(sym.Const(p.width), append(body, p.keep(lane, best[0])...)...)
}

// join picks among tuples, the first half and the second, until the first one is what is picked of all.
func (p *pick) join(best [][]te.Expr) []loop.Stmt {
	var body []loop.Stmt
	for len(best) > 1 {
		half := (len(best) + 1) / 2
		for i := half; i < len(best); i++ {
			body = append(body, p.takeBetter(p.take, best[i], best[i-half])...)
		}
		best = best[:half]
	}
	return body
}

// keep stores a tuple.
func (p *pick) keep(at sym.Expr, tuple []te.Expr) []loop.Stmt {
	var body []loop.Stmt
	for k, v := range tuple {
		body = append(body, loop.Store{Buf: p.bufs[k], Index: at, Value: v})
	}
	return body
}

// kept are the tuples that were stored.
func (p *pick) kept(at sym.Expr) []te.Expr {
	out := make([]te.Expr, len(p.bufs))
	for k, b := range p.bufs {
		out[k] = loop.Mem{Buf: b, Index: at}
	}
	return out
}

// halve picks among lanes, the first half and the second, until one is left, and stores the results.
func (p *pick) halve() []loop.Stmt {
	var out []loop.Stmt
	for w := p.width / 2; w > 1; w /= 2 {
		at := sym.Var(p.lane)
		acc, names := p.define(p.kept(at))
		body, better := p.better(p.take, p.kept(sym.Add(at, sym.Const(w))), names)
		out = append(out, p.each(sym.Const(w), append(append(acc, body...), p.keep(at, better)...)...)...)
	}
	acc, names := p.define(p.kept(sym.Const(0)))
	body, best := p.better(p.take, p.kept(sym.Const(1)), names)
	out = append(append(out, acc...), body...)
	return append(out, p.results(best)...)
}

// results stores those of a tuple.
func (p *pick) results(best []te.Expr) []loop.Stmt {
	return p.n.Stores(func(k int) te.Expr {
		if t := p.n.Values[k].DType(); t != p.types[k] {
			return te.Fn(t, "cast", best[k])
		}
		return best[k]
	}, p.n.At)
}
