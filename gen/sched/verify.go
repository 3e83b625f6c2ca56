package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
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
		return fmt.Errorf("it gives the results, and is placed at stage %d", at.Stage)
	case last:
		return nil
	case at == Root:
		return fmt.Errorf("it is placed nowhere: a stage that is a launch of its own is a block of its own")
	case at.Stage <= n || at.Stage >= len(v.s.Stages):
		return fmt.Errorf("it is placed at stage %d; want one from %d to %d", at.Stage, n+1, len(v.s.Stages)-1)
	}
	outer := &v.s.Stages[at.Stage]
	l := outer.loop(at.Loop)
	if l == nil {
		return fmt.Errorf("it is placed at loop %s, which stage %d does not have", at.Loop, at.Stage)
	}
	if l.Kind.Tile() {
		return fmt.Errorf("it is placed at loop %s of a tile, which is one call", at.Loop)
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
			return fmt.Errorf("tasks that follow each other find it in the worker's memory: want all of its points there")
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

// loop checks a loop by itself.
func (v *verifier) loop(n, i int) error {
	sc := &v.s.Stages[n]
	l := sc.Loops[i]
	if other, ok := v.owner[l.Var]; ok {
		return fmt.Errorf("stage %d has a loop of this name", other)
	}
	if v.named[l.Var] > 0 || !isName(l.Var) {
		return fmt.Errorf("the name is one of an axis or a symbol, or none")
	}
	v.owner[l.Var] = n
	p := v.span(n, i)
	switch k := l.Kind; {
	case l.Size < 0:
		return fmt.Errorf("%d points", l.Size)
	case l.Size == 0 && l.Edge != Exact && !v.cuts(n, i):
		return fmt.Errorf("it walks what is left of %s: edges are of loops within", l.Axis)
	case k == Unroll:
		if err := v.unroll(n, i); err != nil {
			return err
		}
	case (k == Sum || k == Dot) != p.Reduce && k.Tile():
		return fmt.Errorf("kind %s, and %s is%s an axis of the reduction", k, l.Axis, map[bool]string{false: " not"}[p.Reduce])
	case (k == Task || k == Group || k == Item || k == Vector) && p.Reduce:
		return fmt.Errorf("its iterations add to one accumulator, and run at once as kind %s", k)
	case (k == Group || k == Item) && !v.t.WorkItems():
		return fmt.Errorf("kind %s: the chip %s has no work-items", k, v.t.Name)
	}
	if at := v.s.Stages[n].At; at != Root && (l.Kind == Task || l.Kind == Group) {
		return fmt.Errorf("kind %s in a stage that is placed at a loop", l.Kind)
	}
	hi := l.Size
	if l.Size == 0 {
		_, most := sc.Count(*p, i, v.facts).Bounds(v.facts)
		hi = max(most, 1)
	}
	v.facts[l.Var] = sym.Range{Lo: 0, Hi: hi - 1}
	return nil
}

func (v *verifier) span(n, i int) *Span {
	for k := range v.spans[n] {
		if slices.Contains(v.spans[n][k].Loops, i) {
			return &v.spans[n][k]
		}
	}
	panic("loop without a span")
}

// covers checks that the loops of a span compute each of its points once.
func (v *verifier) covers(sc *Stage, p Span) error {
	n, known := p.Extent.Const()
	whole := int64(1) // points of an iteration of the outermost loop
	for k, i := range p.Loops {
		l := sc.Loops[i]
		if l.Size == 0 && k > 0 {
			return fmt.Errorf("loop %s walks what is left of %s within another loop of it", l.Var, p.Name)
		}
		if k > 0 {
			whole *= l.Size
		}
	}
	if x := sc.inner(p.Name); x != nil && x.ragged(p.Axes[0]) && !sc.RoundsUp(x) && (len(p.Loops) != 1 || sc.Cut(p.Loops[0]) == nil) {
		return fmt.Errorf("the last part of %s has fewer points: want one loop of %s that is clipped", x.Axis, x.Inner)
	}
	if len(p.Loops) == 0 {
		if !known || n != 1 {
			return fmt.Errorf("no loop walks %s, which has %s points", p.Name, p.Extent)
		}
		return nil
	}
	if first := sc.Loops[p.Loops[0]]; first.Size > 0 {
		if whole *= first.Size; !known || whole < n || whole > n && first.Edge == Exact {
			return fmt.Errorf("loops of %s walk %d points of %s", p.Name, whole, p.Extent)
		}
	}
	for k, i := range p.Loops {
		l := sc.Loops[i]
		if l.Edge == Last && (!known || n < sc.Within(i) || k != 1 || len(p.Loops) < 3 || sc.Loops[p.Loops[0]].Size > 0 || sc.Loops[p.Loops[2]].Edge != Peel) {
			return fmt.Errorf("loop %s: the last iteration of one loop around computes more besides where there is a part of a constant that has code of its own", l.Var)
		}
		if own := l.Size * sc.Within(i); l.Size > 0 && l.Edge == Exact && !sym.Mod(p.Extent, sym.Const(own), v.facts).Is(0) {
			return fmt.Errorf("loop %s walks %s by %d of %s points, and says nothing of the rest", l.Var, p.Name, own, p.Extent)
		}
	}
	return nil
}

// sums checks where the accumulators of a reduction lie: in memory only where loops of results within it hold them apart.
func (v *verifier) sums(n int) error {
	sc := &v.s.Stages[n]
	first := slices.IndexFunc(sc.Loops, func(l Loop) bool { return !l.Kind.Tile() && v.span(n, slices.Index(sc.Loops, l)).Reduce })
	within := first >= 0 && slices.ContainsFunc(sc.Loops[first:], func(l Loop) bool { return !v.span(n, slices.Index(sc.Loops, l)).Reduce })
	switch {
	case sc.Sums != Arena && sc.Sums != Register && sc.Sums != Worker:
		return fmt.Errorf("sums in space %s: want registers, or a worker's memory", sc.Sums)
	case sc.Sums != Arena && !within:
		return fmt.Errorf("sums in space %s, and no loop of results is within one of the reduction", sc.Sums)
	case sc.Sums == Worker && !v.t.TilesFillScratch():
		return fmt.Errorf("sums in space %s, which tiles of the chip %s do not store to", sc.Sums, v.t.Name)
	}
	return nil
}

// order checks the order of loops by their kinds.
func (v *verifier) order(n int) error {
	sc := &v.s.Stages[n]
	rank := func(k Kind) int {
		switch {
		case k == Task:
			return 0
		case k == Group:
			return 1
		case k.Tile():
			return 4
		case k == Vector:
			return 3
		}
		return 2
	}
	for i := 1; i < len(sc.Loops); i++ {
		if a, b := sc.Loops[i-1], sc.Loops[i]; rank(a.Kind) > rank(b.Kind) || a.Kind == Vector {
			return fmt.Errorf("loop %s of kind %s is within loop %s of kind %s", b.Var, b.Kind, a.Var, a.Kind)
		}
	}
	if err := v.items(n); err != nil {
		return err
	}
	for _, l := range sc.Loops {
		if (l.Kind == Task || l.Kind == Group) && l.Edge != Exact {
			return fmt.Errorf("loop %s: how many tasks there are depends on other loops", l.Var)
		}
	}
	if err := v.sums(n); err != nil {
		return err
	}
	reduced := false
	for i, l := range sc.Loops {
		p := v.span(n, i)
		if reduced = reduced || p.Reduce; !reduced || p.Reduce || l.Kind.Tile() {
			continue
		}
		if _, known := p.Extent.Const(); !known && l.Size == 0 {
			return fmt.Errorf("loop %s within the reduction has %s iterations, each with an accumulator: want a constant", l.Var, p.Extent)
		}
	}
	return nil
}
