package plan

import (
	"cmp"
	"slices"
	"sort"

	"rules_dnn/gen/ir/sym"
)

// area is values that are packed together: sizes and offsets are multiples of the unit.
type area struct {
	unit        sym.Expr
	members     []*interval
	boxes       []*box // of the members
	first, last int
	peak        int64
	large       int64 // bytes at the arena's sizes
}

// areasOf are an area for each product of symbols that sizes are multiples of.
func areasOf(ivs []*interval) []*area {
	at := map[string]*area{}
	var keys []string
	for _, iv := range ivs {
		unit, k := factor(iv.bytes)
		key := unit.String()
		if at[key] == nil {
			at[key] = &area{unit: unit}
			keys = append(keys, key)
		}
		at[key].add(iv, k)
	}
	sort.Strings(keys)
	var out []*area
	for _, k := range keys {
		out = append(out, at[k])
	}
	return out
}

func (x *area) add(iv *interval, k int64) {
	x.members = append(x.members, iv)
	x.boxes = append(x.boxes, &box{first: iv.first, last: iv.last, size: k})
}

// factor writes a size as k * unit; a size of several summands is its own unit.
func factor(size sym.Expr) (unit sym.Expr, k int64) {
	terms, c := size.Terms()
	switch {
	case len(terms) == 0:
		return sym.Const(1), c
	case len(terms) == 1 && c == 0:
		return product(terms[0].Atoms), terms[0].Coef
	}
	return size, 1
}

// connected divides an area where none of its values lives.
func (x *area) connected() []*area {
	order := make([]int, len(x.boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(x.boxes[i].first, x.boxes[k].first) })
	var out []*area
	end := 0
	for _, i := range order {
		if b := x.boxes[i]; len(out) == 0 || b.first > end {
			out = append(out, &area{unit: x.unit})
			end = b.last
		}
		out[len(out)-1].add(x.members[i], x.boxes[i].size)
		end = max(end, x.boxes[i].last)
	}
	return out
}

// single is an area for each value.
func (x *area) single() []*area {
	var out []*area
	for i, iv := range x.members {
		y := &area{unit: x.unit}
		y.add(iv, x.boxes[i].size)
		out = append(out, y)
	}
	return out
}
