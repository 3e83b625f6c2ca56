package plan

import (
	"cmp"
	"slices"

	"rules_dnn/gen/ir/sym"
)

// maxSteps is of how many steps the lower bound is the greatest.
const maxSteps = 16

// bound is the most that lives at one step: of the steps with most at the arena's sizes, but those where no more than
// at another one lives, whatever the symbols' values.
func (a *arena) bound(ivs []*interval) sym.Expr {
	var live []sym.Expr
	seen := map[string]bool{}
	for _, sum := range liveBytes(ivs) {
		if key := sum.String(); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		if !slices.ContainsFunc(live, func(e sym.Expr) bool { return covers(e, sum) }) {
			live = append(slices.DeleteFunc(live, func(e sym.Expr) bool { return covers(sum, e) }), sum)
		}
	}
	slices.SortStableFunc(live, func(x, y sym.Expr) int { return cmp.Compare(a.large(y), a.large(x)) })
	most := sym.Const(0)
	for _, e := range live[:min(len(live), maxSteps)] {
		most = sym.Max(most, e, a.facts)
	}
	return most
}

// liveBytes are, of each interval, the bytes of all that live when it begins.
func liveBytes(ivs []*interval) []sym.Expr {
	var boxes []*box
	for _, iv := range ivs {
		boxes = append(boxes, &box{first: iv.first, last: iv.last})
	}
	at := map[int]sym.Expr{} // by step
	live := sym.Const(0)
	sweep(boxes, func(i int) {
		live = sym.Add(live, ivs[i].bytes)
		at[boxes[i].first] = live // all that begin at the step are in it after the last of them
	}, func(i int) { live = sym.Sub(live, ivs[i].bytes) })
	out := make([]sym.Expr, len(ivs))
	for i, b := range boxes {
		out[i] = at[b.first]
	}
	return out
}

// covers reports whether x is at least y: the difference has no negative summand.
func covers(x, y sym.Expr) bool { return nonNegative(sym.Sub(x, y)) }
