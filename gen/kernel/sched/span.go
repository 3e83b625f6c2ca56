package sched

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Work is what a schedule is of: stages, the last of which gives the results of the block, and its operands.
type Work struct {
	Stages   []*te.Stage
	Operands []*ir.Value
	// Facts are the ranges of symbols.
	Facts sym.Facts
}

// Span is what loops walk: an axis of a stage, or of its reduction, a part of a split one, or a join of some.
type Span struct {
	Name   string
	Axes   []te.Axis
	Reduce bool
	// Step is how many points of its axis a point is.
	Step int64
	// Extent points are computed, from First on; parts of a split axis are counted from where its region begins (Stage.Begin).
	Extent, First sym.Expr
	// Loops are the numbers of those that walk it, outermost first.
	Loops []int
}

// Spans are what the stage's loops walk, in the order of its axes, those of the reduction last.
func (s *Stage) Spans(st *te.Stage) ([]Span, error) {
	out := make([]Span, 0, len(st.Axes)+len(st.Reduce)+len(s.Splits))
	for i, axes := range [2][]te.Axis{st.Axes, st.Reduce} {
		for k, a := range axes {
			if s.joined(a.Var) {
				continue
			}
			p := Span{Name: a.Var, Axes: axes[k : k+1 : k+1], Reduce: i == 1, Step: 1, Extent: a.Extent}
			r, x := s.region(a.Var), s.split(a.Var)
			if r != nil {
				p.Extent = sym.Const(r.Extent)
			}
			if r != nil && x == nil {
				p.First = r.First
			}
			if x != nil {
				if x.Size < 1 || r != nil && (r.Extent%x.Size != 0 || x.ragged(a)) {
					return nil, fmt.Errorf("split of %s into parts of %d; want an axis computed as a whole, or whole parts of it", a.Var, x.Size)
				}
				if p.Name, p.Step, p.Extent = x.Outer, x.Size, sym.CeilDiv(p.Extent, sym.Const(x.Size), nil); !s.joined(x.Outer) {
					out = append(out, p)
				}
				p.Name, p.Step, p.Extent = x.Inner, 1, sym.Const(x.Size)
			}
			out = append(out, p)
		}
	}
	for _, j := range s.Joins {
		p, err := s.join(st, j)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	for i, l := range s.Loops {
		k := slices.IndexFunc(out, func(p Span) bool { return p.Name == l.Axis })
		if k < 0 {
			return nil, fmt.Errorf("loop %s walks %q, which is not an axis of the stage", l.Var, l.Axis)
		}
		out[k].Loops = append(out[k].Loops, i)
	}
	return out, nil
}

// joined reports whether an axis, or a part of one, is walked with others.
func (s *Stage) joined(name string) bool {
	return slices.ContainsFunc(s.Joins, func(j Join) bool { return slices.Contains(j.Axes, name) })
}

// parts is how many there are of an axis.
func (x *Split) parts(a te.Axis) sym.Expr { return sym.CeilDiv(a.Extent, sym.Const(x.Size), nil) }

// ragged reports whether the last part of an axis may have fewer points than others.
func (x *Split) ragged(a te.Axis) bool {
	return !sym.Scale(x.parts(a), x.Size).Equal(a.Extent)
}

// pieces are axes, or the outer parts of those that are split.
func (s *Stage) pieces(axes []te.Axis) []te.Axis {
	out := slices.Clone(axes)
	for i, a := range axes {
		if x := s.split(a.Var); x != nil {
			out[i] = te.Axis{Var: x.Outer, Extent: x.parts(a)}
		}
	}
	return out
}

// join finds neighbouring axes.
func (s *Stage) join(st *te.Stage, j Join) (Span, error) {
	for i, axes := range [][]te.Axis{s.pieces(st.Axes), s.pieces(st.Reduce)} {
		first := slices.IndexFunc(axes, func(a te.Axis) bool { return len(j.Axes) > 0 && a.Var == j.Axes[0] })
		if first < 0 || first+len(j.Axes) > len(axes) {
			continue
		}
		p := Span{Name: j.Name, Reduce: i == 1, Step: 1, Extent: sym.Const(1)}
		for k, a := range axes[first : first+len(j.Axes)] {
			if a.Var != j.Axes[k] || s.region(a.Var) != nil {
				return p, fmt.Errorf("join %s: %v are not consecutive axes computed as a whole", j.Name, j.Axes)
			}
			p.Axes, p.Extent = append(p.Axes, a), sym.Mul(p.Extent, a.Extent)
		}
		return p, nil
	}
	return Span{}, fmt.Errorf("join %s: %v are not consecutive axes of the stage", j.Name, j.Axes)
}

// Within is how many points of its span one iteration of loop i stands for.
func (s *Stage) Within(i int) int64 {
	n := int64(1)
	for _, l := range s.Loops[i+1:] {
		if l.Axis == s.Loops[i].Axis {
			n *= max(l.Size, 1)
		}
	}
	return n
}

// Count is how many iterations loop i has that walks all that is left of its span: of a loop whose Last part it computes besides,
// as many as the whole iterations of that one take.
func (s *Stage) Count(p Span, i int, f sym.Facts) sym.Expr {
	for k := i + 1; k < len(s.Loops); k++ {
		if l := s.Loops[k]; l.Axis == p.Name && l.Edge == Last {
			n := sym.FloorDiv(p.Extent, sym.Const(s.Within(k)), f)
			return sym.Max(sym.Const(1), sym.CeilDiv(n, sym.Const(l.Size), f), f)
		}
	}
	return sym.CeilDiv(p.Extent, sym.Const(s.Within(i)), f)
}

// Point is the span's point in the variables of its loops, from its first on.
func (s *Stage) Point(p Span) sym.Expr {
	e := sym.Const(0)
	for _, i := range p.Loops {
		e = sym.Add(e, sym.Scale(sym.Var(s.Loops[i].Var), s.Within(i)))
	}
	return e
}

// Coordinates are the stage's axes, and the parts of those that are split, in the variables of loops.
func (s *Stage) Coordinates(spans []Span, f sym.Facts) map[string]sym.Expr {
	out := map[string]sym.Expr{}
	for _, p := range spans {
		rest := s.Point(p)
		for k := len(p.Axes) - 1; k > 0; k-- {
			a := p.Axes[k]
			out[a.Var], rest = sym.Mod(rest, a.Extent, f), sym.FloorDiv(rest, a.Extent, f)
		}
		v := p.Axes[0].Var
		if last := len(p.Axes) - 1; last == 0 && p.Name != v {
			out[p.Name] = rest
		}
		out[v] = sym.Add(out[v], p.First, sym.Scale(rest, p.Step))
		if p.Name != v && p.Step == 1 { // once, with the inner part
			out[v] = sym.Add(out[v], s.Begin(v))
		}
	}
	s.Whole(spans, out)
	return out
}

// Begin is the first point that is computed of an axis which is split: that of its region.
func (s *Stage) Begin(axis string) sym.Expr {
	if r := s.region(axis); r != nil && s.split(axis) != nil {
		return r.First
	}
	return sym.Const(0)
}

// Whole adds to the points of axes what joined parts of them contribute.
func (s *Stage) Whole(spans []Span, at map[string]sym.Expr) {
	for _, p := range spans {
		for _, a := range p.Axes {
			if x := s.outer(a.Var); x != nil {
				at[x.Axis] = sym.Add(at[x.Axis], sym.Scale(at[a.Var], x.Size))
			}
		}
	}
}

// JoinedParts are the axes of a span that are outer parts of split ones.
func (s *Stage) JoinedParts(p Span) []te.Axis {
	if len(s.Splits) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Axes), func(a te.Axis) bool { return s.outer(a.Var) == nil })
}

// Parted is the split whose outer part a span is, or nil.
func (s *Stage) Parted(p Span) *Split {
	if len(p.Axes) > 1 {
		return nil
	}
	return s.outer(p.Name)
}

// RoundsUp reports whether loops over the outer part of a split go on beyond its axis: whole parts are computed.
func (s *Stage) RoundsUp(x *Split) bool {
	return slices.ContainsFunc(s.Loops, func(l Loop) bool { return l.Axis == x.Outer && l.Edge == RoundUp })
}

// Cut is the split of whose last part a loop over the inner part has only what is there, or nil.
func (s *Stage) Cut(i int) *Split {
	if l := s.Loops[i]; l.Edge == Clip && l.Size == 0 {
		return s.inner(l.Axis)
	}
	return nil
}

// Looped is an index over axes, and parts of axes, in the variables of loops, of which some are fixed; at are their Coordinates. Axes that
// run as one, and that the index walks as one, are not taken apart.
func (s *Stage) Looped(e sym.Expr, spans []Span, at, fixed map[string]sym.Expr, f sym.Facts) sym.Expr {
	if v, ok := e.AsVar(); ok {
		if x, ok := at[v]; ok {
			e = x
		}
		return e.Subst(fixed, f)
	}
	for _, p := range spans {
		if last := len(p.Axes) - 1; last > 0 && !s.stored(p) && walkedAsOne(e, p.Axes, f) {
			at = maps.Clone(at)
			for _, a := range p.Axes[:last] {
				at[a.Var] = sym.Const(0)
			}
			at[p.Axes[last].Var] = s.Point(p)
		}
	}
	if e = e.Subst(at, f); len(fixed) > 0 {
		e = e.Subst(fixed, f)
	}
	return e
}

// stored reports whether loops of a span walk what is stored, in an order of its own.
func (s *Stage) stored(p Span) bool {
	return slices.ContainsFunc(p.Loops, func(i int) bool { return s.Loops[i].Stored })
}

// walkedAsOne reports whether an index goes on from the end of each axis to its next point, as within it.
func walkedAsOne(e sym.Expr, axes []te.Axis, facts sym.Facts) bool {
	for k := 1; k < len(axes); k++ {
		outer, ok := sym.Coefficient(e, axes[k-1].Var, facts)
		inner, ok1 := sym.Coefficient(e, axes[k].Var, facts)
		if !ok || !ok1 || !sym.Mul(inner, axes[k].Extent).Equal(outer) {
			return false
		}
	}
	return true
}

// Shape are the extents of what is stored of the stage: of its regions, and of its last points along an axis that is folded.
func (s *Stage) Shape(st *te.Stage, fold Fold) ir.Shape {
	out := st.Shape()
	for i, a := range st.Axes {
		if r := s.region(a.Var); r != nil {
			out[i] = sym.Const(r.Extent)
		}
	}
	if fold.Points > 0 {
		out[fold.Axis] = sym.Const(int64(fold.Points))
	}
	return out
}
