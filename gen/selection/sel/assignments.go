package sel

import (
	"maps"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
)

// maxPicks is the most combinations of layouts of a block's values that are all estimated.
const maxPicks = 16

// mostVaried is how many values a block has at most of which each is tried with another layout than the others have: each of these assignments is
// estimated, which takes as long as there are values.
const mostVaried = 64

// choice is values of a block that share a layout, and those that they may have, row-major first.
type choice struct {
	values  []*ir.Value
	layouts []layout.Layout
}

// assignments of layouts to a block's values, on each side that may run it.
func (s *selector) assignments(b *block.Block) []map[*ir.Value]layout.Layout {
	var out []map[*ir.Value]layout.Layout
	for _, d := range s.sides {
		if d.runs(b) {
			out = append(out, d.assignments(b)...)
		}
	}
	return out
}

// assignments in one space: every combination where they are few; otherwise all row-major, all the last, all the same where they may, and each
// with one value otherwise, unless values are many. The results of a block share one layout.
func (d *side) assignments(b *block.Block) []map[*ir.Value]layout.Layout {
	var free, all []choice
	seen := map[*ir.Value]bool{}
	for _, v := range b.Operands {
		if !seen[v] && v.Const == nil {
			seen[v] = true
			all = append(all, choice{[]*ir.Value{v}, d.layouts(v)})
		}
	}
	common := d.layouts(b.Results[0])
	for _, v := range b.Results[1:] {
		common = slices.DeleteFunc(slices.Clone(common), func(l layout.Layout) bool { return !slices.Contains(d.layouts(v), l) })
	}
	var only assignment
	for _, c := range append(all, choice{b.Results, common}) {
		if len(c.layouts) > 1 {
			free = append(free, c)
		} else {
			only.set(c, 0)
		}
	}
	var out []map[*ir.Value]layout.Layout
	for _, picked := range picks(free) {
		m := assignment(maps.Clone(only))
		for i, k := range picked {
			m.set(free[i], k)
		}
		out = append(out, m)
	}
	return out
}

// assignment is of layouts to values: those that have another one than row-major on the host.
type assignment map[*ir.Value]layout.Layout

// set gives a choice's values its k-th layout.
func (m *assignment) set(c choice, k int) {
	if c.layouts[k] == layout.RowMajor {
		return
	}
	if *m == nil {
		*m = assignment{}
	}
	for _, v := range c.values {
		(*m)[v] = c.layouts[k]
	}
}

// picks are numbers of layouts, one for each choice.
func picks(free []choice) [][]int {
	none, last := make([]int, len(free)), make([]int, len(free))
	all := 1
	for i, c := range free {
		last[i] = len(c.layouts) - 1
		all = min(all*len(c.layouts), maxPicks+1)
	}
	var out [][]int
	if all <= maxPicks {
		for n := range all {
			p := slices.Clone(none)
			for i, c := range free {
				p[i], n = n%len(c.layouts), n/len(c.layouts)
			}
			out = append(out, p)
		}
		return out
	}
	out = append(out, none)
	add := func(p []int) {
		if !slices.ContainsFunc(out, func(q []int) bool { return slices.Equal(p, q) }) {
			out = append(out, p)
		}
	}
	other := func(p []int, i, k int) {
		p = slices.Clone(p)
		p[i] = k
		add(p)
	}
	alike := append([][]int{last}, uniform(free)...)
	for _, p := range alike {
		add(p)
	}
	if len(free) > mostVaried {
		return out
	}
	for i, c := range free {
		for k := 1; k < len(c.layouts); k++ {
			other(none, i, k)
		}
		for _, p := range alike {
			other(p, i, 0)
		}
	}
	return out
}

// uniform are numbers of layouts that are the same one of all values that may have it, and row-major of the others.
func uniform(free []choice) [][]int {
	var out [][]int
	var seen []layout.Layout
	for _, c := range free {
		for _, l := range c.layouts[1:] {
			if slices.Contains(seen, l) {
				continue
			}
			seen = append(seen, l)
			p := make([]int, len(free))
			for i, x := range free {
				p[i] = max(0, slices.Index(x.layouts, l))
			}
			out = append(out, p)
		}
	}
	return out
}
