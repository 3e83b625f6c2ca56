package block

import (
	"fmt"
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// View is where the block's only result lies in the storage of an operand already, from element at on, as a part of
// consecutive rows does, and all of it in another shape. False where it does not: where the block
// computes anything, where the elements lie in another order or not side by side, or where zeros would follow the
// result that do not follow it in the operand.
func (b *Block) View(lay func(*ir.Value) layout.Layout, f sym.Facts) (of *ir.Value, at sym.Expr, ok bool) {
	l, ok := b.moves()
	if !ok {
		return nil, at, false
	}
	of, result := b.Operands[l.Source.N], b.Results[0]
	from, to := lay(of), lay(result)
	if of.Const != nil || of.Type != result.Type || from.Memory != layout.Buffer || to.Memory != layout.Buffer || to.Padded(result.Shape) {
		return nil, at, false
	}
	parts := layout.PartsOf(to, len(result.Shape))
	dims := parts.Dims(result.Shape)
	coords, facts := coordinates(dims, f)
	logical := map[string]sym.Expr{}
	for i, e := range parts.Logical(coords, len(result.Shape)) {
		logical[b.Stage.Axes[i].Var] = e
	}
	var index []sym.Expr
	for _, e := range l.Index {
		index = append(index, e.Subst(logical, facts))
	}
	at = sym.Sub(quotients(from.Offset(of.Shape, index, facts), facts), layout.Flat(dims, coords))
	for _, c := range coords {
		if v, isVar := c.AsVar(); isVar && at.Uses(v) {
			return nil, at, false
		}
	}
	return of, at, !at.Overflow()
}

// coordinates are a point of extents: variables, whose ranges are added to the facts, and zeros where there is no other.
func coordinates(dims []sym.Expr, f sym.Facts) ([]sym.Expr, sym.Facts) {
	var out []sym.Expr
	facts := maps.Clone(f)
	if facts == nil {
		facts = sym.Facts{}
	}
	for i, d := range dims {
		if d.Is(1) {
			out = append(out, sym.Const(0))
			continue
		}
		v := fmt.Sprintf("p%d", i)
		_, hi := d.Bounds(f)
		facts[v] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		out = append(out, sym.Var(v))
	}
	return out, facts
}

// quotients is an expression with remainders written by quotients, a - b*(a//b): of a place in one shape, the parts for the
// axes of another one then add up to it.
func quotients(e sym.Expr, f sym.Facts) sym.Expr {
	terms, c := e.Terms()
	out := []sym.Expr{sym.Const(c)}
	for _, t := range terms {
		x := sym.Const(t.Coef)
		for _, a := range t.Atoms {
			y := sym.FromAtom(a)
			if a.Kind == sym.AtomMod {
				y = sym.Sub(a.A, sym.Mul(a.B, sym.FloorDiv(a.A, a.B, f)))
			}
			x = sym.Mul(x, y)
		}
		out = append(out, x)
	}
	return sym.Add(out...)
}

// Moves reports whether a block does nothing but read an operand's elements.
func (b *Block) Moves() bool {
	_, ok := b.moves()
	return ok
}

// moves is the load of a block that does nothing but read an operand's elements.
func (b *Block) moves() (te.Load, bool) {
	s := b.Stage
	if s == nil || len(b.Placed) > 0 || s.Combine != nil || s.Update != nil || len(s.Results) != 1 {
		return te.Load{}, false
	}
	l, ok := s.Results[0].(te.Load)
	return l, ok && !l.Source.Stage && len(l.Guard) == 0
}
