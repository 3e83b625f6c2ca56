package sel

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// findViews notes the blocks of a graph that may have nothing to do in some layouts. Of concatenations, these are such
// whose pieces blocks of the same graph compute, each for one concatenation only: they can be written where they belong.
// Of other blocks it is those whose result no concatenation and no caller has a place for, so that it may lie in an operand.
func (s *selector) findViews(g *block.Graph) {
	if !s.o.Views(s.host().t) {
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
	for _, b := range g.Blocks {
		if _, _, joins := b.Concatenation(); !joins && b.Stage != nil {
			s.views[b] = !taken[b.Results[0]]
		}
	}
}

// placed reports whether it is known where a piece of a value lies before the piece is computed, and that it is as large as its
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

// View is a value that lies in another one's storage, from the element At on: a piece of a concatenation in its result,
// or a part of an operand, which is the result of a block.
type View struct {
	Value, Of *ir.Value
	At        sym.Expr
}

// viewsIn are the views that leave nothing to do for a block; false where it has something to do in these layouts.
func (s *selector) viewsIn(b *block.Block, lay func(*ir.Value) layout.Layout) ([]View, bool) {
	l, result := lay(b.Results[0]), b.Results[0]
	if of, at, ok := b.View(lay, s.g.Facts); ok {
		return []View{{result, of, at}}, lay(of).Space == l.Space && s.aligned(l.Space, at, of.Type)
	}
	axis, pieces, ok := b.Concatenation()
	if !ok {
		return nil, false
	}
	var out []View
	for _, p := range pieces {
		v := b.Operands[p.Operand]
		at, whole := block.ViewAt(l, result.Shape, axis, p.At)
		if !whole || !s.aligned(l.Space, at, v.Type) || lay(v) != l || v.Type != result.Type {
			return nil, false
		}
		out = append(out, View{v, result, at})
	}
	return out, true
}

// aligned reports whether an element lies in a space as values of their own do.
func (s *selector) aligned(space layout.Space, at sym.Expr, t ir.DType) bool {
	align := max(plan.Alignment, s.host().t.VectorBytes())
	if space != layout.Host {
		align = max(plan.Alignment, s.sides[space].t.Alignment())
	}
	return sym.Mod(sym.Scale(at, int64(t.Size())), sym.Const(align), s.g.Facts).Is(0)
}
