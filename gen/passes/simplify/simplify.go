// Package simplify infers shapes, folds constants and removes what has no effect,
// to a common fixed point: each of the three gives the others more to work on.
package simplify

import (
	"errors"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/passes/dce"
	"rules_dnn/gen/passes/fold"
	"rules_dnn/gen/shape"
)

// Run simplifies g. All values have types and shapes afterwards; where they stay
// unknown the error is a *shape.UnknownError.
func Run(g *ir.Graph) error {
	for {
		inferred := shape.Infer(g)
		var unknown *shape.UnknownError
		if inferred != nil && !errors.As(inferred, &unknown) {
			return inferred
		}
		folded, err := fold.Run(g)
		if err != nil {
			return err
		}
		removed, err := dce.Run(g)
		if err != nil {
			return err
		}
		if !folded && !removed {
			return inferred
		}
	}
}
