// Package layout maps logical indices to storage. Expressions speak of logical
// indices only; a layout is the one place that knows where an element lies.
package layout

import (
	"slices"
	"unique"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Layout is the order of a value's elements, as Parts of its axes, and the memory that they lie in. It serves values of several
// ranks, as it lists only what follows the other axes: those of which it lists no outermost part come first, in their order. So
// the empty list is row-major, axis1/16 is "nChw16c", axis1 has channels last, and axis0/32+axis1/4 is GCD2's 4-column layout of
// a matrix. Layouts are compared by ==, and are keys of maps: an order of a rank's axes has one list, as Parts.Layout finds it.
type Layout struct {
	follow unique.Handle[follow] // the zero handle: nothing
	// Memory is where it lies. In a Buffer the parts follow each other; for an Image see image.go.
	Memory Memory
	// Space is whose memory it is. Offsets do not depend on it.
	Space Space
}

// follow is a list that can be compared.
type follow struct {
	n     int
	parts [maxParts]Part
}

// RowMajor is ONNX's own order.
var RowMajor = Layout{}

// Of is the layout in which these parts follow the other axes.
func Of(parts ...Part) Layout {
	if len(parts) == 0 {
		return RowMajor
	}
	f := follow{n: len(parts)}
	if copy(f.parts[:], parts) < len(parts) {
		panic("layout: too many parts") // Check and the parsers refuse them first
	}
	return Layout{follow: unique.Make(f)}
}

// Blocked keeps so many neighbours along an axis together, innermost.
func Blocked(axis int, size int64) Layout { return Of(Part{Axis: axis, Size: size}) }

// listed are the parts that follow the other axes.
func (l Layout) listed() Parts {
	if l.follow == (unique.Handle[follow]{}) {
		return nil
	}
	f := l.follow.Value()
	return f.parts[:f.n]
}

// PartsOf are all parts of a layout of values of a rank, in the order of storage: an image's are those of y, of x, and the lanes.
func PartsOf(l Layout, rank int) Parts {
	listed := l.listed()
	first := listed.unnamed(rank)
	if l.Memory == Image && len(listed) > 0 {
		first = imageOrder(listed[0].Axis, rank)
	}
	out := make(Parts, 0, len(first)+len(listed))
	for _, axis := range first {
		out = append(out, Part{Axis: axis})
	}
	return append(out, listed...)
}

// unnamed are the axes of which the list has no outermost part.
func (p Parts) unnamed(rank int) []int {
	var out []int
	for axis := range rank {
		if p.outermost(axis) < 0 {
			out = append(out, axis)
		}
	}
	return out
}

// Layout is the one that keeps values of a rank in these parts, in a buffer of the host.
func (p Parts) Layout(rank int) (Layout, error) {
	if err := p.Check(rank); err != nil {
		return Layout{}, err
	}
	return Of(p[p.inOrder():]...), nil
}

// inOrder is how many parts at the beginning are whole axes in their order, which a layout need not list.
func (p Parts) inOrder() int {
	for i, x := range p {
		if x.Size > 0 || x.Pad > 0 || i > 0 && x.Axis < p[i-1].Axis {
			return i
		}
	}
	return len(p)
}

// Fits reports whether a tensor of this shape can be stored so: each axis has its parts, what is split has a constant extent, an
// image has one split, of texels, and there is no shorter list for the same order.
func (l Layout) Fits(s ir.Shape) bool {
	all, listed := PartsOf(l, len(s)), l.listed()
	if all.Check(len(s)) != nil {
		return false
	}
	if l.Memory == Image {
		if len(listed) != 1 || listed[0].Size != TexelLanes {
			return false
		}
	} else if len(all)-all.inOrder() != len(listed) {
		return false
	}
	for _, x := range listed {
		if _, known := s[x.Axis].Const(); x.Size > 0 && !known {
			return false
		}
	}
	return true
}

// Along is of how many points of an axis whole numbers are stored, or 1.
func (l Layout) Along(axis int) int64 { return l.listed().Along(axis) }

// Lane is the axis of the innermost part, of which neighbours are neighbours in storage.
func (l Layout) Lane(rank int) int { return PartsOf(l, rank).Lane() }

// Orders reports whether all that the layout does is to put whole axes in an order.
func (l Layout) Orders() bool {
	return l.Memory == Buffer && !slices.ContainsFunc(l.listed(), func(x Part) bool { return x.Size > 0 || x.Pad > 0 })
}

// HasPads reports whether axes have points beyond what rounding up adds.
func (l Layout) HasPads() bool { return l.listed().HasPads() }

// Elements is the size, padding included.
func (l Layout) Elements(s ir.Shape) sym.Expr { return PartsOf(l, len(s)).Elements(s) }

// Padded reports whether storage of this shape has padding.
func (l Layout) Padded(s ir.Shape) bool { return PartsOf(l, len(s)).Padded(s) }

// Pads reports whether storage of this shape goes on beyond an axis.
func (l Layout) Pads(s ir.Shape, axis int) bool { return PartsOf(l, len(s)).Pads(s, axis) }

// Offset is the flat offset, in elements, of a logical index in a Buffer.
func (l Layout) Offset(s ir.Shape, index []sym.Expr, f sym.Facts) sym.Expr {
	return PartsOf(l, len(s)).Offset(s, index, f)
}

// Flat is the row-major offset of coordinates within extents.
func Flat(dims, at []sym.Expr) sym.Expr {
	off := sym.Const(0)
	for i, d := range dims {
		off = sym.Add(sym.Mul(off, d), at[i])
	}
	return off
}
