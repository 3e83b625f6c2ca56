// Package reshape cuts and joins axes of stages whose values lie row-major.
package reshape

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/match"
)

// Reshaped is a stage and its operands with axes cut and joined: its results lie in memory as before, row-major, and so do its operands,
// whose shapes follow.
type Reshaped struct {
	te.Stage
	Operands []*ir.Value
	Facts    sym.Facts
}

// Reshape cuts the axes that loads read only as axis // size, and joins neighbours that all of them walk as one.
func Reshape(s *te.Stage, operands []*ir.Value, symbols sym.Facts) *Reshaped {
	r := Plain(s, operands, symbols)
	r.Cut(r.shared)
	for i := len(r.Axes) - 2; i >= 0; i-- {
		r.join(i)
	}
	return r
}

// JoinWithin joins neighbours that lie side by side in a layout that puts one axis last, as they do row-major: those that follow the axis.
func (r *Reshaped) JoinWithin(lay layout.Layout) {
	for i := len(r.Axes) - 2; i > lay.Lane(len(r.Axes)); i-- {
		r.join(i)
	}
}

// Plain fixes axes of one point alone.
func Plain(s *te.Stage, operands []*ir.Value, symbols sym.Facts) *Reshaped {
	r := &Reshaped{Stage: *s, Operands: slices.Clone(operands), Facts: maps.Clone(symbols)}
	if r.Facts == nil {
		r.Facts = sym.Facts{}
	}
	r.dropUnits()
	return r
}

// dropUnits fixes axes of one point, and removes those of the reduction.
func (r *Reshaped) dropUnits() {
	zero := map[string]sym.Expr{}
	for _, a := range slices.Concat(r.Axes, r.Reduce) {
		if a.Extent.Is(1) {
			zero[a.Var] = sym.Const(0)
		}
	}
	r.subst(zero)
	r.Reduce = slices.DeleteFunc(slices.Clone(r.Reduce), func(a te.Axis) bool { return a.Extent.Is(1) })
}

func (r *Reshaped) subst(m map[string]sym.Expr) {
	r.mapAll(func(e te.Expr) te.Expr { return te.SubstIndices(e, m, r.Facts) })
}

func (r *Reshaped) mapAll(f func(te.Expr) te.Expr) {
	r.Values, r.Results = slices.Clone(r.Values), slices.Clone(r.Results)
	for _, es := range [][]te.Expr{r.Values, r.Results} {
		for i, e := range es {
			es[i] = f(e)
		}
	}
}

// Cut makes two axes of one of which so many neighbours share an operand's elements, as the channels of a group do; 0: it stays as it is.
func (r *Reshaped) Cut(shared func(te.Axis) int64) {
	var axes []te.Axis
	m := map[string]sym.Expr{}
	next := func(extent sym.Expr) sym.Expr {
		a := te.Axis{Var: fmt.Sprintf("i%d", len(axes)), Extent: extent}
		_, hi := extent.Bounds(r.Facts)
		r.Facts[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		axes = append(axes, a)
		return sym.Var(a.Var)
	}
	for _, a := range r.Axes {
		size := shared(a)
		if size < 1 {
			m[a.Var] = next(a.Extent)
			continue
		}
		n, _ := a.Extent.Const()
		outer := next(sym.Const(n / size))
		m[a.Var] = sym.Add(sym.Scale(outer, size), next(sym.Const(size)))
	}
	r.Axes = axes
	for _, a := range r.Reduce {
		_, hi := a.Extent.Bounds(r.Facts)
		r.Facts[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	}
	r.subst(m)
}

// shared is how many neighbours of an axis read the same elements of a factor, if there are several such sets; else 0.
func (r *Reshaped) shared(a te.Axis) int64 {
	size := int64(0)
	for _, v := range r.Values {
		te.Walk(v, func(e te.Expr) {
			if l, ok := e.(te.Load); ok && size == 0 {
				size = match.GroupSize(l, a)
			}
		})
	}
	if n, known := a.Extent.Const(); !known || size == n {
		return 0
	}
	return size
}

// join makes one axis of axes i and i+1 where all that reads an operand along them walks two neighbouring dimensions of it whole.
func (r *Reshaped) join(i int) {
	a, b := r.Axes[i], r.Axes[i+1]
	if a.Extent.Is(1) || b.Extent.Is(1) {
		return
	}
	dims := map[int]int{} // of operands, the first of the two; -1: neither is walked
	ok := true
	for _, e := range slices.Concat(r.Values, r.Results) {
		te.Walk(e, func(e te.Expr) {
			l, isLoad := e.(te.Load)
			if !isLoad {
				te.EachIndex(e, func(x sym.Expr) { ok = ok && !x.Uses(a.Var) && !x.Uses(b.Var) })
				return
			}
			d := r.pair(l, a, b)
			if before, seen := dims[l.Source.N]; d < -1 || seen && before != d {
				ok = false
			}
			dims[l.Source.N] = d
		})
	}
	if !ok {
		return
	}
	for n, d := range dims {
		if d >= 0 {
			v := *r.Operands[n]
			v.Shape = slices.Concat(v.Shape[:d], ir.Shape{sym.Mul(a.Extent, b.Extent)}, v.Shape[d+2:])
			r.Operands[n] = &v
		}
	}
	r.mapAll(func(e te.Expr) te.Expr {
		return te.Map(e, func(e te.Expr) te.Expr {
			l, isLoad := e.(te.Load)
			if isLoad && dims[l.Source.N] >= 0 {
				d := dims[l.Source.N]
				l.Index = slices.Concat(l.Index[:d], l.Index[d+1:])
				return l
			}
			return e
		})
	})
	joint := te.Axis{Var: b.Var, Extent: sym.Mul(a.Extent, b.Extent)}
	_, hi := joint.Extent.Bounds(r.Facts)
	r.Facts[b.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	r.Axes = slices.Concat(r.Axes[:i], []te.Axis{joint}, r.Axes[i+2:])
}

// pair is the dimension of a load that the first axis walks whole where the second one walks the next; -1 where it uses neither, -2 otherwise.
func (r *Reshaped) pair(l te.Load, a, b te.Axis) int {
	for _, g := range l.Guard {
		if g.E.Uses(a.Var) || g.E.Uses(b.Var) {
			return -2
		}
	}
	at := -1
	for d, e := range l.Index {
		if !e.Uses(a.Var) && !e.Uses(b.Var) {
			continue
		}
		if at >= 0 {
			if d != at+1 {
				return -2
			}
			continue
		}
		shape := r.Operands[l.Source.N].Shape
		if d+1 == len(l.Index) || !e.Equal(sym.Var(a.Var)) || !l.Index[d+1].Equal(sym.Var(b.Var)) || !shape[d].Equal(a.Extent) || !shape[d+1].Equal(b.Extent) {
			return -2
		}
		at = d
	}
	return at
}
