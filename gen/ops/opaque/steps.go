package opaque

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Steps is how many numbers a Range has: from start on, delta apart, before limit. It refuses a
// delta of 0, and what is no dimension.
func Steps(start, limit, delta *ir.Tensor) (int64, error) {
	var x [3]*list
	for i, t := range []*ir.Tensor{start, limit, delta} {
		var err error
		if x[i], err = listOf(t); err != nil {
			return 0, err
		}
		if t.Len() != 1 {
			return 0, errorf("an operand of a range has %d elements; want 1", t.Len())
		}
	}
	if x[0].floats != nil {
		return floatSteps(x[0].floats[0], x[1].floats[0], x[2].floats[0])
	}
	return IntSteps(x[0].ints[0], x[1].ints[0], x[2].ints[0])
}

func floatSteps(start, limit, delta float64) (int64, error) {
	room, step := limit-start, delta
	if math.IsInf(room, 0) && !math.IsInf(start, 0) && !math.IsInf(limit, 0) { // their halves are near enough to subtract
		room, step = float64(limit/2)-float64(start/2), delta/2
	}
	n := math.Ceil(room / step)
	if delta == 0 || math.IsNaN(n) || n > sym.MaxDim {
		return 0, errorf("start %v, limit %v and delta %v do not produce a range of at most %d numbers", start, limit, delta, int64(sym.MaxDim))
	}
	return int64(max(n, 0)), nil
}

// IntSteps is Steps of integers.
func IntSteps(start, limit, delta int64) (int64, error) {
	// Differences of 64-bit integers need 64 bits without a sign.
	room, step := uint64(limit)-uint64(start), uint64(delta)
	empty := start >= limit
	if delta < 0 {
		room, step, empty = -room, -step, start <= limit
	}
	switch {
	case delta == 0:
		return 0, errorf("delta is 0")
	case empty:
		return 0, nil
	}
	n := (room - 1) / step
	if n >= sym.MaxDim {
		return 0, errorf("start %d, limit %d and delta %d produce more than %d numbers", start, limit, delta, int64(sym.MaxDim))
	}
	return int64(n) + 1, nil
}
