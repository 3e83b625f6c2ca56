package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Uniform reports whether a call is of indices that are the same for all lanes, as the number of elements that a window has: it is
// computed once for a vector, whatever types are within it.
func Uniform(x te.Call, lane string) bool {
	uniform, indices := uniformCall(x, lane)
	return uniform && indices
}

// uniformCall reports whether all that is in a call is literals and indices that are the same for all lanes, and whether there is an index. Operands that
// are no calls decide first: in a long chain of calls each has one, mostly.
func uniformCall(x te.Call, lane string) (uniform, indices bool) {
	for _, a := range x.Args {
		switch y := a.(type) {
		case te.Const, te.Call:
		case te.Index:
			if indices = true; y.E.Uses(lane) {
				return false, indices
			}
		default:
			return false, indices
		}
	}
	for _, a := range x.Args {
		if c, ok := a.(te.Call); ok {
			u, i := uniformCall(c, lane)
			if indices = indices || i; !u {
				return false, indices
			}
		}
	}
	return true, indices
}

// laneTypes calls add for the types of what a vectorised loop's expression has in each lane: all of it but what is within calls of indices,
// which are computed once for a vector.
func laneTypes(e te.Expr, add func(ir.DType)) {
	add(e.DType())
	switch x := e.(type) {
	case te.Select:
		laneTypes(x.Then, add)
		laneTypes(x.Else, add)
	case te.Call:
		if !Uniform(x, "") {
			for _, a := range x.Args {
				laneTypes(a, add)
			}
		}
	}
}
