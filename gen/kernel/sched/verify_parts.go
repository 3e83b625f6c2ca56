package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/te"
)

// maxUnroll is the most iterations that are written out.
const maxUnroll = 64

// regions checks that they are of the stage's own axes, once each, and begin where loops around say.
func (v *verifier) regions(n int) error {
	around, unordered := v.around(n)
	seen := map[string]bool{}
	for _, r := range v.s.Stages[n].Regions {
		if !slices.ContainsFunc(v.w.Stages[n].Axes, func(a te.Axis) bool { return a.Var == r.Axis }) || seen[r.Axis] {
			return fmt.Errorf("region of %q; want an axis of its result without a region", r.Axis)
		}
		seen[r.Axis] = true
		if r.Extent < 1 {
			return fmt.Errorf("region of %s has %d points", r.Axis, r.Extent)
		}
		if err := v.first(n, r); err != nil {
			return err
		}
		used := map[string]bool{}
		r.First.Vars(used)
		for name := range used {
			if _, symbol := v.w.Facts[name]; !around[name] && !symbol {
				return fmt.Errorf("region of %s begins at %s, but %s is not a loop around the stage", r.Axis, r.First, name)
			}
			if unordered[name] {
				return fmt.Errorf("region of %s begins at %s, but loop %s walks stored weights in their own order", r.Axis, r.First, name)
			}
		}
	}
	return nil
}

// first checks the variable of a region. It has one point, which is read, so that it is one of the axis.
func (v *verifier) first(n int, r Region) error {
	if r.Var == "" {
		return nil
	}
	if _, taken := v.owner[r.Var]; taken || v.named[r.Var] > 0 || !isName(r.Var) || r.Extent != 1 {
		return fmt.Errorf("region of %s from %s as %s; want one point and an unused name", r.Axis, r.First, r.Var)
	}
	v.owner[r.Var] = n
	return nil
}

// splits checks that the parts of axes have names of their own.
func (v *verifier) splits(n int) error {
	for _, x := range v.s.Stages[n].Splits {
		for _, part := range []string{x.Outer, x.Inner} {
			if v.named[part] != 1 {
				return fmt.Errorf("split of %s: the name %s is in use", x.Axis, part)
			}
		}
	}
	return nil
}

// cuts reports whether a loop is over the inner part of an axis whose last one has fewer points.
func (v *verifier) cuts(n, i int) bool {
	x := v.s.Stages[n].Cut(i)
	return x != nil && x.ragged(v.span(n, i).Axes[0])
}

// unroll checks a loop that is written out: the innermost one, over all of an axis of the result.
func (v *verifier) unroll(n, i int) error {
	sc, p := &v.s.Stages[n], v.span(n, i)
	if e, known := p.Extent.Const(); i != len(sc.Loops)-1 || v.w.Stages[n].Combine != nil || len(p.Loops) > 1 || len(p.Axes) > 1 || p.Name != p.Axes[0].Var || !known || e > maxUnroll {
		return fmt.Errorf("it is unrolled; want the innermost loop, over a whole axis of at most %d points, of a stage without a sum", maxUnroll)
	}
	return nil
}
