package hvx

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// along are n points from one on.
func (v *vectors) along(first sym.Expr, n int64) []piece {
	var out []piece
	for p := int64(0); p < n; p += lanes {
		out = append(out, piece{map[string]sym.Expr{v.loop.Var: sym.Add(first, sym.Const(p))}, fmt.Sprint(min(lanes, n-p))})
	}
	return out
}

// ofRows are the pieces of all rows.
func (v *vectors) ofRows() []piece {
	rows, _ := v.rows.Extent.Const()
	n, _ := v.loop.Extent.Const()
	var out []piece
	for r := range rows {
		for _, p := range v.along(sym.Const(0), n) {
			p.at[v.rows.Var] = sym.Const(r)
			out = append(out, p)
		}
	}
	return out
}

// some prints one vector of words, of as many points as there are: where there may be none, nothing of it runs then, as parts of vectors have some.
func (v *vectors) some(w *ckernel.Kernel, x loop.For) bool {
	n := ckernel.Strip(w.Index(x.Extent))
	pieces := []piece{{map[string]sym.Expr{x.Var: sym.Const(0)}, n}}
	if least, _ := x.Extent.Bounds(w.Facts()); least > 0 {
		return v.group(w, x, sym.Const(0), pieces)
	}
	if _, _, ok := v.texts(w, pieces); !ok {
		return false
	}
	w.Block(fmt.Sprintf("if (%s > 0)", n), func() { v.group(w, x, sym.Const(0), pieces) })
	return true
}

// any prints vectors of bytes one after the other, and vectors of words of what is left, of as many points as there are.
func (v *vectors) any(w *ckernel.Kernel, x loop.For) bool {
	at, rest, end := x.Var+"_at", x.Var+"_rest", ckernel.Strip(w.Index(x.Extent))
	if _, _, ok := v.texts(w, v.along(sym.Var(at), bytesWide)); !ok {
		return false
	}
	w.Block(fmt.Sprintf("for (%s %s = 0; %s + %d <= %s; %s += %d)", dialect{}.IndexType(), at, at, bytesWide, end, at, bytesWide), func() {
		v.group(w, v.part(sym.Var(at), bytesWide, w.Facts()), sym.Var(at), v.along(sym.Var(at), bytesWide))
	})
	w.Block(fmt.Sprintf("for (%s %s = (%s) / %d * %d; %s < %s; %s += %d)", dialect{}.IndexType(), rest, end, bytesWide, bytesWide, rest, end, rest, lanes), func() {
		first := sym.Var(rest)
		plain := v.part(first, lanes, w.Facts())
		plain.Extent = sym.Min(sym.Sub(x.Extent, first), sym.Const(lanes), w.Facts())
		v.group(w, plain, first, []piece{{map[string]sym.Expr{x.Var: first}, ckernel.Strip(w.Index(plain.Extent))}})
	})
	return true
}

// long prints vectors of bytes one after the other, and the rest.
func (v *vectors) long(w *ckernel.Kernel, x loop.For, n int64) bool {
	at := x.Var + "_at"
	if _, _, ok := v.texts(w, v.along(sym.Var(at), bytesWide)); !ok {
		return false
	}
	w.Block(fmt.Sprintf("for (%s %s = 0; %s < %d; %s += %d)", dialect{}.IndexType(), at, at, n/bytesWide*bytesWide, at, bytesWide), func() {
		v.group(w, v.part(sym.Var(at), bytesWide, w.Facts()), sym.Var(at), v.along(sym.Var(at), bytesWide))
	})
	if rest := n % bytesWide; rest > 0 {
		first := sym.Const(n - rest)
		v.group(w, v.part(first, rest, w.Facts()), first, v.along(first, rest))
	}
	return true
}

// part is the plain loop over n points from one on.
func (v *vectors) part(first sym.Expr, n int64, f sym.Facts) loop.For {
	m := map[string]sym.Expr{v.loop.Var: sym.Add(sym.Var(v.loop.Var), first)}
	s := v.store
	s.Index, s.Value = s.Index.Subst(m, f), loop.SubstIndices(s.Value, m, f)
	if v.bind == nil {
		return loop.For{Var: v.loop.Var, Extent: sym.Const(n), Body: []loop.Stmt{s}}
	}
	b := *v.bind
	b.Value = loop.SubstIndices(b.Value, m, f)
	return loop.For{Var: v.loop.Var, Extent: sym.Const(n), Body: []loop.Stmt{b, s}}
}
