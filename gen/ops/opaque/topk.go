package opaque

import (
	"slices"

	"rules_dnn/gen/ir"
)

// TopK takes the k first elements along an axis in descending order, or in ascending order, and
// their indices. Of equal elements the one of the lower index comes first; a NaN comes
// after every number in either order.
func TopK(x *ir.Tensor, axis int, k int64, largest bool) (values, indices *ir.Tensor, err error) {
	n := x.Shape[axis]
	if k < 0 || k > n {
		return nil, nil, errorf("K is %d; the axis has %d elements", k, n)
	}
	l, err := listOf(x)
	if err != nil {
		return nil, nil, err
	}
	shape := slices.Clone(x.Shape)
	shape[axis] = k
	values, indices = ir.NewTensor(x.Type, shape...), nil
	at := make([]int64, product(shape))
	outer, inner := around(x.Shape, axis)
	order := make([]int64, n)
	for o := range outer {
		for i := range inner {
			element := func(j int64) int64 { return (o*n+j)*inner + i }
			for j := range order {
				order[j] = int64(j)
			}
			slices.SortStableFunc(order, func(a, b int64) int {
				a, b = element(a), element(b)
				if largest && !l.isNaN(a) && !l.isNaN(b) {
					a, b = b, a
				}
				return l.compare(a, b)
			})
			for j := range k {
				to := (o*k+j)*inner + i
				l.put(values, to, element(order[j]), 1)
				at[to] = order[j]
			}
		}
	}
	return values, integers(at, shape...), nil
}
