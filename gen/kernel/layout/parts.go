package layout

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Parts is storage as parts of axes, outermost first: an axis is cut by constants into parts, which may lie anywhere: the
// outer ones of an axis before its inner ones, but for the outermost one, which may lie within others. "0 1 2 3" is row-major, "0 2 3 1" has
// the channels of an image innermost, and "0 1 2 3 1*16" keeps 16 of them together in blocks. "0 1*4 1" has points side by side that are 4
// apart. "0 1 1*16" pads rows to whole 16 elements, and "0 1~16" by 16 elements more. An extent that an axis' constants do not divide is
// rounded up, and the padding is zero.
type Parts []Part

// Part is one of an axis: Size points of it, or 0 for what the inner parts leave, which is the axis' outermost part. That may have
// Pad points more, so that storage goes on beyond the axis although its extent is whole.
type Part struct {
	Axis      int
	Size, Pad int64
}

// Most parts that a storage has, and points that the parts of an axis have together.
const (
	maxParts = 32
	maxPart  = 1 << 20
)

// Check says why values of a rank cannot be stored so.
func (p Parts) Check(rank int) error {
	if len(p) > maxParts {
		return fmt.Errorf("%d parts; want %d at most", len(p), maxParts)
	}
	rest, points := make([]bool, rank), make([]int64, rank)
	for _, x := range p {
		switch {
		case x.Axis < 0 || x.Axis >= rank:
			return fmt.Errorf("part of axis %d; the value has %d axes", x.Axis, rank)
		case x.Size == 0 && rest[x.Axis]:
			return fmt.Errorf("axis %d has two parts without a size; want at most one, which is the rest", x.Axis)
		case x.Size != 0 && x.Pad != 0:
			return fmt.Errorf("axis %d is padded in an inner part; want padding in its outermost part", x.Axis)
		case x.Size < 0 || x.Size > maxPart || x.Pad < 0 || x.Pad > maxPart:
			return fmt.Errorf("a part of axis %d has %d points, and %d more; want at most %d", x.Axis, x.Size, x.Pad, maxPart)
		}
		rest[x.Axis], points[x.Axis] = rest[x.Axis] || x.Size == 0, max(points[x.Axis], 1)*max(x.Size, 1)
		if points[x.Axis] > maxPart {
			return fmt.Errorf("the parts of axis %d have %d points; want at most %d", x.Axis, points[x.Axis], maxPart)
		}
	}
	if i := slices.Index(rest, false); i >= 0 {
		return fmt.Errorf("axis %d has only parts with a size; want one without, which is the rest", i)
	}
	return nil
}

// outermost is the number of an axis' outermost part, or -1.
func (p Parts) outermost(axis int) int {
	return slices.IndexFunc(p, func(x Part) bool { return x.Axis == axis && x.Size == 0 })
}

// Within is how many points of the axis one point of part i stands for: those of the axis' parts after it, or of all others of the
// outermost one.
func (p Parts) Within(i int) int64 {
	if p[i].Size == 0 {
		return p.Along(p[i].Axis)
	}
	return p[i+1:].Along(p[i].Axis)
}

// Along is of how many points whole numbers of an axis are stored.
func (p Parts) Along(axis int) int64 {
	n := int64(1)
	for _, x := range p {
		if x.Axis == axis {
			n *= max(x.Size, 1)
		}
	}
	return n
}

// Reach is how far storage goes along an axis of so many points.
func (p Parts) Reach(axis int, points int64) int64 {
	along, pad := p.Along(axis), int64(0)
	if i := p.outermost(axis); i >= 0 {
		pad = p[i].Pad
	}
	return ((points+along-1)/along + pad) * along
}

// Lane is the axis of the innermost part, or -1 of a scalar.
func (p Parts) Lane() int {
	if len(p) == 0 {
		return -1
	}
	return p[len(p)-1].Axis
}

// HasPads reports whether axes have points beyond what rounding up adds.
func (p Parts) HasPads() bool { return slices.ContainsFunc(p, func(x Part) bool { return x.Pad > 0 }) }

// Dims are the parts' extents.
func (p Parts) Dims(s ir.Shape) []sym.Expr {
	out := make([]sym.Expr, len(p))
	for i, x := range p {
		if out[i] = sym.Const(x.Size); x.Size == 0 {
			out[i] = sym.Add(sym.CeilDiv(s[x.Axis], sym.Const(p.Within(i)), nil), sym.Const(x.Pad))
		}
	}
	return out
}

// Extents are Dims of a constant shape.
func (p Parts) Extents(shape []int64) []int64 {
	out := make([]int64, len(p))
	for i, x := range p {
		if out[i] = x.Size; x.Size == 0 {
			within := p.Within(i)
			out[i] = (shape[x.Axis]+within-1)/within + x.Pad
		}
	}
	return out
}

// Elements is the size, padding included.
func (p Parts) Elements(s ir.Shape) sym.Expr { return product(p.Dims(s)) }

// Physical are the parts' coordinates of a logical index.
func (p Parts) Physical(index []sym.Expr, f sym.Facts) []sym.Expr {
	out := make([]sym.Expr, len(p))
	for i, x := range p {
		out[i] = sym.FloorDiv(index[x.Axis], sym.Const(p.Within(i)), f)
		if x.Size != 0 {
			out[i] = sym.Mod(out[i], sym.Const(x.Size), f)
		}
	}
	return out
}

// Logical is the inverse of Physical, for values of a rank.
func (p Parts) Logical(at []sym.Expr, rank int) []sym.Expr {
	out := make([]sym.Expr, rank)
	for i, x := range p {
		out[x.Axis] = sym.Add(out[x.Axis], sym.Scale(at[i], p.Within(i)))
	}
	return out
}

// Offset is where an element lies, in elements.
func (p Parts) Offset(s ir.Shape, index []sym.Expr, f sym.Facts) sym.Expr {
	return Joined(p.Dims(s), p.Physical(index, f))
}

// Joined is the row-major offset of coordinates within extents, as Flat; those that are the parts of one number make it again.
func Joined(dims, at []sym.Expr) sym.Expr {
	off := sym.Const(0)
	for i, d := range dims {
		off = sym.Undivided(off, at[i], d)
	}
	return off
}

// At is the logical index of the element at an offset of storage (an image's rows follow each other) whose parts have these extents; of
// padding, one beyond the shape.
func (p Parts) At(extents []int64, offset int64) []int64 {
	rank := 0
	for _, x := range p {
		rank = max(rank, x.Axis+1)
	}
	at := make([]int64, rank)
	for i := len(p) - 1; i >= 0; i-- {
		at[p[i].Axis] += offset % extents[i] * p.Within(i)
		offset /= extents[i]
	}
	return at
}

// Padded reports whether storage of this shape has padding.
func (p Parts) Padded(s ir.Shape) bool {
	for axis := range s {
		if p.Pads(s, axis) {
			return true
		}
	}
	return false
}

// Pads reports whether storage of this shape goes on beyond an axis, or may.
func (p Parts) Pads(s ir.Shape, axis int) bool {
	n, known := s[axis].Const()
	if !known {
		return p.Reach(axis, 0) > 0 || p.Along(axis) > 1
	}
	return p.Reach(axis, n) > n
}
