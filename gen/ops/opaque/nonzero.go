package opaque

import (
	"slices"

	"rules_dnn/gen/ir"
)

// NonZero gives the indices of the elements that are not 0, a row for each axis.
func NonZero(x *ir.Tensor) (*ir.Tensor, error) {
	l, err := listOf(x)
	if err != nil {
		return nil, err
	}
	var found []int64
	for i := range x.Len() {
		if !l.isZero(i) {
			found = append(found, i)
		}
	}
	rank, n := len(x.Shape), len(found)
	at := make([]int64, rank*n)
	for k, i := range found {
		for d := rank - 1; d >= 0; d-- {
			at[d*n+k] = i % x.Shape[d]
			i /= x.Shape[d]
		}
	}
	return integers(at, int64(rank), int64(n)), nil
}

// Compress keeps the slices along an axis whose condition holds; without an axis (-1) the elements.
// Slices beyond the conditions go, and conditions beyond the slices mean nothing.
func Compress(x, condition *ir.Tensor, axis int) (*ir.Tensor, error) {
	l, err := listOf(x)
	if err != nil {
		return nil, err
	}
	holds, err := condition.Bytes()
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(x.Shape)
	if axis < 0 {
		shape, axis = []int64{x.Len()}, 0
	}
	outer, inner := around(shape, axis)
	n := shape[axis]
	var kept []int64
	for i := range min(n, int64(len(holds))) {
		if holds[i] != 0 {
			kept = append(kept, i)
		}
	}
	shape[axis] = int64(len(kept))
	y := ir.NewTensor(x.Type, shape...)
	for o := range outer {
		for k, i := range kept {
			l.put(y, (o*int64(len(kept))+int64(k))*inner, (o*n+i)*inner, inner)
		}
	}
	return y, nil
}
