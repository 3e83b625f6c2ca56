package sym

// relaxDepth bounds how many atoms one proof replaces, and relaxSteps about how many ways to do so
// it tries: of many summands (boxes of ninety classes) it replaces fewer.
const (
	relaxDepth = 3
	relaxSteps = 1 << 10
)

// depthFor is how many atoms of n summands a proof replaces.
func depthFor(n int) int {
	depth, ways := 0, 2*n
	for depth < relaxDepth && ways <= relaxSteps {
		depth, ways = depth+1, ways*max(2*n, 2)
	}
	return depth
}

// nonPositive reports whether e <= 0 is certain. Where interval arithmetic alone
// cannot tell, it replaces an atom by what bounds it in the atom's own terms:
// H//2 <= H is certain, although the ranges of H//2 and H overlap.
func nonPositive(e Expr, f Facts, depth int) bool {
	if e.bad {
		return false
	}
	if _, hi := e.Bounds(f); hi <= 0 {
		return true
	}
	if depth == 0 {
		return false
	}
	for i, t := range e.terms {
		if len(t.atoms) != 1 || t.atoms[0].Kind == AtomVar {
			continue
		}
		rest := Expr{c: e.c, terms: append(append([]term{}, e.terms[:i]...), e.terms[i+1:]...)}
		for _, b := range above(t, f) {
			if nonPositive(Add(Scale(rest, b.scale), b.expr), f, depth-1) {
				return true
			}
		}
		if a := t.atoms[0]; a.Kind == AtomMax && t.coef > 0 || a.Kind == AtomMin && t.coef < 0 { // is one of the two
			if nonPositive(Add(rest, Scale(a.A, t.coef)), f, depth-1) && nonPositive(Add(rest, Scale(a.B, t.coef)), f, depth-1) {
				return true
			}
		}
	}
	return false
}

// scaled is a bound of a term: scale * term <= expr, scale > 0.
type scaled struct {
	scale int64
	expr  Expr
}

// above are upper bounds of a term of one atom.
func above(t term, f Facts) []scaled {
	a := t.atoms[0]
	switch {
	case a.Kind == AtomDiv:
		d, ok := a.B.Const()
		if !ok || d < 1 {
			return nil
		}
		if t.coef > 0 { // floor(A/d) <= A/d
			return []scaled{{d, Scale(a.A, t.coef)}}
		}
		return []scaled{{d, Scale(Add(a.A, Const(1-d)), t.coef)}} // and >= (A-d+1)/d
	case a.Kind == AtomMod && t.coef > 0 && AtLeast(a.A, 0, f):
		return []scaled{{1, Scale(a.A, t.coef)}}
	case a.Kind == AtomMin && t.coef > 0, a.Kind == AtomMax && t.coef < 0:
		return []scaled{{1, Scale(a.A, t.coef)}, {1, Scale(a.B, t.coef)}}
	}
	return nil
}
