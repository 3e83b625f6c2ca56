package sel

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/cost"
)

// usualParts is how many points an extent has, by estimate, that a network has divided down: an image's, say, at
// the end of the network.
const usualParts = 8

// Usual are the ranges of symbols under which kernels are estimated. A network tells of what size its images are by how
// far it divides them; where it does, the first dimension of an input that it does not divide is a number of images, of
// which the fewest are usual.
func Usual(g *block.Graph) sym.Facts {
	by := map[string]int64{}
	g.All(func(r *block.Graph) {
		for _, b := range r.Blocks {
			for _, v := range b.Results {
				for _, d := range v.Shape {
					dividing(d, by)
				}
			}
		}
	})
	out := sym.Facts{}
	for s, r := range g.Facts {
		if d, ok := by[s]; ok {
			n := min(max(usualParts*d, cost.Typical(r)), r.Hi)
			r = sym.Range{Lo: n, Hi: n}
		}
		out[s] = r
	}
	for _, v := range g.Inputs {
		if s, divided := firstSymbol(v, by); s != "" && divided {
			n := max(g.Facts[s].Lo, min(1, g.Facts[s].Hi))
			out[s] = sym.Range{Lo: n, Hi: n}
		}
	}
	return out
}

// dividing notes the greatest constant by which an extent divides what has each symbol.
func dividing(e sym.Expr, by map[string]int64) {
	terms, _ := e.Terms()
	for _, t := range terms {
		for _, a := range t.Atoms {
			if a.Kind == sym.AtomVar {
				continue
			}
			dividing(a.A, by)
			dividing(a.B, by)
			d, known := a.B.Const()
			if a.Kind != sym.AtomDiv || !known {
				continue
			}
			used := map[string]bool{}
			a.A.Vars(used)
			for s := range used {
				by[s] = max(by[s], d)
			}
		}
	}
}

// firstSymbol is the symbol that an input's first dimension is and no extent divides, and whether another dimension
// has one that is divided.
func firstSymbol(v *ir.Value, by map[string]int64) (symbol string, divided bool) {
	for i, d := range v.Shape {
		used := map[string]bool{}
		d.Vars(used)
		for s := range used {
			divided = divided || i > 0 && by[s] > 0
		}
		if s, ok := d.AsVar(); ok && i == 0 && by[s] == 0 {
			symbol = s
		}
	}
	return symbol, divided
}
