package sched

import (
	"fmt"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/target"
)

// Verify proves that a schedule computes what its stages say on a chip: every point once, what it reads before it reads it, in
// memory that has room for it, and with iterations that run at once only where they write apart.
func (s *Schedule) Verify(w *Work, t *target.Target) error {
	if len(s.Stages) != len(w.Stages) || len(w.Stages) == 0 {
		return fmt.Errorf("schedule of %d stages; the block has %d", len(s.Stages), len(w.Stages))
	}
	v := &verifier{s: s, w: w, t: t, facts: sym.Facts{}, owner: map[string]int{}}
	for n, r := range w.Facts {
		v.facts[n] = r
	}
	v.name()
	for n := range s.Stages {
		if err := v.stage(n); err != nil {
			return fmt.Errorf("stage %d (%s): %w", n, w.Stages[n].Name, err)
		}
	}
	if err := v.values(); err != nil {
		return err
	}
	for n := range s.Stages {
		if _, err := s.Nonzeros(w, n); err != nil {
			return fmt.Errorf("stage %d (%s): %w", n, w.Stages[n].Name, err)
		}
		if err := v.reads(n); err != nil {
			return fmt.Errorf("stage %d (%s): %w", n, w.Stages[n].Name, err)
		}
		if err := v.operands(n); err != nil {
			return fmt.Errorf("stage %d (%s): %w", n, w.Stages[n].Name, err)
		}
	}
	return nil
}

// verifier is the state of Verify.
type verifier struct {
	s     *Schedule
	w     *Work
	t     *target.Target
	facts sym.Facts
	owner map[string]int // stages of loops' variables
	named map[string]int // axes, parts of axes and symbols
	spans [][]Span
}

// stage checks where a stage is computed, and its loops.
func (v *verifier) stage(n int) error {
	sc, st := &v.s.Stages[n], v.w.Stages[n]
	if err := v.at(n); err != nil {
		return err
	}
	if err := v.splits(n); err != nil {
		return err
	}
	spans, err := sc.Spans(st)
	if err != nil {
		return err
	}
	v.spans = append(v.spans, spans)
	if err := v.regions(n); err != nil {
		return err
	}
	for i, l := range sc.Loops {
		if err := v.loop(n, i); err != nil {
			return fmt.Errorf("loop %s: %w", l.Var, err)
		}
	}
	for _, p := range spans {
		if err := v.covers(sc, p); err != nil {
			return err
		}
	}
	if err := v.order(n); err != nil {
		return err
	}
	if err := v.ahead(n); err != nil {
		return err
	}
	return v.tile(n)
}

// at checks where the stage is placed: at a loop of a later one, that is none of a tile, inside all tasks.
func (v *verifier) at(n int) error {
	at, last := v.s.Stages[n].At, n == len(v.s.Stages)-1
	switch {
	case last && at != Root:
		return fmt.Errorf("it computes the results, but is placed at stage %d", at.Stage)
	case last:
		return nil
	case at == Root:
		return fmt.Errorf("it has no place; a stage with its own launch needs its own block")
	case at.Stage <= n || at.Stage >= len(v.s.Stages):
		return fmt.Errorf("it is placed at stage %d; want one from %d to %d", at.Stage, n+1, len(v.s.Stages)-1)
	}
	outer := &v.s.Stages[at.Stage]
	l := outer.loop(at.Loop)
	if l == nil {
		return fmt.Errorf("it is placed at loop %s, which stage %d does not have", at.Loop, at.Stage)
	}
	if l.Kind.Tile() {
		return fmt.Errorf("it is placed at loop %s within a tile, which is one call", at.Loop)
	}
	for i := len(outer.Loops) - 1; i >= 0 && outer.Loops[i].Var != at.Loop; i-- {
		k := outer.Loops[i].Kind
		if kept := k == Task && l.Kind == Task && !v.t.WorkItems(); (k == Task || k == Group) && !kept {
			return fmt.Errorf("it is placed at loop %s, around loop %s of kind %s", at.Loop, outer.Loops[i].Var, k)
		}
		if k == Task {
			if err := v.keeps(n); err != nil {
				return fmt.Errorf("it is placed at loop %s, around loop %s of kind %s: %w", at.Loop, outer.Loops[i].Var, k, err)
			}
		}
	}
	return nil
}

// keeps checks that a stage can stay from task to task: in the worker's memory, where nothing else of a task is stored.
func (v *verifier) keeps(n int) error {
	for part := range v.w.Stages[n].Results {
		if x := v.s.Place(v.w, te.Source{Stage: true, N: n, Part: part}); x.Space != Worker || x.Fold.Points > 0 {
			return fmt.Errorf("consecutive tasks share it in the worker's memory; want all of its points there")
		}
	}
	return nil
}

// around are the loops in which a stage is computed, and those of them that walk what is stored.
func (v *verifier) around(n int) (out, stored map[string]bool) {
	out, stored = map[string]bool{}, map[string]bool{}
	for at := v.s.Stages[n].At; at != Root; at = v.s.Stages[at.Stage].At {
		for _, l := range v.s.Stages[at.Stage].Loops {
			out[l.Var] = true
			if l.Stored {
				stored[l.Var] = true
			}
			if l.Var == at.Loop {
				break
			}
		}
	}
	return out, stored
}

// name counts the axes, parts of axes and symbols of each name. Stages may call an axis alike.
func (v *verifier) name() {
	v.named = map[string]int{}
	for _, st := range v.w.Stages {
		for _, axes := range [][]te.Axis{st.Axes, st.Reduce} {
			for _, a := range axes {
				v.named[a.Var] = 1
			}
		}
	}
	for symbol := range v.w.Facts {
		v.named[symbol]++
	}
	for _, st := range v.s.Stages {
		for _, x := range st.Splits {
			v.named[x.Outer]++
			v.named[x.Inner]++
		}
	}
}
