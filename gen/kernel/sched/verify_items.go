package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// items checks loops over work-items: those of a stage stand right in one another, and are no more than a group has.
func (v *verifier) items(n int) error {
	items, last := int64(1), -1
	for i, l := range v.s.Stages[n].Loops {
		if l.Kind != Item {
			continue
		}
		of, known := sym.FloorDiv(v.span(n, i).Extent, sym.Const(v.s.Stages[n].Within(i)), v.facts).Const()
		switch {
		case last >= 0 && last != i-1:
			return fmt.Errorf("loop %s over work-items must be nested directly in loop %s over work-items", l.Var, v.s.Stages[n].Loops[last].Var)
		case l.Size == 0 && !known || l.Edge != Exact:
			return fmt.Errorf("loop %s over work-items has a variable number of iterations; want a constant", l.Var)
		case l.Size > 0:
			of = l.Size
		}
		last, items = i, items*of
	}
	if g, err := v.t.WorkGroups(); last >= 0 && (err != nil || items > g.GroupItems) {
		return fmt.Errorf("loops over %d work-items; a group of %s has fewer", items, v.t.Name)
	}
	return nil
}

// ahead checks a stage that is fetched ahead: items copy so many elements each, in iterations whose number is known, to memory that they share.
func (v *verifier) ahead(n int) error {
	sc, st := &v.s.Stages[n], v.w.Stages[n]
	if !sc.Ahead {
		return nil
	}
	place := v.s.Place(v.w, te.Source{Stage: true, N: n})
	if sc.At == Root || place.Space != Local || st.Combine != nil || len(st.Results) != 1 || sc.Tile != nil {
		return fmt.Errorf("it is fetched ahead; want one copy at a loop, without a sum, in space %s", Local)
	}
	computed := false
	for _, e := range st.Exprs() {
		te.Walk(e, func(e te.Expr) {
			l, is := e.(te.Load)
			computed = computed || is && l.Source.Stage
		})
	}
	if computed {
		return fmt.Errorf("it is fetched ahead, but reads a stage, which would have values of another iteration; want only operands")
	}
	for _, l := range sc.Loops {
		if l.Kind != Item && l.Kind != Serial || l.Edge != Exact || l.Stored {
			return fmt.Errorf("it is fetched ahead by loop %s of kind %s; want item and serial loops of exactly their extents", l.Var, l.Kind)
		}
	}
	outer := &v.s.Stages[sc.At.Stage]
	i := slices.IndexFunc(outer.Loops, func(l Loop) bool { return l.Var == sc.At.Loop })
	spans, err := outer.Spans(v.w.Stages[sc.At.Stage])
	if err != nil {
		return err
	}
	for _, p := range spans {
		if !slices.Contains(p.Loops, i) {
			continue
		}
		if _, known := p.Extent.Const(); outer.Loops[i].Kind != Serial || !known {
			return fmt.Errorf("it is fetched ahead in loop %s of kind %s over %s points; want a serial loop over a constant number", sc.At.Loop, outer.Loops[i].Kind, p.Extent)
		}
	}
	return nil
}
