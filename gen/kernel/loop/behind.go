package loop

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// behind is a loop of vectors, and one of shorter ones over the steps that fill none, where these are enough and no last vector overlaps.
func (l For) behind(lanes int64, vectors Vectors, f sym.Facts) []Stmt {
	n, known := l.Extent.Const()
	if !known || n < l.Lanes || n%l.Lanes < fewLanes || l.Overlaps() {
		return []Stmt{l}
	}
	whole := n - n%l.Lanes
	rest, ok := shifted(l.Body, l.Var, whole, f)
	if !ok {
		return []Stmt{l}
	}
	short := l
	short.Extent, short.Body, short.Lanes = sym.Const(n-whole), rest, 0
	l.Extent = sym.Const(whole)
	return append([]Stmt{l}, Vectorise([]Stmt{short}, lanes, vectors, f)...)
}

// shifted are the statements with a variable plus a number in its place; false where others than values and stores of them are among these.
func shifted(body []Stmt, v string, by int64, f sym.Facts) ([]Stmt, bool) {
	to := map[string]sym.Expr{v: sym.Add(sym.Var(v), sym.Const(by))}
	value := func(e te.Expr) te.Expr {
		return te.Map(te.SubstIndices(e, to, f), func(x te.Expr) te.Expr {
			if m, ok := x.(Mem); ok {
				m.Index = m.Index.Subst(to, f)
				return m
			}
			return x
		})
	}
	out := make([]Stmt, len(body))
	for i, s := range body {
		switch x := s.(type) {
		case Bind:
			x.Value, x.Lo, x.Hi = value(x.Value), x.Lo.Subst(to, f), x.Hi.Subst(to, f)
			out[i] = x
		case Def:
			x.Init = value(x.Init)
			out[i] = x
		case Set:
			x.Value = value(x.Value)
			out[i] = x
		case Store:
			if x.Buf.Image != nil {
				return nil, false
			}
			x.Index, x.Value = x.Index.Subst(to, f), value(x.Value)
			out[i] = x
		default:
			return nil, false
		}
	}
	return out, true
}
