package te

import (
	"maps"
	"slices"
	"sort"

	"rules_dnn/gen/ir/sym"
)

// Narrow is the stage as it is under facts that hold in some runs only: extents that have one value are that value, conditions
// that always hold are gone, and reduction axes run over the points that add something. Of a 3x3 convolution with padding, of images
// of one pixel, the tap in the middle is left. What is left out is multiplied by the padding's zeros: an infinite weight does not make
// a NaN of them. Micro-kernels that leave out padding of dilated taps do the same.
func (s *Stage) Narrow(f sym.Facts) *Stage {
	if s.Update != nil {
		return s
	}
	n := narrowing{all: maps.Clone(f), indices: maps.Clone(f)}
	out := *s
	out.Axes, out.Reduce = n.axes(s.Axes), n.axes(s.Reduce)
	out.Values, out.Results = n.exprs(s.Values), n.exprs(s.Results)
	for i := range out.Reduce {
		n.trim(&out, i)
	}
	return &out
}

// narrowing is what is known of symbols and axes. Axes of one point stay in indices, as elsewhere.
type narrowing struct{ all, indices sym.Facts }

func (n *narrowing) axes(as []Axis) []Axis {
	out := slices.Clone(as)
	for i := range out {
		a := &out[i]
		a.Extent = a.Extent.Under(n.all)
		_, hi := a.Extent.Bounds(n.all)
		n.all[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		if !a.Extent.Is(1) {
			n.indices[a.Var] = n.all[a.Var]
		}
	}
	return out
}

func (n *narrowing) exprs(es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		indices, all := LetFacts(e, n.indices), LetFacts(e, n.all)
		e = MapIndices(e, func(x sym.Expr) sym.Expr { return x.Under(indices) })
		out[i] = Map(e, func(e Expr) Expr { return decided(e, all) })
	}
	return out
}

// decided is a load or a choice whose conditions always or never hold.
func decided(e Expr, f sym.Facts) Expr {
	switch x := e.(type) {
	case Load:
		if never(x.Guard, f) {
			return x.Default
		}
		if x.Guard = open(x.Guard, f); len(x.Guard) == 0 {
			x.Guard, x.Default = nil, nil
		}
		return x
	case Select:
		switch x.Cond = open(x.Cond, f); {
		case len(x.Cond) == 0:
			return x.Then
		case never(x.Cond, f):
			return x.Else
		}
		return x
	}
	return e
}

// open are the conditions that may not hold.
func open(ws []Within, f sym.Facts) []Within {
	return slices.DeleteFunc(slices.Clone(ws), func(w Within) bool {
		return sym.AtLeast(sym.Sub(w.E, w.Lo), 0, f) && sym.AtMost(sym.Sub(w.E, w.Hi), -1, f)
	})
}

// never reports whether one of the conditions cannot hold.
func never(ws []Within, f sym.Facts) bool {
	return slices.ContainsFunc(ws, func(w Within) bool {
		return sym.AtMost(sym.Sub(w.E, w.Lo), -1, f) || sym.AtLeast(sym.Sub(w.E, w.Hi), 0, f)
	})
}

// trim leaves out the first and the last points of a reduction axis where nothing is added to the accumulators.
func (n *narrowing) trim(s *Stage, i int) {
	a := &s.Reduce[i]
	points, known := a.Extent.Const()
	if !known || points < 2 || s.Combine == nil {
		return
	}
	adds := func(from, to int64) bool {
		here := maps.Clone(n.all)
		here[a.Var] = sym.Range{Lo: from, Hi: to}
		for k, v := range s.Values {
			if !neutral(v, s.Combine.Init[k], s.Combine.Name == "sum", here) {
				return true
			}
		}
		return false
	}
	// What adds nothing is known of all points up to one, or from one on: the more there are, the less.
	first := int64(sort.Search(int(points-1), func(i int) bool { return adds(0, int64(i)) }))
	last := points - 1 - int64(sort.Search(int(points-1-first), func(i int) bool { return adds(points-1-int64(i), points-1) }))
	if last-first+1 == points {
		return
	}
	a.Extent = sym.Const(last - first + 1)
	n.all[a.Var] = sym.Range{Lo: 0, Hi: last - first}
	if delete(n.indices, a.Var); last > first {
		n.indices[a.Var] = n.all[a.Var]
	}
	for k, v := range s.Values {
		s.Values[k] = SubstIndices(v, map[string]sym.Expr{a.Var: sym.Add(sym.Var(a.Var), sym.Const(first))}, n.indices)
	}
	s.Values = n.exprs(s.Values)
}

// neutral reports whether a value is surely the combiner's neutral one; of a sum also a product with zero.
func neutral(e, init Expr, sum bool, f sym.Facts) bool {
	switch x := e.(type) {
	case Const:
		return same(x, init)
	case Load:
		d, ok := x.Default.(Const)
		return ok && same(d, init) && never(x.Guard, f)
	case Call:
		zero := func(a Expr) bool { return neutral(a, Number(a.DType(), 0), true, f) }
		return sum && (x.Fn == "mul" && slices.ContainsFunc(x.Args, zero) || x.Fn == "cast" && zero(x.Args[0]))
	}
	return false
}

// same reports whether two literals of one type are equal.
func same(c Const, e Expr) bool {
	d, ok := e.(Const)
	return ok && c == d
}
