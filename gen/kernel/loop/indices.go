package loop

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// MapIndices replaces the index expressions of an expression over memory, in what it loads too, by what f gives for them.
func MapIndices(e te.Expr, f func(sym.Expr) sym.Expr) te.Expr {
	return mapLoads(te.MapIndices(e, f), f)
}

// SubstIndices puts values in the place of variables there.
func SubstIndices(e te.Expr, m map[string]sym.Expr, facts sym.Facts) te.Expr {
	return mapLoads(te.SubstIndices(e, m, facts), func(x sym.Expr) sym.Expr { return x.Subst(m, facts) })
}

func mapLoads(e te.Expr, f func(sym.Expr) sym.Expr) te.Expr {
	return te.Map(e, func(x te.Expr) te.Expr {
		if mem, ok := x.(Mem); ok {
			mem.Index, mem.X, mem.Y = f(mem.Index), f(mem.X), f(mem.Y)
			return mem
		}
		return x
	})
}
