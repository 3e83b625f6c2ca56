package layout

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// Memory is a kind of memory.
type Memory uint8

// Kinds of memory.
const (
	// Buffer is linear memory.
	Buffer Memory = iota
	// Image is texture memory: a texel holds TexelLanes neighbours along the split axis, whose
	// blocks and the innermost other axis walk x (the latter only if the split axis is not the
	// innermost one); all other axes walk y. Both directions are then contiguous, and a load along
	// the split axis is one texel (SmartMem 3.3: the reduction dimension lies in the texel).
	Image
)

// TexelLanes is how many elements a texel has: the channels of an RGBA image.
const TexelLanes = 4

// Texels is the layout of an image whose texels lie along an axis.
func Texels(axis int) Layout { return Layout{Axis: axis, Block: TexelLanes, Memory: Image} }

// Position is where an element lies: at a flat offset, Index, of a buffer, or in lane Index of
// the texel (X, Y) of an image.
type Position struct{ Index, X, Y sym.Expr }

// Subst replaces variables.
func (p Position) Subst(m map[string]sym.Expr, f sym.Facts) Position {
	return Position{Index: p.Index.Subst(m, f), X: p.X.Subst(m, f), Y: p.Y.Subst(m, f)}
}

// Find is the position of a logical index.
func (l Layout) Find(s ir.Shape, index []sym.Expr, f sym.Facts) Position {
	return l.Position(l.Dims(s), l.Physical(index, f))
}

// Position is where the element of physical coordinates lies.
func (l Layout) Position(dims, at []sym.Expr) Position {
	if l.Memory == Buffer {
		return Position{Index: Flat(dims, at)}
	}
	y, x := l.directions(len(dims) - 1)
	return Position{X: Flat(pick(dims, x), pick(at, x)), Y: Flat(pick(dims, y), pick(at, y)), Index: at[len(at)-1]}
}

// Extent is the extent of a shape's image, in texels.
func (l Layout) Extent(s ir.Shape) (width, height sym.Expr) {
	dims := l.Dims(s)
	y, x := l.directions(len(s))
	return product(pick(dims, x)), product(pick(dims, y))
}

// Order are the physical axes in the order in which storage walks them, outermost first.
func (l Layout) Order(rank int) []int {
	if l.Memory == Image {
		y, x := l.directions(rank)
		return append(append(y, x...), rank)
	}
	var out []int
	for i := range rank + len(l.splits()) {
		out = append(out, i)
	}
	return out
}

// directions are the axes that walk an image's y and x.
func (l Layout) directions(rank int) (y, x []int) {
	last := rank - 1
	for i := range rank {
		if i != l.Axis && i != last {
			y = append(y, i)
		}
	}
	if l.Axis == last {
		return y, []int{l.Axis}
	}
	return y, []int{l.Axis, last}
}

func pick(es []sym.Expr, at []int) []sym.Expr {
	out := make([]sym.Expr, len(at))
	for i, k := range at {
		out[i] = es[k]
	}
	return out
}

func product(es []sym.Expr) sym.Expr {
	n := sym.Const(1)
	for _, e := range es {
		n = sym.Mul(n, e)
	}
	return n
}
