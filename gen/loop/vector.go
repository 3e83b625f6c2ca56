package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Vectorise marks the loops that can run in vectors of float32: those of a constant number of
// vectors whose statements store, or define, what is computed from floats that lie side by
// side along the loop (derivative 1) or are the same for all of it (derivative 0).
func Vectorise(body []Stmt, lanes int64, f sym.Facts) []Stmt {
	out := make([]Stmt, len(body))
	for i, s := range body {
		switch x := s.(type) {
		case For:
			x.Body = Vectorise(x.Body, lanes, f)
			if n, ok := x.Extent.Const(); ok && n%lanes == 0 && vectorBody(x, f) {
				x.Lanes = lanes
			}
			s = x
		case If:
			x.Then, x.Else = Vectorise(x.Then, lanes, f), Vectorise(x.Else, lanes, f)
			s = x
		}
		out[i] = s
	}
	return out
}

func vectorBody(l For, f sym.Facts) bool {
	defined := map[string]bool{}
	for _, s := range l.Body {
		switch x := s.(type) {
		case Def:
			if !vectorExpr(x.Init, l.Var, defined, f) {
				return false
			}
			defined[x.Name] = true
		case Store:
			c, ok := sym.Coefficient(x.Index, l.Var, f)
			if !ok || !c.Is(1) || x.Buf.Type != ir.F32 || !vectorExpr(x.Value, l.Var, defined, f) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func vectorExpr(e te.Expr, v string, defined map[string]bool, f sym.Facts) bool {
	if e.DType() != ir.F32 {
		return false
	}
	switch x := e.(type) {
	case te.Const:
		return true
	case Ref:
		return defined[x.Name]
	case Mem:
		c, ok := sym.Coefficient(x.Index, v, f)
		return ok && (c.Is(0) || c.Is(1))
	case te.Call:
		for _, a := range x.Args {
			if !vectorExpr(a, v, defined, f) {
				return false
			}
		}
		return true
	}
	return false
}
