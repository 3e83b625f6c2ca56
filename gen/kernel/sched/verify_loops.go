package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
)

// loop checks a loop by itself.
func (v *verifier) loop(n, i int) error {
	sc := &v.s.Stages[n]
	l := sc.Loops[i]
	if other, ok := v.owner[l.Var]; ok {
		return fmt.Errorf("stage %d has a loop of this name", other)
	}
	if v.named[l.Var] > 0 || !isName(l.Var) {
		return fmt.Errorf("the name is empty, or an axis or symbol has it")
	}
	v.owner[l.Var] = n
	p := v.span(n, i)
	switch k := l.Kind; {
	case l.Size < 0:
		return fmt.Errorf("%d points", l.Size)
	case l.Size == 0 && l.Edge != Exact && !v.cuts(n, i):
		return fmt.Errorf("it walks the rest of %s; only inner loops have edges", l.Axis)
	case k == Unroll:
		if err := v.unroll(n, i); err != nil {
			return err
		}
	case (k == Sum || k == Dot) != p.Reduce && k.Tile():
		return fmt.Errorf("kind %s, and %s is%s an axis of the reduction", k, l.Axis, map[bool]string{false: " not"}[p.Reduce])
	case (k == Task || k == Group || k == Item || k == Vector) && p.Reduce:
		return fmt.Errorf("its iterations add to one accumulator, but run in parallel as kind %s", k)
	case (k == Group || k == Item) && !v.t.WorkItems():
		return fmt.Errorf("kind %s: the chip %s has no work-items", k, v.t.Name)
	}
	if at := v.s.Stages[n].At; at != Root && (l.Kind == Task || l.Kind == Group) {
		return fmt.Errorf("kind %s in a stage that runs inside another stage's loop; only the last stage supports it", l.Kind)
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
			return fmt.Errorf("loop %s walks the rest of %s within another loop of it", l.Var, p.Name)
		}
		if k > 0 {
			whole *= l.Size
		}
	}
	if x := sc.inner(p.Name); x != nil && x.ragged(p.Axes[0]) && !sc.RoundsUp(x) && (len(p.Loops) != 1 || sc.Cut(p.Loops[0]) == nil) {
		return fmt.Errorf("the last part of %s has fewer points; want one clipped loop of %s", x.Axis, x.Inner)
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
			return fmt.Errorf("loop %s: only the second of three loops of a constant axis, before a peeled one, can be clipped in the last iteration around it", l.Var)
		}
		if own := l.Size * sc.Within(i); l.Size > 0 && l.Edge == Exact && !sym.Mod(p.Extent, sym.Const(own), v.facts).Is(0) {
			return fmt.Errorf("loop %s walks %s by %d of %s points; want an edge for the rest", l.Var, p.Name, own, p.Extent)
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
		return fmt.Errorf("sums in space %s; want registers or a worker's memory", sc.Sums)
	case sc.Sums != Arena && !within:
		return fmt.Errorf("sums in space %s, but no loop of results is within a loop of the reduction", sc.Sums)
	case sc.Sums == Worker && !v.t.TilesFillScratch():
		return fmt.Errorf("sums in space %s, to which tiles of the chip %s cannot store", sc.Sums, v.t.Name)
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
			return fmt.Errorf("loop %s: the number of tasks depends on other loops", l.Var)
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
			return fmt.Errorf("loop %s within the reduction has %s iterations, each with an accumulator; want a constant number", l.Var, p.Extent)
		}
	}
	return nil
}
