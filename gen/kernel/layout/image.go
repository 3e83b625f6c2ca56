package layout

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
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
func Texels(axis int) Layout {
	l := Blocked(axis, TexelLanes)
	l.Memory = Image
	return l
}

// Position is where an element lies: at a flat offset, Index, of a buffer, or in lane Index of
// the texel (X, Y) of an image.
type Position struct{ Index, X, Y sym.Expr }

// Subst replaces variables.
func (p Position) Subst(m map[string]sym.Expr, f sym.Facts) Position {
	return Position{Index: p.Index.Subst(m, f), X: p.X.Subst(m, f), Y: p.Y.Subst(m, f)}
}

// Find is the position of a logical index.
func (l Layout) Find(s ir.Shape, index []sym.Expr, f sym.Facts) Position {
	p := PartsOf(l, len(s))
	return l.Position(p, p.Dims(s), p.Physical(index, f))
}

// Position is where the element lies of coordinates of the layout's parts, whose extents are dims.
func (l Layout) Position(p Parts, dims, at []sym.Expr) Position {
	if l.Memory == Buffer {
		return Position{Index: Joined(dims, at)}
	}
	x, lane := p.texels()
	return Position{X: Flat(dims[x:lane], at[x:lane]), Y: Flat(dims[:x], at[:x]), Index: at[lane]}
}

// Extent is the extent of a shape's image, in texels.
func (l Layout) Extent(s ir.Shape) (width, height sym.Expr) {
	p := PartsOf(l, len(s))
	dims := p.Dims(s)
	x, lane := p.texels()
	return product(dims[x:lane]), product(dims[:x])
}

// texels are where an image's parts of x begin, which are the blocks of the lanes' axis and what follows, and where its lanes are.
func (p Parts) texels() (x, lane int) {
	lane = len(p) - 1
	return p.outermost(p[lane].Axis), lane
}

// imageOrder are the axes of an image of texels along one of them: first those that walk y.
func imageOrder(axis, rank int) []int {
	var out []int
	for i := range rank - 1 {
		if i != axis {
			out = append(out, i)
		}
	}
	if axis >= rank-1 {
		return append(out, axis)
	}
	return append(out, axis, rank-1)
}

func product(es []sym.Expr) sym.Expr {
	n := sym.Const(1)
	for _, e := range es {
		n = sym.Mul(n, e)
	}
	return n
}
