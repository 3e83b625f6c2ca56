package opaque

import (
	"slices"

	"rules_dnn/gen/ir"
)

// Unique keeps one of equal slices along an axis, or of equal elements without one (-1): in the order
// of their elements, or of their first occurrences. Besides these it gives the index of
// each first occurrence, the number of each slice's equal in the result, and how often each occurs.
// NaNs are equal to each other and come after every number; so are zeros of both signs.
func Unique(x *ir.Tensor, axis int, sorted bool) ([]*ir.Tensor, error) {
	l, err := listOf(x)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(x.Shape)
	if axis < 0 {
		shape, axis = []int64{x.Len()}, 0
	}
	u := &unique{list: l, n: shape[axis]}
	u.outer, u.inner = around(shape, axis)
	groups := u.groups()
	if !sorted {
		slices.SortFunc(groups, func(a, b []int64) int { return int(a[0] - b[0]) })
	}
	k := int64(len(groups))
	shape[axis] = k
	y := ir.NewTensor(x.Type, shape...)
	first, counts, inverse := make([]int64, k), make([]int64, k), make([]int64, u.n)
	for g, members := range groups {
		first[g], counts[g] = members[0], int64(len(members))
		for _, m := range members {
			inverse[m] = int64(g)
		}
		for o := range u.outer {
			l.put(y, (o*k+int64(g))*u.inner, (o*u.n+members[0])*u.inner, u.inner)
		}
	}
	return []*ir.Tensor{y, integers(first, k), integers(inverse, u.n), integers(counts, k)}, nil
}

type unique struct {
	*list
	outer, n, inner int64
}

// groups are the indices of equal slices, each ascending, in the slices' order.
func (u *unique) groups() [][]int64 {
	order := make([]int64, u.n)
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortStableFunc(order, u.compareSlices)
	var out [][]int64
	for i, s := range order {
		if i == 0 || u.compareSlices(order[i-1], s) != 0 {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

// compareSlices compares the elements of two slices, one after the other.
func (u *unique) compareSlices(a, b int64) int {
	for o := range u.outer {
		for i := range u.inner {
			if c := u.compare((o*u.n+a)*u.inner+i, (o*u.n+b)*u.inner+i); c != 0 {
				return c
			}
		}
	}
	return 0
}
