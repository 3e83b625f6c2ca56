// Package layout maps logical indices to storage. Expressions speak of logical
// indices only; a layout is the one place that knows where an element lies.
package layout

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// Layout is row-major storage, or row-major storage with one axis split by a
// constant whose inner part lies innermost ("nChw16c": Axis 1, Block 16). An
// extent that Block does not divide is rounded up, and the padding is zero.
type Layout struct {
	Axis  int
	Block int64 // 0: row-major
}

// RowMajor is ONNX's own order.
var RowMajor = Layout{}

// String names the layout in dumps and manifests.
func (l Layout) String() string {
	if l.Block == 0 {
		return "row-major"
	}
	return fmt.Sprintf("axis%d/%d", l.Axis, l.Block)
}

// Fits tells whether a tensor of this shape can be stored so: the split axis
// must exist and have a constant extent.
func (l Layout) Fits(s ir.Shape) bool {
	if l.Block == 0 {
		return true
	}
	if l.Axis >= len(s) {
		return false
	}
	_, ok := s[l.Axis].Const()
	return ok
}

// Dims are the physical extents, outermost first.
func (l Layout) Dims(s ir.Shape) []sym.Expr {
	dims := append([]sym.Expr{}, s...)
	if l.Block == 0 {
		return dims
	}
	dims[l.Axis] = sym.CeilDiv(s[l.Axis], sym.Const(l.Block), nil)
	return append(dims, sym.Const(l.Block))
}

// Elements is the physical size, padding included.
func (l Layout) Elements(s ir.Shape) sym.Expr {
	n := sym.Const(1)
	for _, d := range l.Dims(s) {
		n = sym.Mul(n, d)
	}
	return n
}

// Physical are the physical coordinates of a logical index.
func (l Layout) Physical(index []sym.Expr, f sym.Facts) []sym.Expr {
	out := append([]sym.Expr{}, index...)
	if l.Block == 0 {
		return out
	}
	c := index[l.Axis]
	out[l.Axis] = sym.FloorDiv(c, sym.Const(l.Block), f)
	return append(out, sym.Mod(c, sym.Const(l.Block), f))
}

// Logical is the inverse of Physical.
func (l Layout) Logical(phys []sym.Expr) []sym.Expr {
	if l.Block == 0 {
		return append([]sym.Expr{}, phys...)
	}
	out := append([]sym.Expr{}, phys[:len(phys)-1]...)
	out[l.Axis] = sym.Add(sym.Scale(out[l.Axis], l.Block), phys[len(phys)-1])
	return out
}

// Padded tells whether storage of this shape has padding.
func (l Layout) Padded(s ir.Shape) bool {
	if l.Block == 0 {
		return false
	}
	c, _ := s[l.Axis].Const()
	return c%l.Block != 0
}

// Offset is the flat offset, in elements, of a logical index.
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
