package sched

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// maxRegister is the most elements of a value in registers.
const maxRegister = 4096

// maxFetch is the most elements between what is fetched and what is read then.
const maxFetch = 1 << 30

// values checks where values lie.
func (v *verifier) values() error {
	seen := map[te.Source]bool{}
	for _, x := range v.s.Values {
		if err := v.value(x); err != nil {
			return fmt.Errorf("value %s: %w", source(x.Of), err)
		}
		if seen[x.Of] {
			return fmt.Errorf("value %s has two places", source(x.Of))
		}
		seen[x.Of] = true
	}
	return v.shared()
}

// shared checks that a group has the memory for all values that its items share.
func (v *verifier) shared() error {
	bytes, err := v.s.SharedBytes(v.w)
	if err != nil || bytes == 0 {
		return err
	}
	g, err := v.t.WorkGroups()
	if err != nil {
		return err
	}
	return g.Takes(1, bytes)
}

// SharedBytes is the memory of the values that the items of a work-group share.
func (s *Schedule) SharedBytes(w *Work) (int64, error) {
	bytes := int64(0)
	for _, x := range s.Values {
		if x.Space != Local {
			continue
		}
		st := w.Stages[x.Of.N]
		elements := x.Parts.Elements(s.Stages[x.Of.N].Shape(st, x.Fold))
		n, known := elements.Const()
		if !known {
			return 0, fmt.Errorf("value %s: work-items share %s elements; want a constant", source(x.Of), elements)
		}
		bytes += n * int64(st.Results[x.Of.Part].DType().Size())
	}
	return bytes, nil
}

func (v *verifier) value(x Value) error {
	if x.Fetch < 0 || x.Fetch > maxFetch || x.Fetch > 0 && (x.Space != Arena || x.Encoding != "") {
		return fmt.Errorf("lines of space %s, encoding %q, are fetched %d elements ahead; want at most %d, of the arena, as they are", x.Space, x.Encoding, x.Fetch, maxFetch)
	}
	if !x.Of.Stage {
		if x.Of.N < 0 || x.Of.N >= len(v.w.Operands) {
			return fmt.Errorf("the block has %d operands", len(v.w.Operands))
		}
		o := v.w.Operands[x.Of.N]
		switch {
		case x.Space != Arena && x.Space != Image:
			return fmt.Errorf("an operand in space %s", x.Space)
		case x.Fold.Points > 0:
			return fmt.Errorf("only %d points of an operand are kept", x.Fold.Points)
		case x.Claim != 0:
			return fmt.Errorf("lines of an operand, which is not stored, are asked for %d elements ahead", x.Claim)
		case x.Margin != (Margin{}):
			return fmt.Errorf("an operand, which others store, with a margin of %d and %d elements", x.Margin.Before, x.Margin.After)
		case x.Encoding != "" && o.Const == nil:
			return fmt.Errorf("encoding %s of a non-constant operand", x.Encoding)
		case x.sparse() && x.Parts.String() != layout.PartsOf(layout.RowMajor, len(o.Shape)).String():
			return fmt.Errorf("encoding %s of parts %s: it has an order of its own", x.Encoding, x.Parts)
		}
		return x.Parts.Check(len(o.Shape))
	}
	if x.Of.N < 0 || x.Of.N >= len(v.w.Stages) || x.Of.Part < 0 || x.Of.Part >= len(v.w.Stages[x.Of.N].Results) {
		return fmt.Errorf("there is no such stage or result")
	}
	sc, st := &v.s.Stages[x.Of.N], v.w.Stages[x.Of.N]
	if err := x.Parts.Check(len(st.Axes)); err != nil {
		return err
	}
	if x.Fold.Points > 0 {
		if err := v.fold(x, sc, st); err != nil {
			return err
		}
	}
	placed := sc.At != Root
	n, known := x.Parts.Elements(sc.Shape(st, x.Fold)).Const()
	switch {
	case x.Claim < 0 || x.Claim > maxRegister || x.Claim > 0 && x.Space != Worker && x.Space != Arena:
		return fmt.Errorf("lines of space %s are asked for %d elements ahead; want at most %d, of what caches hold", x.Space, x.Claim, maxRegister)
	case x.Encoding != "":
		return fmt.Errorf("encoding %s of what a stage computes", x.Encoding)
	case x.Margin != (Margin{}) && !x.margined(len(st.Axes)):
		return fmt.Errorf("a margin of %d and %d elements of space %s and parts %s; want up to %d, of a worker's memory that is row-major", x.Margin.Before, x.Margin.After, x.Space, x.Parts, maxRegister)
	case placed && (x.Space == Arena || x.Space == Image):
		return fmt.Errorf("it is computed at a loop, by tasks that run at once, in space %s, which they share", x.Space)
	case !placed && x.Space != Arena && x.Space != Image:
		return fmt.Errorf("a result of the block in space %s", x.Space)
	case x.Space == Register && (!known || n > maxRegister):
		return fmt.Errorf("%s elements in registers; want a constant of at most %d", x.Parts.Elements(sc.Shape(st, x.Fold)), maxRegister)
	case x.Space == Local && !v.grouped(sc.At):
		return fmt.Errorf("memory of a work-group, and no loop of groups is around stage %d", x.Of.N)
	}
	return v.zeros(x, sc, st)
}

// margined reports whether a value of so many axes may have its margin.
func (x Value) margined(axes int) bool {
	m := x.Margin
	rows := x.Parts.String() == layout.PartsOf(layout.RowMajor, axes).String()
	return axes > 0 && min(m.Before, m.After) >= 0 && max(m.Before, m.After) <= maxRegister && x.Space == Worker && x.Fold.Points == 0 && rows
}

// grouped reports whether a loop of work-groups is around a place.
func (v *verifier) grouped(at Ref) bool {
	for ; at != Root; at = v.s.Stages[at.Stage].At {
		if slices.ContainsFunc(v.s.Stages[at.Stage].Loops, func(l Loop) bool { return l.Kind == Group }) {
			return true
		}
	}
	return false
}

// fold checks that iterations of a loop, the one around or the stage's own outermost one, compute the axis one point after the
// other.
func (v *verifier) fold(x Value, sc *Stage, st *te.Stage) error {
	if x.Fold.Axis < 0 || x.Fold.Axis >= len(st.Axes) {
		return fmt.Errorf("it keeps points of axis %d, of %d", x.Fold.Axis, len(st.Axes))
	}
	axis := st.Axes[x.Fold.Axis].Var
	r := sc.region(axis)
	if r == nil && len(sc.Loops) > 0 && sc.Loops[0].Axis == axis && sc.Within(0) == 1 && sc.Loops[0].Kind == Serial && !sc.Loops[0].Stored {
		return nil
	}
	if sc.At == Root || r == nil || r.Extent != 1 || !r.First.Equal(sym.Var(sc.At.Loop)) {
		return fmt.Errorf("it keeps %d points of axis %s, of which iterations of no loop are one each", x.Fold.Points, axis)
	}
	if l := v.s.Stages[sc.At.Stage].loop(sc.At.Loop); l.Kind != Serial {
		return fmt.Errorf("it keeps points of the iterations before, and these of loop %s are of kind %s", l.Var, l.Kind)
	}
	return nil
}

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
			whole[x.Axis] = sym.Add(sym.Scale(outer, x.Size), sym.Var(x.Inner))
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
	seen := map[*sym.Expr]bool{} // copies share their indices
	for _, e := range es {
		var loads []te.Expr
		binds := false
		te.Walk(e, func(e te.Expr) {
			switch x := e.(type) {
			case te.Let:
				binds = true
			case te.Load:
				if x.Source.Stage && (len(x.Index) == 0 || !seen[&x.Index[0]]) {
					loads = append(loads, x)
				}
			}
		})
		if binds {
			out = append(out, e)
			continue
		}
		for _, l := range loads {
			if x := l.(te.Load); len(x.Index) > 0 {
				if seen[&x.Index[0]] {
					continue
				}
				seen[&x.Index[0]] = true
			}
			out = append(out, l)
		}
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
		return fmt.Errorf("it reads stage %d, whose memory is that of an iteration of loop %d.%s, which is not around it", of, sc.At.Stage, sc.At.Loop)
	}
	if of >= n && !folded {
		return fmt.Errorf("it reads stage %d, which is computed after it", of)
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
			return fmt.Errorf("it reads stage %d at %s of axis %s, of which %s points are there from %s on", of, e, st.Axes[d].Var, extent, first)
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
		return fmt.Errorf("it reads stage %d at %s, of which %d points of axis %s are kept, at %s; want %d to %d before", of, e, points, axis.Var, now, least, most)
	}
	if of == n && back == points { // it takes the place of what it reads
		at := sc.Coordinates(v.spans[n], v.facts)
		for i, a := range v.w.Stages[n].Axes {
			if i != fold.Axis && !l.Index[i].Equal(at[a.Var]) {
				return fmt.Errorf("it reads its own result of %d iterations before at %s, where it may have been overwritten", back, l.Index[i])
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
