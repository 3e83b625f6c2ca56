package sched

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// operands checks that storage of an operand goes on as far as tiles read it: whole registers, and columns that are rounded up.
func (v *verifier) operands(n int) error {
	sc, st := &v.s.Stages[n], v.w.Stages[n]
	if sc.Tile == nil {
		return nil
	}
	for k, p := range v.spans[n] {
		over := func(i int) bool {
			l := sc.Loops[i]
			return l.Edge == RoundUp && (l.Kind == Columns || l.Kind == Lanes)
		}
		if !slices.ContainsFunc(p.Loops, over) {
			continue
		}
		for _, e := range st.Values {
			if err := v.reaches(v.looped(n, k, e), sc, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// looped is an expression at indices over loops' variables, as tiles walk a span: what is read by the place in a part of an axis goes on
// beyond the part.
func (v *verifier) looped(n, span int, e te.Expr) te.Expr {
	sc, p := &v.s.Stages[n], v.spans[n][span]
	at := sc.Coordinates(v.spans[n], v.facts)
	if x := sc.split(p.Axes[0].Var); x != nil && x.Inner == p.Name {
		ranges := maps.Clone(v.facts)
		ranges[x.Inner] = sym.Range{Lo: 0, Hi: x.Size - 1}
		outer := sym.Sub(at[x.Axis], sc.Point(p))
		e = te.SubstIndices(e, map[string]sym.Expr{x.Axis: sym.Add(outer, sym.Var(x.Inner))}, ranges)
		at[x.Inner] = sc.Point(p)
	}
	return te.SubstIndices(e, at, v.facts)
}

// reaches checks the loads of operands that a span walks, at indices over loops' variables.
func (v *verifier) reaches(e te.Expr, sc *Stage, p Span) error {
	var err error
	te.Walk(e, func(e te.Expr) {
		l, ok := e.(te.Load)
		if !ok || l.Source.Stage || err != nil {
			return
		}
		x := v.s.Place(v.w, l.Source)
		for d, at := range l.Index {
			extent := v.w.Operands[l.Source.N].Shape[d]
			walked := slices.ContainsFunc(p.Loops, func(i int) bool { return at.Uses(sc.Loops[i].Var) })
			if x.Encoding != "" || !walked {
				continue
			}
			if n, known := extent.Const(); known {
				extent = sym.Const(x.Parts.Reach(d, n))
			}
			if !within(l, at, sym.Const(0), extent, v.facts) {
				err = fmt.Errorf("it reads operand %d at %s of axis %d; want less than its stored extent, %s", l.Source.N, at, d, extent)
			}
		}
	})
	return err
}
