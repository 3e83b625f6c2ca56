package shape

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/sym"
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
		if s.Lo == s.Hi {
			bound[s.Name] = sym.Const(s.Lo)
		}
	}
	replace(g, bound)
}

// unify replaces symbols that must equal a number or another symbol. The symbol
// that the graph uses first stays, within the bounds of both.
func unify(g *ir.Graph, equal []equality) (bool, error) {
	at := map[string]int{}
	for i, s := range g.Symbols {
		at[s.Name] = i
	}
	bound := map[string]sym.Expr{}
	facts := Facts(g)
	for _, e := range equal {
		a, b := e.A.Subst(bound, facts), e.B.Subst(bound, facts)
		if a.Equal(b) {
			continue
		}
		x, xok := asSymbol(a, at)
		y, yok := asSymbol(b, at)
		if yok && (!xok || at[y] > at[x]) { // x is what is replaced: the later of two
			a, b, x, y, xok, yok = b, a, y, x, yok, xok
		}
		var s *ir.Symbol
		if xok {
			s = &g.Symbols[at[x]]
		}
		c, isConst := b.Const()
		switch {
		case xok && isConst && (c < s.Lo || c > s.Hi):
			return false, e.node.Errorf("%s must be %d, but symbol %s is in %d..%d", e.What, c, x, s.Lo, s.Hi)
		case xok && isConst:
			s.Lo, s.Hi = c, c
		case xok && yok:
			keep := &g.Symbols[at[y]]
			keep.Lo, keep.Hi = max(keep.Lo, s.Lo), min(keep.Hi, s.Hi)
			if keep.Lo > keep.Hi {
				return false, e.node.Errorf("%s: symbols %s and %s must be equal, but their bounds exclude each other", e.What, x, y)
			}
		default:
			continue // checked when the model runs
		}
		bound = extend(bound, x, b, facts)
	}
	replace(g, bound)
	return len(bound) > 0, nil
}

func asSymbol(e sym.Expr, at map[string]int) (string, bool) {
	name, ok := e.AsVar()
	if !ok {
		return "", false
	}
	_, ok = at[name]
	return name, ok
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
