package sched

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// reads checks what a stage reads of others: that it is there, at the points of loops, or at all points of axes.
func (v *verifier) reads(n int) error {
	sc, st := &v.s.Stages[n], v.w.Stages[n]
	at := sc.Coordinates(v.spans[n], v.facts)
	ranges := maps.Clone(v.facts)
	whole := maps.Clone(at) // axes that are computed to their ends and not beyond
	var inside []te.Within  // what holds of coordinates
	for k, p := range v.spans[n] {
		rounded := slices.ContainsFunc(p.Loops, func(i int) bool { return sc.Loops[i].Edge == RoundUp })
		if x := sc.split(p.Axes[0].Var); x != nil && x.Inner == p.Name { // of what is beyond a part nothing is stored
			outer := sym.Var(x.Outer) // of a join
			if k > 0 && v.spans[n][k-1].Name == x.Outer {
				outer = sc.Point(v.spans[n][k-1])
			}
			whole[x.Axis] = sym.Add(sc.Begin(x.Axis), sym.Scale(outer, x.Size), sym.Var(x.Inner))
			ranges[x.Inner] = sym.Range{Lo: 0, Hi: x.Size - 1}
		}
		if rounded || p.Step > 1 {
			continue
		}
		for _, a := range p.Axes {
			if len(p.Axes) == 1 && sc.split(a.Var) == nil {
				inside = append(inside, te.Within{E: at[a.Var], Lo: p.First, Hi: sym.Add(p.First, p.Extent)})
			}
			if _, hi := a.Extent.Bounds(v.facts); sc.region(a.Var) == nil && sc.split(a.Var) == nil {
				whole[a.Var], ranges[a.Var] = sym.Var(a.Var), sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
			}
		}
	}
	for _, e := range distinct(slices.Concat(st.Values, st.Results)) {
		looped, f := fromStages(e, at, v.facts)
		walked, g := fromStages(e, whole, ranges)
		for i, l := range looped {
			for d, e := range walked[i].Index { // axes that run as one may be read as one
				if len(sc.Joins) > 0 {
					l.Index[d] = sc.Looped(e, v.spans[n], at, nil, v.facts)
				}
			}
			l.Guard = slices.Concat(l.Guard, inside)
			there := func(d int, first, extent sym.Expr) bool {
				return within(l, l.Index[d], first, extent, f) || within(walked[i], walked[i].Index[d], first, extent, g)
			}
			if err := v.read(n, l, there); err != nil {
				return err
			}
		}
	}
	return nil
}

// distinct are expressions with the same loads of stages, but of those that are copies of one another each once. What binds integers stays.
func distinct(es []te.Expr) []te.Expr {
	var out []te.Expr
	seen := map[shared]bool{}
	for _, e := range es {
		var loads []te.Expr
		binds := false
		te.Walk(e, func(e te.Expr) {
			switch x := e.(type) {
			case te.Let:
				binds = true
			case te.Load:
				if of := sharedBy(x); x.Source.Stage && (of.index == nil || !seen[of]) {
					loads = append(loads, x)
				}
			}
		})
		if binds {
			out = append(out, e)
			continue
		}
		for _, l := range loads {
			if of := sharedBy(l.(te.Load)); of.index == nil || !seen[of] {
				seen[of] = true
				out = append(out, l)
			}
		}
	}
	return out
}

// shared is what copies of a load have in common: what they read, and the memory of their indices and guards.
type shared struct {
	of     te.Source
	index  *sym.Expr
	guard  *te.Within
	guards int
}

func sharedBy(l te.Load) shared {
	out := shared{of: l.Source, guards: len(l.Guard)}
	if len(l.Index) > 0 {
		out.index = &l.Index[0]
	}
	if len(l.Guard) > 0 {
		out.guard = &l.Guard[0]
	}
	return out
}

// fromStages are the loads of stages in an expression, at other indices, and what is known there.
func fromStages(e te.Expr, at map[string]sym.Expr, f sym.Facts) ([]te.Load, sym.Facts) {
	var out []te.Load
	e = te.SubstIndices(e, at, f)
	te.Walk(e, func(e te.Expr) {
		if l, ok := e.(te.Load); ok && l.Source.Stage {
			out = append(out, l)
		}
	})
	return out, te.LetFacts(e, f)
}

// read checks a load of a stage, at indices over loops' variables; there reports whether an index is always one of the points from first on.
func (v *verifier) read(n int, l te.Load, there func(d int, first, extent sym.Expr) bool) error {
	of := l.Source.N
	if of < 0 || of >= len(v.s.Stages) || l.Source.Part >= len(v.w.Stages[of].Results) || len(l.Index) != len(v.w.Stages[of].Axes) {
		return fmt.Errorf("it reads stage %d, result %d, at %d indices", of, l.Source.Part, len(l.Index))
	}
	sc, st := &v.s.Stages[of], v.w.Stages[of]
	x := v.s.Place(v.w, l.Source)
	folded := x.Fold.Points > 0
	if !v.inScope(n, of, folded) {
		return fmt.Errorf("it reads stage %d, whose memory belongs to an iteration of loop %d.%s; want that loop around the reader", of, sc.At.Stage, sc.At.Loop)
	}
	if of >= n && !folded {
		return fmt.Errorf("it reads stage %d, which is computed later", of)
	}
	for d, e := range l.Index {
		first, extent := sym.Const(0), st.Axes[d].Extent
		r := sc.region(st.Axes[d].Var)
		switch {
		case folded && x.Fold.Axis == d:
			if err := v.kept(n, l, e, x.Fold); err != nil {
				return err
			}
			extent = sym.Add(e, sym.Const(1)) // a point that has been computed is one of the axis, unless it is before the first one
		case r != nil:
			first, extent = r.First, sym.Const(r.Extent)
		}
		if v.s.Stages[n].Tile != nil && d == len(l.Index)-1 {
			extent = sym.Add(extent, sym.Const(x.Margin.After))
		}
		if !there(d, first, extent) {
			return fmt.Errorf("it reads stage %d at %s of axis %s; want one of the %s points from %s on", of, e, st.Axes[d].Var, extent, first)
		}
	}
	return nil
}

// kept checks that a point of an axis that is folded has been computed, and is still there.
func (v *verifier) kept(n int, l te.Load, e sym.Expr, fold Fold) error {
	of := l.Source.N
	sc, axis := &v.s.Stages[of], v.w.Stages[of].Axes[fold.Axis]
	now, points := sym.Expr{}, int64(fold.Points)
	owner, name := of, ""
	if r := sc.region(axis.Var); r != nil {
		owner, name = sc.At.Stage, sc.At.Loop
	} else {
		name = sc.Loops[0].Var
	}
	now = sym.Var(name)
	least, most := int64(0), points-1
	if !v.inside(n, owner, name) { // after the loop: the last ones
		now = sym.Sub(axis.Extent, sym.Const(1))
	} else if of >= n { // before it is computed in this iteration
		least, most = 1, points
	}
	back, known := sym.Sub(now, e).Const()
	if !known || back < least || back > most {
		return fmt.Errorf("it reads stage %d at %s, but the last %d points of axis %s are kept at %s; want %d to %d points back", of, e, points, axis.Var, now, least, most)
	}
	if of == n && back == points { // it takes the place of what it reads
		at := sc.Coordinates(v.spans[n], v.facts)
		for i, a := range v.w.Stages[n].Axes {
			if i != fold.Axis && !l.Index[i].Equal(at[a.Var]) {
				return fmt.Errorf("it reads its own result from %d iterations before at %s, which may be overwritten", back, l.Index[i])
			}
		}
	}
	return nil
}

// inside reports whether a stage is computed in iterations of a loop.
func (v *verifier) inside(n, owner int, name string) bool {
	around, _ := v.around(n)
	return n == owner || around[name]
}

// inScope reports whether what stage `of` stores is there where stage n is computed: in the same iteration of the loop where
// it is placed, or, of what is folded along that loop, of the one around.
func (v *verifier) inScope(n, of int, folded bool) bool {
	at := v.s.Stages[of].At
	if of == n || at == Root {
		return of == n
	}
	if v.inside(n, at.Stage, at.Loop) {
		return true
	}
	outer := v.s.Stages[at.Stage].At
	return folded && (at.Stage == n || outer != Root && v.inside(n, outer.Stage, outer.Loop))
}

// within reports whether an index is always one of the points from first on, where the load's guard holds.
func within(l te.Load, e, first, extent sym.Expr, f sym.Facts) bool {
	below, above := sym.AtLeast(sym.Sub(e, first), 0, f), sym.AtLeast(sym.Sub(sym.Add(first, extent), e), 1, f)
	for _, g := range l.Guard {
		if d, ok := sym.Sub(g.E, e).Const(); ok {
			below = below || sym.AtLeast(sym.Sub(sym.Sub(g.Lo, sym.Const(d)), first), 0, f)
			above = above || sym.AtLeast(sym.Sub(sym.Add(first, extent), sym.Sub(g.Hi, sym.Const(d))), 0, f)
		}
	}
	return below && above
}
