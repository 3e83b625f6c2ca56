package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// Parts is storage as parts of axes, outermost first: an axis is cut by constants into parts, which may lie anywhere, the
// outer ones of an axis before its inner ones. "0 1 2 3" is row-major, "0 2 3 1" has the channels of an image innermost, and
// "0 1 2 3 1*16" keeps 16 of them together in blocks. "0 1 1*16" pads rows to whole 16 elements. An extent that an axis' constants do
// not divide is rounded up, and the padding is zero.
type Parts []Part

// Part is one of an axis: Size points of it, or 0 for what the inner parts leave, which is the axis' outermost part.
type Part struct {
	Axis int
	Size int64
}

// Most parts that a storage has, and points of a part.
const (
	maxParts = 32
	maxPart  = 1 << 20
)

// PartsOf is the storage of a layout of values of a rank.
func PartsOf(l Layout, rank int) Parts {
	var out Parts
	for i := range rank {
		out = append(out, Part{Axis: i})
	}
	for _, s := range l.splits() {
		out = append(out, Part{s.Axis, s.Block})
	}
	return out
}

// String is the text that ParseParts reads.
func (p Parts) String() string {
	if len(p) == 0 {
		return "scalar"
	}
	out := make([]string, len(p))
	for i, x := range p {
		if out[i] = strconv.Itoa(x.Axis); x.Size != 0 {
			out[i] += fmt.Sprintf("*%d", x.Size)
		}
	}
	return strings.Join(out, " ")
}

// ParseParts reads the text that String prints.
func ParseParts(text string) (Parts, error) {
	if text == "scalar" {
		return nil, nil
	}
	var out Parts
	for _, f := range strings.Fields(text) {
		axis, size, sized := strings.Cut(f, "*")
		a, err := strconv.Atoi(axis)
		n := int64(0)
		if err == nil && sized {
			n, err = strconv.ParseInt(size, 10, 64)
		}
		if err != nil || a < 0 || sized && (n < 1 || n > maxPart) || len(out) == maxParts {
			return nil, fmt.Errorf("part %q of a storage; want AXIS or AXIS*SIZE, of 1 to %d points, %d parts at most", f, maxPart, maxParts)
		}
		out = append(out, Part{a, n})
	}
	if out == nil {
		return nil, fmt.Errorf("a storage without parts; want %q for one element", "scalar")
	}
	return out, nil
}

// Check says why values of a rank cannot be stored so.
func (p Parts) Check(rank int) error {
	seen := make([]bool, rank)
	for _, x := range p {
		switch {
		case x.Axis < 0 || x.Axis >= rank:
			return fmt.Errorf("part of axis %d; the value has %d axes", x.Axis, rank)
		case x.Size == 0 && seen[x.Axis]:
			return fmt.Errorf("the outermost part of axis %d is not its first", x.Axis)
		case x.Size != 0 && !seen[x.Axis]:
			return fmt.Errorf("axis %d begins with a part of %d; its first part is the rest", x.Axis, x.Size)
		}
		seen[x.Axis] = true
	}
	if i := slices.Index(seen, false); i >= 0 {
		return fmt.Errorf("axis %d has no part", i)
	}
	return nil
}

// within is how many points of the axis one point of part i stands for: those of the axis' parts after it.
func (p Parts) within(i int) int64 {
	n := int64(1)
	for _, x := range p[i+1:] {
		if x.Axis == p[i].Axis {
			n *= x.Size
		}
	}
	return n
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

// Dims are the parts' extents.
func (p Parts) Dims(s ir.Shape) []sym.Expr {
	out := make([]sym.Expr, len(p))
	for i, x := range p {
		if out[i] = sym.Const(x.Size); x.Size == 0 {
			out[i] = sym.CeilDiv(s[x.Axis], sym.Const(p.within(i)), nil)
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
		out[i] = sym.FloorDiv(index[x.Axis], sym.Const(p.within(i)), f)
		if x.Size != 0 {
			out[i] = sym.Mod(out[i], sym.Const(x.Size), f)
		}
	}
	return out
}

// Offset is where an element lies, in elements. Coordinates that are the parts of one number make it again.
func (p Parts) Offset(s ir.Shape, index []sym.Expr, f sym.Facts) sym.Expr {
	off, at := sym.Const(0), p.Physical(index, f)
	for i, d := range p.Dims(s) {
		off = sym.Undivided(off, at[i], d)
	}
	return off
}

// At is the logical index of the element at an offset of storage of a constant shape; of padding, one beyond the shape.
func (p Parts) At(dims []int64, offset int64) []int64 {
	at := make([]int64, len(dims))
	s := ir.Dims(dims...)
	extents := p.Dims(s)
	for i := len(p) - 1; i >= 0; i-- {
		n, _ := extents[i].Const()
		at[p[i].Axis] += offset % n * p.within(i)
		offset /= n
	}
	return at
}

// Pads reports whether storage of this shape goes on beyond an axis.
func (p Parts) Pads(s ir.Shape) bool {
	for i, x := range p {
		if n, ok := s[x.Axis].Const(); x.Size == 0 && (!ok || n%p.within(i) != 0) && p.within(i) > 1 {
			return true
		}
	}
	return false
}
