// Package simplify infers shapes, folds constants, replaces compositions, sequences and control flow
// whose course is known and removes what has no effect, to a common fixed point: each of
// them gives the others more to work on.
package simplify

import (
	"errors"

	"rules_dnn/gen/graph/passes/bind"
	"rules_dnn/gen/graph/passes/dce"
	"rules_dnn/gen/graph/passes/fold"
	"rules_dnn/gen/graph/passes/inline"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// Run simplifies g. All values have types and shapes afterwards; where they stay
// unknown the error is a *shape.UnknownError.
func Run(g *ir.Graph) error { return RunBut(g, nil) }

// RunBut simplifies g and leaves constant nodes alone that a function names, unless a shape depends on them; nil names none.
func RunBut(g *ir.Graph, keep func(*ir.Node) bool) error { return run(g, keep, inline.Expand) }

// RunWhole simplifies g, and leaves compositions as they are, so that what follows is in the words of the model.
func RunWhole(g *ir.Graph) error {
	return run(g, nil, func(*ir.Graph) (bool, error) { return false, nil })
}

func run(g *ir.Graph, keep func(*ir.Node) bool, expand func(*ir.Graph) (bool, error)) error {
	for {
		// First, so that what is wrong with a branch that never runs does not matter.
		if _, err := inline.Run(g); err != nil {
			return err
		}
		dce.Share(g)
		inferred := shape.Infer(g)
		var unknown *shape.UnknownError
		if inferred != nil && !errors.As(inferred, &unknown) {
			return inferred
		}
		expanded, err := expand(g)
		if err != nil {
			return err
		}
		listed, err := inline.Sequences(g)
		if err != nil {
			return err
		}
		inlined, err := inline.Run(g) // what inference has learned of conditions and empty results
		if err != nil {
			return err
		}
		folded, err := fold.RunBut(g, keep)
		if err != nil {
			return err
		}
		removed, err := dce.Run(g)
		if err != nil {
			return err
		}
		if folded || removed || inlined || expanded || listed {
			continue
		}
		if unknown == nil {
			return nil
		}
		if keep != nil {
			keep = nil
			continue
		}
		bound, err := bind.Run(g, unknown) // the last resort: what the run alone knows
		if err != nil {
			return err
		}
		if !bound && !inline.Wrong(g, unknown) && !inline.Ranks(g, unknown) {
			return inferred
		}
	}
}
