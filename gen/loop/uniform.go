package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// Uniform reports whether a call is of indices that are the same for all lanes, as the number of elements that a window has: it is
// computed once for a vector, whatever types are within it.
func Uniform(x te.Call, lane string) bool {
	uniform, indices := true, false
	te.Walk(x, func(e te.Expr) {
		switch y := e.(type) {
		case te.Const, te.Call:
		case te.Index:
			indices, uniform = true, uniform && !y.E.Uses(lane)
		default:
			uniform = false
		}
	})
	return uniform && indices
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
