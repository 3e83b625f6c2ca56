package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/te"
)

// zeros checks that loops of the stage store what storage adds to an axis of a value: all of it for a result, whose readers
// take it for zeros, and no more. Tiles store whole registers.
func (v *verifier) zeros(x Value, sc *Stage, st *te.Stage) error {
	shape := sc.Shape(st, x.Fold)
	for d, a := range st.Axes {
		if !x.Parts.Pads(shape, d) {
			continue
		}
		n, known := shape[d].Const()
		if !known {
			return fmt.Errorf("parts %s of axis %s with %s points; want a constant number", x.Parts, a.Var, shape[d])
		}
		reach := x.Parts.Reach(d, n)
		size, err := v.lanes(x.Of.N, a)
		if err != nil {
			return err
		}
		if reach%size != 0 && reach > (n+size-1)/size*size {
			return fmt.Errorf("storage extends to %d points of axis %s; want a multiple of %d lanes, or no more than the elements rounded up to it", reach, a.Var, size)
		}
		if sc.At == Root && v.stored(x.Of.N, a, n) < reach {
			return fmt.Errorf("storage extends to %d points of axis %s, and readers expect zeros in the last %d; want a loop rounded up to them", reach, a.Var, reach-n)
		}
	}
	return nil
}

// lanes is how many a stage's loop of lanes along an axis has; 1 where no lanes walk it.
func (v *verifier) lanes(stage int, a te.Axis) (int64, error) {
	i := slices.IndexFunc(v.s.Stages[stage].Loops, func(l Loop) bool { return l.Kind == Lanes && l.Axis == a.Var })
	if i < 0 {
		return 1, nil
	}
	return v.iterations(stage, i)
}

// stored is how many points of an axis of n points loops of a stage store, zeros included.
func (v *verifier) stored(stage int, a te.Axis, n int64) int64 {
	sc := &v.s.Stages[stage]
	if x := sc.split(a.Var); x != nil && sc.RoundsUp(x) { // whole parts are computed
		for _, p := range v.spans[stage] {
			if p.Name == x.Outer {
				parts, _ := p.Extent.Const()
				whole := max(sc.Loops[p.Loops[0]].Size, 1) * sc.Within(p.Loops[0])
				return (parts + whole - 1) / whole * whole * x.Size
			}
		}
	} else if x != nil { // tiles store what follows the last part
		if slices.ContainsFunc(sc.Loops, func(l Loop) bool { return l.Kind == Lanes && l.Axis == x.Inner }) {
			return maxRegister * n
		}
		return n
	}
	for _, p := range v.spans[stage] {
		up := slices.ContainsFunc(p.Loops, func(i int) bool { return sc.Loops[i].Edge == RoundUp })
		if p.Name == a.Var && up {
			whole := max(sc.Loops[p.Loops[0]].Size, 1) * sc.Within(p.Loops[0])
			return (n + whole - 1) / whole * whole
		}
	}
	return n
}
