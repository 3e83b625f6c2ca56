// Package layout maps logical indices to storage. Expressions speak of logical
// indices only; a layout is the one place that knows where an element lies.
package layout

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// Layout is row-major storage, or row-major storage with one or two axes split by
// constants whose inner parts lie innermost, in this order: "nChw16c" is Axis 1, Block 16; GCD2's
// 4-column layout of a matrix keeps 32 rows together and, for each of them, 4 columns: Axis 0, Block 32,
// Inner{Axis 1, Block 4}. An extent that its block does not divide is rounded up, and
// the padding is zero.
type Layout struct {
	Axis  int
	Block int64 // 0: row-major
	// Inner is a second split, of another axis, whose part lies innermost of all.
	Inner Split
	// Memory is where it lies. In a Buffer the axes follow each other in their order; for an Image
	// see image.go.
	Memory Memory
	// Space is whose memory it is. Offsets do not depend on it.
	Space Space
}

// Split keeps Block neighbours along an axis together.
type Split struct {
	Axis  int
	Block int64 // 0: no split
}

// RowMajor is ONNX's own order.
var RowMajor = Layout{}

// splits are the layout's splits, in the order of their inner parts.
func (l Layout) splits() []Split {
	switch {
	case l.Block == 0:
		return nil
	case l.Inner.Block == 0:
		return []Split{{l.Axis, l.Block}}
	}
	return []Split{{l.Axis, l.Block}, l.Inner}
}

// String names the layout in dumps and manifests, with the space where that is not the host.
func (l Layout) String() string {
	if l.Space != Host {
		return l.In(Host).String() + " on " + l.Space.String()
	}
	if l.Block == 0 {
		return "row-major"
	}
	if l.Memory == Image {
		return fmt.Sprintf("image of axis%d/%d", l.Axis, l.Block)
	}
	var parts []string
	for _, s := range l.splits() {
		parts = append(parts, fmt.Sprintf("axis%d/%d", s.Axis, s.Block))
	}
	return strings.Join(parts, "+")
}

// Fits reports whether a tensor of this shape can be stored so: the split axes
// must exist, differ and have constant extents, and an image have one split, of texels.
func (l Layout) Fits(s ir.Shape) bool {
	if l.Memory == Image && (l.Block != TexelLanes || l.Inner.Block != 0) {
		return false
	}
	for _, p := range l.splits() {
		if p.Axis >= len(s) {
			return false
		}
		if _, ok := s[p.Axis].Const(); !ok {
			return false
		}
	}
	return l.Block == 0 || l.Inner.Block == 0 || l.Axis != l.Inner.Axis
}

// Along is the block of the axis' split, or 1.
func (l Layout) Along(axis int) int64 {
	for _, p := range l.splits() {
		if p.Axis == axis {
			return p.Block
		}
	}
	return 1
}

// Dims are the physical extents: the logical axes in order, then what is split off.
func (l Layout) Dims(s ir.Shape) []sym.Expr {
	dims := append([]sym.Expr{}, s...)
	for _, p := range l.splits() {
		dims[p.Axis] = sym.CeilDiv(s[p.Axis], sym.Const(p.Block), nil)
		dims = append(dims, sym.Const(p.Block))
	}
	return dims
}

// Elements is the physical size, padding included.
func (l Layout) Elements(s ir.Shape) sym.Expr {
	return product(l.Dims(s))
}

// Physical are the physical coordinates of a logical index.
func (l Layout) Physical(index []sym.Expr, f sym.Facts) []sym.Expr {
	out := append([]sym.Expr{}, index...)
	for _, p := range l.splits() {
		c := index[p.Axis]
		out[p.Axis] = sym.FloorDiv(c, sym.Const(p.Block), f)
		out = append(out, sym.Mod(c, sym.Const(p.Block), f))
	}
	return out
}

// Logical is the inverse of Physical.
func (l Layout) Logical(phys []sym.Expr) []sym.Expr {
	splits := l.splits()
	inner := phys[len(phys)-len(splits):]
	out := append([]sym.Expr{}, phys[:len(phys)-len(splits)]...)
	for i, p := range splits {
		out[p.Axis] = sym.Add(sym.Scale(out[p.Axis], p.Block), inner[i])
	}
	return out
}

// At is the logical index of the element at a flat offset of storage (an image's rows follow each other) with physical extents dims; of
// padding, an index beyond the shape.
func (l Layout) At(dims []int64, offset int64) []int64 {
	at := make([]int64, len(dims))
	splits := l.splits()
	order := l.Order(len(dims) - len(splits))
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		at[i], offset = offset%dims[i], offset/dims[i]
	}
	inner := at[len(dims)-len(splits):]
	for i, p := range splits {
		at[p.Axis] = at[p.Axis]*p.Block + inner[i]
	}
	return at[:len(dims)-len(splits)]
}

// Padded reports whether storage of this shape has padding.
func (l Layout) Padded(s ir.Shape) bool {
	for i := range s {
		if l.Pads(s, i) {
			return true
		}
	}
	return false
}

// Pads reports whether storage of this shape goes on beyond the axis.
func (l Layout) Pads(s ir.Shape, axis int) bool {
	c, _ := s[axis].Const()
	return c%l.Along(axis) != 0
}

// Offset is the flat offset, in elements, of a logical index in a Buffer.
func (l Layout) Offset(s ir.Shape, index []sym.Expr, f sym.Facts) sym.Expr {
	return Flat(l.Dims(s), l.Physical(index, f))
}

// Flat is the row-major offset of coordinates within extents.
func Flat(dims, at []sym.Expr) sym.Expr {
	off := sym.Const(0)
	for i, d := range dims {
		off = sym.Add(sym.Mul(off, d), at[i])
	}
	return off
}
