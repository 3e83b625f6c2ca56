package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// ofHalves reports whether a loop computes and stores nothing but f16, by functions of vectors of
// f16.
func (l For) ofHalves(f sym.Facts) bool { return l.Stride <= 1 && halvesIn(l.Body, l.Var, f) }

func halvesIn(body []Stmt, lane string, f sym.Facts) bool {
	for _, s := range body {
		switch x := s.(type) {
		case Store:
			if x.Buf.Type != ir.F16 || x.Buf.Widened() || x.Buf.Image != nil || !sym.Step(x.Index, lane, f).Is(1) || !halfExpr(x.Value, lane, f) {
				return false
			}
		case Def:
			if !halfExpr(x.Init, lane, f) {
				return false
			}
		case Set:
			if !halfExpr(x.Value, lane, f) {
				return false
			}
		case For:
			if !halvesIn(x.Body, lane, f) {
				return false
			}
		case If:
			if !halvesIn(x.Then, lane, f) || !halvesIn(x.Else, lane, f) {
				return false
			}
		case Index:
		default:
			return false
		}
	}
	return true
}

// halfExpr reports whether an expression is of f16 throughout.
func halfExpr(e te.Expr, lane string, f sym.Facts) bool {
	if e.DType() != ir.F16 {
		return false
	}
	switch x := e.(type) {
	case te.Const, Ref:
		return true
	case Mem:
		step, known := sym.Step(x.Index, lane, f).Const()
		return known && (step == 0 || step == 1) && !x.Buf.Widened() && x.Buf.Image == nil
	case te.Select:
		return halfExpr(x.Then, lane, f) && halfExpr(x.Else, lane, f)
	case te.Call:
		for _, a := range x.Args {
			if !halfExpr(a, lane, f) {
				return false
			}
		}
		return InHalves(x)
	}
	return false
}

// InHalves reports whether vectors of f16 have a function (scalar.Row.Halves).
func InHalves(x te.Call) bool {
	row := scalar.Lookup(x.Fn)
	return row != nil && row.Halves()
}
