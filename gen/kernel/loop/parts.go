package loop

import "rules_dnn/gen/ir/sym"

// joined is the body once for all iterations of a loop over the parts of equal length, the last one shorter, into which
// all that counts is cut: loops over the points of a part run over all of them. False where it is not so cut.
func (c *counter) joined(v string, parts sym.Expr, body []Stmt) ([]Stmt, bool) {
	out := make([]Stmt, len(body))
	for i, s := range body {
		ok := true
		switch x := s.(type) {
		case For:
			switch {
			case !c.counts(x.Body):
			case x.Extent.Uses(v):
				x.Extent, ok = c.whole(v, parts, x.Extent)
			default:
				x.Body, ok = c.joined(v, parts, x.Body)
			}
			s = x
		case If:
			if c.counts(x.Then) || c.counts(x.Else) {
				then, ok1 := c.joined(v, parts, x.Then)
				other, ok2 := c.joined(v, parts, x.Else)
				x.Then, x.Else, ok = then, other, ok1 && ok2
			}
			s = x
		default:
			ok = c.one(s) == 0
		}
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, true
}

// whole is n where the extent is min(length, n - length*v) and n comes to so many parts.
func (c *counter) whole(v string, parts, extent sym.Expr) (sym.Expr, bool) {
	terms, constant := extent.Terms()
	if constant != 0 || len(terms) != 1 || terms[0].Coef != 1 || len(terms[0].Atoms) != 1 || terms[0].Atoms[0].Kind != sym.AtomMin {
		return sym.Expr{}, false
	}
	length, left := terms[0].Atoms[0].A, terms[0].Atoms[0].B
	if _, known := length.Const(); !known {
		length, left = left, length
	}
	if k, known := length.Const(); !known || k < 1 {
		return sym.Expr{}, false
	}
	n := sym.Add(left, sym.Mul(length, sym.Var(v)))
	return n, !n.Uses(v) && sym.CeilDiv(n, length, c.facts).Equal(parts)
}
