package shape

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// equality is a condition that a node puts on dimensions.
type equality struct {
	node *ir.Node
	ops.Check
}

// bindSymbols replaces the symbols whose bounds are one number.
func bindSymbols(g *ir.Graph) {
	bound := map[string]sym.Expr{}
	for _, s := range g.Symbols {
		if s.Lo == s.Hi && !s.Computed {
			bound[s.Name] = sym.Const(s.Lo)
		}
	}
	replace(g, bound)
}

// unify replaces symbols that must equal a number or another symbol, which stays
// within the bounds of both. Of two symbols the one that the graph uses first stays.
func unify(g *ir.Graph, equal []equality) (bool, error) {
	at := map[string]int{}
	for i, s := range g.Symbols {
		if !s.Computed { // those a run must check
			at[s.Name] = i
		}
	}
	bound := map[string]sym.Expr{}
	facts := Facts(g)
	for _, e := range equal {
		name, to, ok := solve(sym.Sub(e.A.Subst(bound, facts), e.B.Subst(bound, facts)), at)
		if !ok {
			continue // nothing to learn, or checked when the model runs
		}
		if err := narrow(g, &g.Symbols[at[name]], to, at); err != nil {
			return false, e.node.Errorf("%s: %w", e.What, err)
		}
		bound = extend(bound, name, to, facts)
	}
	replace(g, bound)
	return len(bound) > 0, nil
}

// solve solves diff = 0 for a symbol where the other side is a number or a symbol.
func solve(diff sym.Expr, at map[string]int) (name string, to sym.Expr, ok bool) {
	terms, c := diff.Terms()
	for _, t := range terms {
		if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomVar {
			return "", to, false
		}
		if _, ok := at[t.Atoms[0].Name]; !ok {
			return "", to, false
		}
	}
	switch {
	case len(terms) == 1 && c%terms[0].Coef == 0:
		return terms[0].Atoms[0].Name, sym.Const(-c / terms[0].Coef), true
	case len(terms) == 2 && c == 0 && terms[0].Coef == -terms[1].Coef:
		x, y := terms[0].Atoms[0].Name, terms[1].Atoms[0].Name
		if at[x] < at[y] {
			x, y = y, x
		}
		return x, sym.Var(y), true
	}
	return "", to, false
}

// narrow bounds what stays of an equality.
func narrow(g *ir.Graph, s *ir.Symbol, to sym.Expr, at map[string]int) error {
	if c, ok := to.Const(); ok {
		if c < s.Lo || c > s.Hi {
			return fmt.Errorf("symbol %s must be %d, but is bound to %d..%d", s.Name, c, s.Lo, s.Hi)
		}
		return nil
	}
	y, _ := to.AsVar()
	keep := &g.Symbols[at[y]]
	lo, hi := max(keep.Lo, s.Lo), min(keep.Hi, s.Hi)
	if lo > hi {
		return fmt.Errorf("symbols %s and %s must be equal, but are bound to %d..%d and %d..%d", s.Name, y, s.Lo, s.Hi, keep.Lo, keep.Hi)
	}
	keep.Lo, keep.Hi = lo, hi
	return nil
}

// extend adds name := e to a substitution that mentions no bound name.
func extend(m map[string]sym.Expr, name string, e sym.Expr, f sym.Facts) map[string]sym.Expr {
	out := map[string]sym.Expr{name: e}
	for k, v := range m {
		out[k] = v.Subst(map[string]sym.Expr{name: e}, f)
	}
	return out
}

// replace substitutes symbols in all that is known of the graph's values.
func replace(g *ir.Graph, bound map[string]sym.Expr) {
	if len(bound) == 0 {
		return
	}
	facts := Facts(g)
	for i := range g.Symbols {
		g.Symbols[i].Max = g.Symbols[i].Max.Subst(bound, facts)
	}
	replaceIn(g, bound, facts)
}

// replaceIn is replace in a graph and its regions, which have the same symbols.
func replaceIn(g *ir.Graph, bound map[string]sym.Expr, facts sym.Facts) {
	subst := func(vs []*ir.Value) {
		for _, v := range vs {
			if v == nil {
				continue
			}
			v.Shape = substAll(v.Shape, bound, facts)
			v.Elems = substAll(v.Elems, bound, facts)
		}
	}
	subst(g.Inputs)
	for _, n := range g.Nodes {
		subst(n.Outputs)
		for _, r := range n.Regions {
			replaceIn(r, bound, facts)
		}
	}
}

// substAll makes a new list: several values may share one.
func substAll(es []sym.Expr, bound map[string]sym.Expr, f sym.Facts) []sym.Expr {
	if es == nil {
		return nil
	}
	out := make([]sym.Expr, len(es))
	for i, e := range es {
		out[i] = e.Subst(bound, f)
	}
	return out
}

// dropSymbols keeps the symbols that an input's shape uses and those that a node computes: no
// other can be known when the model runs. A shape that was declared in another's terms, and that
// nothing inferred since (what a branch of an unknown node captures), becomes unknown. It reports whether
// there was one: what contradicted it does no longer.
func dropSymbols(g *ir.Graph) bool {
	used := map[string]bool{}
	for _, v := range g.Inputs {
		for _, d := range v.Shape {
			d.Vars(used)
		}
	}
	computed(g, used)
	keep := g.Symbols[:0:0]
	for _, s := range g.Symbols {
		if used[s.Name] {
			keep = append(keep, s)
		}
	}
	if len(keep) == len(g.Symbols) {
		return false
	}
	g.Symbols = keep
	return forget(g, func(e sym.Expr) bool {
		names := map[string]bool{}
		e.Vars(names)
		for name := range names {
			if !used[name] {
				return true
			}
		}
		return false
	})
}

// forget takes the shapes and elements of such expressions, also in regions, and reports whether there were any.
func forget(g *ir.Graph, such func(sym.Expr) bool) (found bool) {
	visit := func(vs []*ir.Value) {
		for _, v := range vs {
			switch {
			case v == nil:
			case slices.ContainsFunc(v.Shape, such):
				v.Shape, v.HasShape, v.Elems, found = nil, false, nil, true
			case slices.ContainsFunc(v.Elems, such):
				v.Elems, found = nil, true
			}
		}
	}
	visit(g.Inputs)
	for _, n := range g.Nodes {
		visit(n.Outputs)
		for _, r := range n.Regions {
			found = forget(r, such) || found
		}
	}
	return found
}
