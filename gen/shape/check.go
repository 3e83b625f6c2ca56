package shape

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// check compares an inferred result with what is already written at the value:
// what the model declares, or an earlier inference. Only certain contradictions
// are errors: models that were exported with wrong names of dimensions abound.
func (in *inference) check(n *ir.Node, v *ir.Value, typ ir.DType, shape ir.Shape) error {
	for i, d := range shape {
		if _, hi := d.Bounds(in.facts); d.Overflow() || hi < 0 {
			return n.Errorf("dimension %d of result %q would be %s: the operands' shapes do not fit the attributes", i, v.Name, d)
		}
	}
	if v.Type != ir.Invalid && v.Type != typ {
		return n.Errorf("result %q has type %s, but the model declares %s", v.Name, typ, v.Type)
	}
	if !v.HasShape {
		return nil
	}
	if len(v.Shape) != len(shape) {
		return n.Errorf("result %q has shape %v of rank %d, but the model declares %v", v.Name, shape, len(shape), v.Shape)
	}
	for i, d := range shape {
		if diff := sym.Sub(d, v.Shape[i]); sym.AtLeast(diff, 1, in.facts) || sym.AtMost(diff, -1, in.facts) {
			return n.Errorf("dimension %d of result %q is %s, but the model declares %s", i, v.Name, d, v.Shape[i])
		}
	}
	return nil
}

// refuseRegions refuses control flow, whose branches are not inferred yet.
func refuseRegions(g *ir.Graph) error {
	for _, n := range g.Nodes {
		if len(n.Regions) > 0 {
			return n.Errorf("shapes inside of %s are not inferred: control flow is not supported; export the model without it", n.Op)
		}
	}
	return nil
}

// bindSymbols replaces the symbols whose bounds are one number.
func bindSymbols(g *ir.Graph) {
	bound := map[string]sym.Expr{}
	for _, s := range g.Symbols {
		if s.Lo == s.Hi {
			bound[s.Name] = sym.Const(s.Lo)
		}
	}
	if len(bound) == 0 {
		return
	}
	facts := Facts(g)
	subst := func(v *ir.Value) {
		if v == nil {
			return
		}
		for i, d := range v.Shape {
			v.Shape[i] = d.Subst(bound, facts)
		}
		for i, e := range v.Elems {
			v.Elems[i] = e.Subst(bound, facts)
		}
	}
	for _, v := range g.Inputs {
		subst(v)
	}
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			subst(v)
		}
	}
}

// dropSymbols keeps the symbols that an input's shape uses: no other can be
// known when the model runs.
func dropSymbols(g *ir.Graph) {
	used := map[string]bool{}
	for _, v := range g.Inputs {
		for _, d := range v.Shape {
			d.Vars(used)
		}
	}
	keep := g.Symbols[:0:0]
	for _, s := range g.Symbols {
		if used[s.Name] {
			keep = append(keep, s)
		}
	}
	g.Symbols = keep
}
