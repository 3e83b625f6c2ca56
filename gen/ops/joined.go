package ops

import (
	"slices"

	"rules_dnn/gen/ir/sym"
)

// joint is a dimension as most*some, of which some is 1 or 0. What was joined before is taken apart, so that dimensions that are joined again and again grow by
// what each of them adds: what they join to would stand in the next one twice.
type joint struct {
	most, some sym.Expr
	joined     bool // it is such a product, else some is 1
	positive   bool // most is at least 1 where some is
}

// split takes a dimension apart.
func (c *Ctx) split(d sym.Expr) joint {
	whole := joint{most: d, positive: sym.AtLeast(d, 1, c.Facts)}
	terms, constant := d.Terms()
	if whole.positive || constant != 0 || len(terms) != 1 || terms[0].Coef != 1 || len(terms[0].Atoms) != 2 {
		return whole
	}
	atoms := terms[0].Atoms
	at := slices.IndexFunc(atoms, func(a *sym.Atom) bool {
		return a.Kind == sym.AtomMin && slices.ContainsFunc(leaves(sym.AtomMin, sym.FromAtom(a)), func(e sym.Expr) bool { return e.Is(1) })
	})
	if at < 0 {
		return whole
	}
	j := joint{most: sym.FromAtom(atoms[1-at]), some: sym.FromAtom(atoms[at]), joined: true}
	in := leaves(sym.AtomMax, j.most) // most is no less than each of these, and some no more than each of its own
	j.positive = sym.AtLeast(j.most, 1, c.Facts) || slices.ContainsFunc(leaves(sym.AtomMin, j.some), func(e sym.Expr) bool { return contains(in, e) })
	return j
}

// extremum is the least or the greatest of both, each of which may be one of several numbers; those that both are of are there once.
func (c *Ctx) extremum(kind sym.AtomKind, a, b sym.Expr) sym.Expr {
	of := sym.Max
	if kind == sym.AtomMin {
		of = sym.Min
	}
	all, has := leaves(kind, b), leaves(kind, a)
	left := slices.DeleteFunc(slices.Clone(all), func(e sym.Expr) bool { return contains(has, e) })
	switch {
	case len(left) == len(all):
		return of(a, b, c.Facts)
	case !slices.ContainsFunc(has, func(e sym.Expr) bool { return !contains(all, e) }):
		return b
	}
	for _, e := range left {
		a = of(a, e, c.Facts)
	}
	return a
}

// leaves are the numbers of which an expression is the least, or the greatest.
func leaves(kind sym.AtomKind, e sym.Expr) []sym.Expr {
	terms, constant := e.Terms()
	if constant != 0 || len(terms) != 1 || terms[0].Coef != 1 || len(terms[0].Atoms) != 1 || terms[0].Atoms[0].Kind != kind {
		return []sym.Expr{e}
	}
	a := terms[0].Atoms[0]
	return append(leaves(kind, a.A), leaves(kind, a.B)...)
}

func contains(all []sym.Expr, e sym.Expr) bool { return slices.ContainsFunc(all, e.Equal) }
