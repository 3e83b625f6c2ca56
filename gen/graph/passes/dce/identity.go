package dce

import (
	"errors"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// removeIdentities makes the users of results that are an operand use the operand.
func removeIdentities(g *ir.Graph) (bool, error) {
	outputs := map[*ir.Value]bool{}
	for _, v := range g.Outputs {
		outputs[v] = true
	}
	return identitiesIn(g, shape.Facts(g), outputs, false)
}

// identitiesIn does one graph, whose outputs keep their names, and its regions, whose
// outputs need none. A region that is wrong may never run: its nodes are left alone.
func identitiesIn(g *ir.Graph, facts sym.Facts, outputs map[*ir.Value]bool, region bool) (bool, error) {
	same := map[*ir.Value]*ir.Value{}
	changed := false
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			inner, err := identitiesIn(r, facts, nil, true)
			if err != nil {
				return false, err
			}
			changed = changed || inner
		}
		if len(n.Regions) > 0 || ops.IsComposition(n) {
			continue
		}
		m, err := ops.Build(n, facts)
		var unknown *ops.UnknownError
		switch {
		case errors.As(err, &unknown), err != nil && region:
			continue
		case err != nil:
			return false, err
		case len(m.Checks) > 0: // what it demands of dimensions has an effect
			continue
		}
		for i, v := range n.Outputs {
			if v == nil {
				continue
			}
			if w := passedOn(n, m, i); w != nil && mayReplace(v, edit.Resolve(same, w), outputs) {
				same[v] = w
			}
		}
	}
	edit.Replace(g, same)
	return changed || len(same) > 0, nil
}

// mayReplace reports whether w can stand for v. An output of the model keeps its
// name: w takes it, unless w is another output, an input or a constant, which the
// model has to copy.
func mayReplace(v, w *ir.Value, outputs map[*ir.Value]bool) bool {
	if !outputs[v] {
		return true
	}
	if w.Def == nil || outputs[w] {
		return false
	}
	w.Name = v.Name
	outputs[w] = true
	return true
}

// passedOn is the operand that result i is, or nil.
func passedOn(n *ir.Node, m *ops.Meaning, i int) *ir.Value {
	if m.Call != nil {
		return nil
	}
	src := m.Outputs[i]
	if !src.Stage {
		return n.Inputs[src.N]
	}
	s := m.Stages[src.N]
	load, ok := withoutCasts(s.Results[src.Part]).(te.Load)
	if !ok || s.Combine != nil || s.Update != nil || load.Source.Stage || len(load.Guard) > 0 || len(load.Index) != len(s.Axes) {
		return nil
	}
	operand := n.Inputs[load.Source.N]
	for k, a := range s.Axes {
		if !a.Extent.Equal(operand.Shape[k]) || !indexes(load.Index[k], a) {
			return nil
		}
	}
	return operand
}

// indexes reports whether e is the axis's variable; that of an axis of extent 1 is 0.
func indexes(e sym.Expr, a te.Axis) bool {
	return e.Equal(sym.Var(a.Var)) || (a.Extent.Is(1) && e.Is(0))
}

// withoutCasts strips casts that keep the type.
func withoutCasts(e te.Expr) te.Expr {
	for {
		c, ok := e.(te.Call)
		if !ok || c.Fn != "cast" || c.Args[0].DType() != c.Type {
			return e
		}
		e = c.Args[0]
	}
}
