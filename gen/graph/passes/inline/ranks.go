package inline

import (
	"errors"
	"slices"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Ranks replaces an If whose branches give different ranks, as exporters write for a squeeze, by the branch that what reads it can read, if it is
// only one: the runs that take the other one are refused (insist). It reports whether it changed the graph.
// Of an If within a region nothing is tried.
func Ranks(g *ir.Graph, e *shape.UnknownError) bool {
	for _, c := range e.Causes {
		i := slices.Index(g.Nodes, c.Node)
		if !c.Ranks || i < 0 {
			continue
		}
		s, err := ops.IfOf(c.Node)
		if err != nil {
			continue
		}
		switch then, other := readable(g, i, true), readable(g, i, false); {
		case then && !other:
			return replaceWrong(g, map[*ir.Node]*ir.Graph{c.Node: s.Else})
		case other && !then:
			return replaceWrong(g, map[*ir.Node]*ir.Graph{c.Node: s.Then})
		}
	}
	return false
}

// readable reports whether inference finds nothing wrong where node i takes a branch.
func readable(g *ir.Graph, i int, then bool) bool {
	trial := copied(g)
	trial.Symbols = slices.Clone(g.Symbols)
	n := trial.Nodes[i]
	s, err := ops.IfOf(n)
	if err != nil {
		return false
	}
	in := &inliner{graph: trial}
	trial.Nodes = slices.Replace(trial.Nodes, i, i+1, in.insist(n, s.Branch(!then))...)
	err = shape.Infer(trial)
	return err == nil || errors.As(err, new(*shape.UnknownError))
}
