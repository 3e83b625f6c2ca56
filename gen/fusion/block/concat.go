package block

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// Piece is an operand of a concatenation, whose first element along the axis becomes element At.
type Piece struct {
	Operand int
	At      sym.Expr
}

// Concatenation reports whether the block does nothing but put operands one after the other along an axis.
func (b *Block) Concatenation() (axis int, pieces []Piece, ok bool) {
	s := b.Stage
	if s == nil || len(b.Placed) > 0 || s.Combine != nil || s.Update != nil || len(s.Results) != 1 {
		return 0, nil, false
	}
	if !onlyLoads(s.Results[0]) {
		return 0, nil, false
	}
	axis = -1
	for e := s.Results[0]; e != nil; {
		l := e.(te.Load)
		if l.Source.Stage || len(l.Index) != len(s.Axes) {
			return 0, nil, false
		}
		p := Piece{Operand: l.Source.N, At: sym.Const(0)}
		for i, x := range l.Index {
			d := sym.Sub(sym.Var(s.Axes[i].Var), x)
			switch {
			case d.Is(0):
			case axis < 0 || axis == i:
				axis, p.At = i, d
			default:
				return 0, nil, false
			}
		}
		if e = nil; len(l.Guard) > 0 {
			e = l.Default
		}
		if !b.guards(l, &axis, e == nil) {
			return 0, nil, false
		}
		pieces = append(pieces, p)
	}
	return axis, pieces, axis >= 0 && b.adjoin(axis, pieces)
}

// onlyLoads reports whether an expression is a load, or one whose default is, and so on: what indices are is asked only then.
func onlyLoads(e te.Expr) bool {
	for e != nil {
		l, ok := e.(te.Load)
		if !ok {
			return false
		}
		e = l.Default
	}
	return true
}

// guards reports whether a load is guarded by nothing but that its operand has the element.
func (b *Block) guards(l te.Load, axis *int, last bool) bool {
	if last || len(l.Guard) != 1 {
		return last && len(l.Guard) == 0
	}
	g := l.Guard[0]
	for i, x := range l.Index {
		if g.E.Equal(x) && g.Lo.Is(0) && g.Hi.Equal(b.Operands[l.Source.N].Shape[i]) && (*axis < 0 || *axis == i) {
			*axis = i
			return true
		}
	}
	return false
}

// adjoin reports whether the pieces fill the axis, in their order.
func (b *Block) adjoin(axis int, pieces []Piece) bool {
	end := sym.Const(0)
	for _, p := range pieces {
		if !p.At.Equal(end) {
			return false
		}
		end = sym.Add(end, b.Operands[p.Operand].Shape[axis])
	}
	return len(pieces) > 1 && end.Equal(b.Stage.Axes[axis].Extent)
}

// ViewAt is where in a value's storage the elements from At on along the axis begin, if all of these lie
// together: nothing but extents of one stands before the axis, and its blocks are whole.
func ViewAt(l layout.Layout, shape ir.Shape, axis int, at sym.Expr) (sym.Expr, bool) {
	parts := layout.PartsOf(l, len(shape))
	first, along := slices.Index(parts, layout.Part{Axis: axis}), parts.Along(axis) // a padded axis would go on in the next elements
	if n, known := at.Const(); l.Memory != layout.Buffer || first < 0 || along > 1 && (!known || n%along != 0) {
		return at, false
	}
	dims := parts.Dims(shape)
	for _, d := range dims[:first] {
		if !d.Is(1) {
			return at, false
		}
	}
	at = sym.FloorDiv(at, sym.Const(along), nil)
	for _, d := range dims[first+1:] {
		at = sym.Mul(at, d)
	}
	return at, true
}
