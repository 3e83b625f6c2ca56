package pipeline

import (
	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// mostNamed is how many times more symbols than a model may have its inputs may name, before inference finds those that are equal.
const mostNamed = 4

// simplifyGraph refuses a graph of more symbols than a model may have as soon as that is known: all that is done with the blocks of a graph takes time in
// the number of its symbols.
func simplifyGraph(s *State) error {
	if err := fewSymbols(len(given(s.Graph)), mostNamed*limit.Symbols); err != nil {
		return err
	}
	if err := simplify.RunBut(s.Graph, islands.Keeps); err != nil {
		return err
	}
	return fewSymbols(len(given(s.Graph)), limit.Symbols)
}

// inferShapes refuses a graph whose inputs and nodes give more symbols than a model may have.
func inferShapes(s *State) error {
	if err := shape.Infer(s.Graph); err != nil {
		return err
	}
	return fewSymbols(len(s.Graph.Symbols), limit.Symbols)
}

func fewSymbols(n, most int) error {
	if n <= most {
		return nil
	}
	return limit.TooManySymbols(n)
}

// given are the symbols that the inputs' shapes give.
func given(g *ir.Graph) map[string]bool {
	out := map[string]bool{}
	for _, v := range g.Inputs {
		for _, d := range v.Shape {
			d.Vars(out)
		}
	}
	return out
}
