package sel

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/sym"
)

// findViews notes the graph's concatenations whose pieces can be written where they belong: blocks of the same
// graph compute them, each for one concatenation only.
func (s *selector) findViews(g *block.Graph) {
	if !s.o.Views(s.t) {
		return
	}
	at := map[*ir.Value]int{} // the number of the block that computes it, or the first of its pieces
	later := map[string]int{} // the number of the block that computes a symbol
	taken := map[*ir.Value]bool{}
	for _, v := range g.Outputs {
		taken[v] = true
	}
	for i, b := range g.Blocks {
		begins := i
		if axis, pieces, ok := b.Concatenation(); ok {
			mine := map[*ir.Value]bool{}
			for _, p := range pieces {
				v := b.Operands[p.Operand]
				first, computed := at[v]
				ok = ok && computed && !taken[v] && !mine[v] && placed(b.Results[0].Shape, axis, p.At, v.Shape, func(symbol string) bool {
					n, after := later[symbol]
					return !after || n < first
				})
				mine[v] = true
			}
			if ok {
				s.views[b] = true
				for v := range mine {
					taken[v] = true
					begins = min(begins, at[v])
				}
			}
		}
		for _, v := range b.Results {
			if b.Control == nil {
				at[v] = begins
			}
		}
		for _, s := range b.Computes() {
			later[s] = i
		}
	}
}

// placed tells whether it is known where a piece of a value lies before the piece is computed, and that it is as large as its
// place: of dimensions that only a run finds equal, the piece's own may be greater.
func placed(shape ir.Shape, axis int, at sym.Expr, piece ir.Shape, known func(symbol string) bool) bool {
	used := map[string]bool{}
	at.Vars(used)
	for i, d := range piece {
		if i != axis && !d.Equal(shape[i]) {
			return false
		}
	}
	for name := range used {
		if !known(name) {
			return false
		}
	}
	return true
}

// View is a piece of a concatenation: an operand, and where in the result's storage it lies, in elements.
type View struct {
	Value *ir.Value
	At    sym.Expr
}

// viewsIn are where a concatenation's operands lie in its result; false where they cannot in these layouts.
func viewsIn(b *block.Block, lay func(*ir.Value) layout.Layout) ([]View, bool) {
	axis, pieces, ok := b.Concatenation()
	if !ok {
		return nil, false
	}
	l, result := lay(b.Results[0]), b.Results[0]
	var out []View
	for _, p := range pieces {
		v := b.Operands[p.Operand]
		at, whole := block.ViewAt(l, result.Shape, axis, p.At)
		aligned := sym.Mod(sym.Scale(at, int64(v.Type.Size())), sym.Const(plan.Alignment), nil).Is(0)
		if !whole || !aligned || lay(v) != l || v.Type != result.Type {
			return nil, false
		}
		out = append(out, View{v, at})
	}
	return out, true
}
